TF_KERNEL tf_sampled(
    const long long count, const long long columns, const long long rows, const long long *indices, const long long *indptr,
    const STORED *a, const STORED *b, STORED *out) {
    TF_EACH(long long, i, count) {
        const long long row = tf_row(indptr, rows, i);
        KIND sum = 0;
        for (long long k = 0; k < (row < rows ? columns : 0); ++k)
            sum = (KIND)(sum + (KIND)READ(a[row * columns + k]) * (KIND)READ(b[indices[i] * columns + k]));
        out[i] = ENCODED(sum);
    }
}
