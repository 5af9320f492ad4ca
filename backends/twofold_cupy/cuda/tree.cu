// The tree over the threads of a row, whose partial results are adjacent in shared memory `part` from `first` on. Threads of one warp wait
// only for one another: `warp` is 32 if those of a row are adjacent, else 0, and all wait for the block. The first barrier is needed where
// the memory was used by an earlier reduction of the same kernel.
#define TF_BARRIER(of_block) if (of_block) __syncthreads(); else __syncwarp();
#define TF_TREE(width, join, warp) \
    TF_BARRIER((width) > (warp)) \
    part[first + lane] = value; \
    for (int half = width / 2; half; half /= 2) { \
        TF_BARRIER(half >= (warp)) \
        if (lane < half) part[first + lane] = join(part[first + lane], part[first + lane + half]); \
    } \
    TF_BARRIER((width) > (warp))
