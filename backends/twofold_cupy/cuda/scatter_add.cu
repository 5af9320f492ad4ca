TF_KERNEL tf_sums(const long long threads, SIZES const long long *order, const GIVEN *value, const long long *ends, KIND *sums) {
    TF_EACH(long long, i, threads) {
        WHERE
        const long long last = left * CHUNK + CHUNK - 1, end = ends[last], begin = end - (end - last + CHUNK - 1) / CHUNK * CHUNK;
        if (begin <= 0 || ends[begin - 1] != end) return;
        KIND sum = TF_VALUE(begin);
        for (long long k = begin + 1; k < begin + CHUNK; ++k) sum = (KIND)(sum + TF_VALUE(k));
        sums[i] = sum;
    }
}

TF_KERNEL tf_add(
    const long long threads, SIZES const long long *order, const GIVEN *value, const long long *ends, const KIND *sums,
    const long long *places, STORED *out) {
    TF_EACH(long long, i, threads) {
        WHERE
        const long long end = ends[left];
        if (left > 0 && ends[left - 1] == end) return;
        const long long place = places[order[left]] + to, later = end - (end - left - 1) / CHUNK * CHUNK;
        KIND sum = OWN(out[place]);
        for (long long k = left; k < later; ++k) sum = (KIND)(sum + TF_VALUE(k));
        for (long long k = later; k < end; k += CHUNK) sum = (KIND)(sum + sums[k / CHUNK * each + i % each]);
        out[place] = ENCODED(sum);
    }
}
