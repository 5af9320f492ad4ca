TF_KERNEL tf_matmul(
    const long long count, const long long m, const long long n, const long long k, const KIND *a, const KIND *b, KIND *out) {
    TF_EACH(long long, i, count) {
        const long long column = i % n, row = i / n, batch = row / m;
        KIND sum = 0;
        for (long long j = 0; j < k; ++j) {
            const long long left = row * k + j, right = (batch * k + j) * n + column;
            ADD
        }
        out[i] = sum;
    }
}
