#define TF_TREE(width, join) \
    __syncthreads(); \
    part[first + lane] = value; \
    for (int half = width / 2; half; half /= 2) { \
        __syncthreads(); \
        if (lane < half) part[first + lane] = join(part[first + lane], part[first + lane + half]); \
    } \
    __syncthreads();
