TF_FUNCTION bool tf_before(KIND a, KIND b) { return BEFORE; }
TF_FUNCTION KIND tf_key(STORED x) { return DECODED; }

TF_KERNEL tf_number(const long long count, const long long n, long long *out) {
    TF_EACH(long long, i, count) out[i] = i % n;
}

TF_KERNEL tf_merge(
    const long long count, const long long n, const long long width, const STORED *keys, const long long *in, long long *out) {
    TF_EACH(long long, i, count) {
        const long long row = i / n * n, place = i % n, start = place / (2 * width) * (2 * width);
        const long long middle = start + width < n ? start + width : n, end = middle + width < n ? middle + width : n;
        const bool is_left = place < middle;
        const KIND key = tf_key(keys[row + in[i]]);
        long long low = is_left ? middle : start, high = is_left ? end : middle;
        const long long begin = low;
        while (low < high) {  // binary search: elements of the other run before this one; equal ones of the left run come first
            const long long half = low + (high - low) / 2;
            const KIND other = tf_key(keys[row + in[row + half]]);
            const bool first = is_left ? tf_before(other, key) : !tf_before(key, other);
            if (first) low = half + 1; else high = half;
        }
        const long long own = is_left ? place - start : place - middle;
        out[row + start + own + low - begin] = in[i];
    }
}
