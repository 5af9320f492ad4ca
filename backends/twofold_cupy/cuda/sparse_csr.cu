TF_KERNEL tf_csr(
    const long long count, const long long columns, const STORED *data, const long long *indices, const long long *indptr,
    const STORED *dense, STORED *out) {
    TF_EACH(long long, i, count) {
        const long long row = i / columns, column = i % columns;
        KIND sum = 0;
        for (long long k = indptr[row]; k < indptr[row + 1]; ++k)
            sum = (KIND)(sum + (KIND)READ(data[k]) * (KIND)READ(dense[indices[k] * columns + column]));
        out[i] = ENCODED(sum);
    }
}
