TF_FUNCTION KIND tf_join(KIND a, KIND b) { return JOIN; }

TF_KERNEL NAME(
    const long long rows, const long long n, const long long parts, const long long length, const SOURCE *in, const KIND *before,
    TARGET *out) {
    __shared__ KIND part[2][COUNT];
    const int lane = threadIdx.x, width = blockDim.x, first = threadIdx.y * width, own = first + lane;
    const long long groups = (rows + blockDim.y - 1) / blockDim.y;
    for (long long work = blockIdx.x; work < groups * parts; work += gridDim.x) {
        const long long cut = work % parts, row = work / parts * blockDim.y + threadIdx.y;
        const long long end = (cut + 1) * length < n ? (cut + 1) * length : n;
        KIND prefix = cut && row < rows ? before[row * parts + cut - 1] : (KIND)START;
        for (long long begin = cut * length; begin < end; begin += width) {
            const long long at = row * n + begin + lane;
            const bool live = row < rows && begin + lane < end;
            int now = 0;  // double buffering: a step reads one buffer and writes the other, with one barrier in between
            part[now][own] = live ? tf_cast<KIND>(READ) : (KIND)START;
            __syncthreads();
            for (int step = 1; step < width; step *= 2) {
                part[1 - now][own] = lane < step ? part[now][own] : tf_join(part[now][own - step], part[now][own]);
                now = 1 - now;
                __syncthreads();
            }
            if (live) out[at] = ENCODED(tf_join(prefix, part[now][own]));
            prefix = tf_join(prefix, part[now][first + width - 1]);
            __syncthreads();
        }
    }
}
