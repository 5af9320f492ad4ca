// The row of a csr matrix that an element is in: the first that ends behind it.
TF_FUNCTION long long tf_row(const long long *indptr, long long rows, long long element) {
    long long low = 0, high = rows;
    while (low < high) {
        const long long half = low + (high - low) / 2;
        if (indptr[half + 1] <= element) low = half + 1; else high = half;
    }
    return low;
}
