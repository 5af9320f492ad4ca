// The tree over the threads of a row, whose partial results are adjacent in shared memory `part` from `first` on. The barrier before the
// first write is needed where the memory was used by an earlier reduction of the same kernel.
#define TF_TREE(width, join) \
    __syncthreads(); \
    part[first + lane] = value; \
    for (int half = width / 2; half; half /= 2) { \
        __syncthreads(); \
        if (lane < half) part[first + lane] = join(part[first + lane], part[first + lane + half]); \
    } \
    __syncthreads();
