TF_KERNEL NAME(
    const READ *in, WRITTEN *out, const long long results, const long long n, const long long inner, const long long length,
    const long long parts) {
    __shared__ JOINED part[COUNT];
    const int lane = threadIdx.ALONG, width = blockDim.ALONG, first = threadIdx.BESIDE * width;
    const long long groups = (results + blockDim.BESIDE - 1) / blockDim.BESIDE;
    for (long long work = blockIdx.x; work < groups * parts; work += gridDim.x) {
        const long long cut = work / groups, own = work % groups * blockDim.BESIDE + threadIdx.BESIDE;
        const long long row = own / INNER, column = own % INNER, begin = cut * length;
        const long long end = begin + length < n ? begin + length : n;
        JOINED value = START;
        if (own < results)
#pragma unroll 4
            for (long long j = begin + lane; j < end; j += width) {
                const long long at = (row * n + j) * INNER + column;
                value = tf_join(value, ELEMENT);
            }
        TF_TREE(width, tf_join, WARP)
        if (own < results && lane == 0) out[(row * parts + cut) * INNER + column] = RESULT;
    }
}
