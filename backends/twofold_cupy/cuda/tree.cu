// The tree over the threads of a row, whose partial results are adjacent in shared memory `part` from `first` on. Threads of one warp wait for
// one another only, not for the block: `warp` is 32 if those of a row are adjacent, else 0. The wait before the first write is needed where
// the memory was used by an earlier reduction of the same kernel.
#define TF_MEET(block) if (block) __syncthreads(); else __syncwarp();
#define TF_TREE(width, join, warp) \
    TF_MEET((width) > (warp)) \
    part[first + lane] = value; \
    for (int half = width / 2; half; half /= 2) { \
        TF_MEET(half >= (warp)) \
        if (lane < half) part[first + lane] = join(part[first + lane], part[first + lane + half]); \
    } \
    TF_MEET((width) > (warp))
