TF_KERNEL tf_put(const long long threads, SIZES const long long *order, const GIVEN *value, const long long *places, STORED *out) {
    TF_EACH(long long, i, threads) {
        WHERE
        const long long place = places[order[left]];
        if (left + 1 < threads / each && places[order[left + 1]] == place) return;
        out[place + to] = ENCODED(TF_VALUE(left));
    }
}
