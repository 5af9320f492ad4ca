TF_KERNEL tf_products(
    const long long count, const long long columns, const long long rows, const STORED *data, const long long *indptr,
    const STORED *dense, STORED *out) {
    TF_EACH(long long, i, count) {
        const long long element = i / columns, row = tf_row(indptr, rows, element);
        const bool live = row < rows;  // what stands behind the last row counts as 0
        out[i] = ENCODED(live ? (KIND)((KIND)READ(data[element]) * (KIND)READ(dense[row * columns + i % columns])) : (KIND)0);
    }
}
