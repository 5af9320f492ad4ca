// Has g++ compile CUDA C for the host: one thread of a grid after another, or fibers where threads of a block wait for one another.
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __shared__ static  // blocks run one after another
#define __constant__ static
#define __restrict__ __restrict

// the kernels' prelude takes these instead of its own for the host, which run a whole kernel in a loop
#define TF_DEVICE
#define TF_KERNEL void

struct sim_uint3 { unsigned x, y, z; };
inline thread_local sim_uint3 threadIdx, blockIdx, blockDim, gridDim;

using std::max;
using std::min;
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrt(float x) { return 1.0f / sqrtf(x); }
inline double normcdf(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }
inline float normcdff(float x) { return (float)normcdf((double)x); }
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float sinpif(float x) { return sinf(M_PI * x); }
template <class T> inline T __ldg(const T *p) { return *p; }
inline long long __float2ll_rn(float x) { return llrintf(x); }
inline long long __double2ll_rn(double x) { return llrint(x); }
template <class To, class From> inline To sim_bits(From x) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To y;
    memcpy(&y, &x, sizeof y);
    return y;
}
inline double __longlong_as_double(long long x) { return sim_bits<double>(x); }
inline long long __double_as_longlong(double x) { return sim_bits<long long>(x); }
inline int __float_as_int(float x) { return sim_bits<int>(x); }
inline float __int_as_float(int x) { return sim_bits<float>(x); }
inline unsigned __float_as_uint(float x) { return sim_bits<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return sim_bits<float>(x); }
inline int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return (int)__double_as_longlong(x); }
inline double __hiloint2double(int high, int low) { return __longlong_as_double(((long long)high << 32) | (unsigned)low); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned long long)((unsigned __int128)a * b >> 64); }

template <class T> inline T sim_exchange(T *place, T value) {
    T before = *place;
    *place = value;
    return before;
}
template <class T> inline T atomicAdd(T *place, T value) { return sim_exchange(place, (T)(*place + value)); }
template <class T> inline T atomicCAS(T *place, T expected, T value) { return *place == expected ? sim_exchange(place, value) : *place; }
template <class T> inline T atomicMax(T *place, T value) { return sim_exchange(place, max(*place, value)); }
template <class T> inline T atomicMin(T *place, T value) { return sim_exchange(place, min(*place, value)); }
template <class T> inline T atomicExch(T *place, T value) { return sim_exchange(place, value); }
template <class T> inline T atomicOr(T *place, T value) { return sim_exchange(place, (T)(*place | value)); }
template <class T> inline T atomicAnd(T *place, T value) { return sim_exchange(place, (T)(*place & value)); }

// -------------------------------------------------------------------------------------------------------------- fibers

const size_t SIM_STACK = 32768;
struct sim_block {  // the threads of a block, each with a stack, advanced in turns from one barrier to the next
    ucontext_t main;
    std::vector<ucontext_t> contexts;
    std::vector<std::vector<char>> stacks;
    std::vector<char> done;
    std::function<void()> kernel;
    unsigned current = 0;
    bool running = false;
};
static sim_block sim_fibers;

static void sim_leave() {
    const sim_uint3 place = threadIdx;
    swapcontext(&sim_fibers.contexts[sim_fibers.current], &sim_fibers.main);
    threadIdx = place;
}
inline void __syncthreads() {
    if (sim_fibers.running) sim_leave();
}
inline void __syncwarp(unsigned = 0xffffffff) { __syncthreads(); }

static void sim_begin() {
    const unsigned self = sim_fibers.current;
    sim_fibers.kernel();
    sim_fibers.done[self] = 1;
    swapcontext(&sim_fibers.contexts[self], &sim_fibers.main);
}

static void sim_run_block(unsigned count, const std::function<void()> &kernel) {
    auto &f = sim_fibers;
    f.kernel = kernel;
    f.contexts.assign(count, ucontext_t{});
    f.done.assign(count, 0);
    if (f.stacks.size() < count) f.stacks.resize(count, std::vector<char>(SIM_STACK));
    for (unsigned k = 0; k < count; ++k) {
        getcontext(&f.contexts[k]);
        f.contexts[k].uc_stack.ss_sp = f.stacks[k].data();
        f.contexts[k].uc_stack.ss_size = SIM_STACK;
        makecontext(&f.contexts[k], sim_begin, 0);
    }
    f.running = true;
    for (bool waiting = true; waiting;) {
        waiting = false;
        for (unsigned k = 0; k < count; ++k) {
            if (f.done[k]) continue;
            waiting = true;
            f.current = k;
            threadIdx = {k % blockDim.x, k / blockDim.x % blockDim.y, k / (blockDim.x * blockDim.y)};
            swapcontext(&f.main, &f.contexts[k]);
        }
    }
    f.running = false;
}

// ------------------------------------------------------------------------------------------------------------- launches

extern "C" void use_memory(const void *at);
template <class A> A sim_argument(void *at) {
    if constexpr (std::is_pointer_v<A>) use_memory(*(A *)at);
    return *(A *)at;
}
template <class... A> struct sim_call {
    using Pack = std::tuple<std::remove_const_t<A>...>;
    template <size_t... I> static void *pack(void **arguments, std::index_sequence<I...>) { return new Pack(sim_argument<std::remove_const_t<A>>(arguments[I])...); }
};
template <class... A> void *sim_pack(void (*)(A...), void **arguments) { return sim_call<A...>::pack(arguments, std::index_sequence_for<A...>{}); }
template <class... A> void sim_drop(void (*)(A...), void *pack) { delete (typename sim_call<A...>::Pack *)pack; }
template <bool waits, class... A> void sim_run(void (*kernel)(A...), void *pack, unsigned *grid, unsigned *block) {
    auto &arguments = *(typename sim_call<A...>::Pack *)pack;
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {block[0], block[1], block[2]};
    const auto call = [&] { std::apply(kernel, arguments); };
    for (unsigned z = 0; z < grid[2]; ++z)
        for (unsigned y = 0; y < grid[1]; ++y)
            for (unsigned x = 0; x < grid[0]; ++x) {
                blockIdx = {x, y, z};
                if constexpr (waits) {
                    sim_run_block(block[0] * block[1] * block[2], call);
                } else {
                    for (unsigned k = 0; k < block[0] * block[1] * block[2]; ++k) {
                        threadIdx = {k % block[0], k / block[0] % block[1], k / (block[0] * block[1])};
                        call();
                    }
                }
            }
}
#define SIM_KERNEL(name, waits, ...)                                                                                  \
    extern "C" void *pack_##name(void **arguments) { return sim_pack(&__VA_ARGS__, arguments); }                       \
    extern "C" void drop_##name(void *pack) { sim_drop(&__VA_ARGS__, pack); }                                          \
    extern "C" void run_##name(void *pack, unsigned *grid, unsigned *block, size_t) { sim_run<waits>(&__VA_ARGS__, pack, grid, block); }
