// Packs: adjacent elements that one thread reads or writes at once, where their address allows it.
#define TF_EACH_PACK(index, i, n, pack) \
    const index i = ((index)blockIdx.x * blockDim.x + threadIdx.x) * pack; \
    if (i < n)

template <class T, int N> struct alignas(sizeof(T) * N) tf_pack { T at[N]; };
template <class T, int N> TF_FUNCTION void tf_load(tf_pack<T, N> &pack, const T *from, long long left) {
    if (left >= N && (unsigned long long)from % sizeof(pack) == 0) {
        pack = *(const tf_pack<T, N> *)from;
        return;
    }
#pragma unroll
    for (int e = 0; e < N; ++e) pack.at[e] = from[e < left ? e : 0];
}
template <class T, int N> TF_FUNCTION void tf_store(T *to, const tf_pack<T, N> &pack, long long left) {
    if (left >= N && (unsigned long long)to % sizeof(pack) == 0) {
        *(tf_pack<T, N> *)to = pack;
        return;
    }
#pragma unroll
    for (int e = 0; e < N; ++e)
        if (e < left) to[e] = pack.at[e];
}
