// Has g++ compile CUDA C for the host: one thread of a grid after another, or fibers where threads of a block wait for one another.
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

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
// CUDA's conversions give the nearest number that fits, and 0 for NaN. The plain ones of C are checked instead, see simulation.py.
template <class To, class From> inline To sim_nearest(From x) {
    const bool is_unsigned = (To)-1 > (To)0;
    const To least = is_unsigned ? (To)0 : (To)((To)1 << (8 * sizeof(To) - 1)), most = (To)~least;
    const From end = ldexp((From)1, (int)(8 * sizeof(To)) - !is_unsigned);
    return x != x ? (To)0 : x >= end ? most : x <= (From)least ? least : (To)x;
}
inline int __float2int_rz(float x) { return sim_nearest<int>(x); }
inline int __double2int_rz(double x) { return sim_nearest<int>(x); }
inline long long __float2ll_rz(float x) { return sim_nearest<long long>(x); }
inline long long __double2ll_rz(double x) { return sim_nearest<long long>(x); }
inline unsigned long long __float2ull_rz(float x) { return sim_nearest<unsigned long long>(x); }
inline unsigned long long __double2ull_rz(double x) { return sim_nearest<unsigned long long>(x); }

// CUDA's powers are not the nearest numbers, not even where the power is a whole number: here none is.
template <class T> inline T sim_pow_of(T base, T exponent) {
    const T value = std::pow(base, exponent);
    const bool is_exact = value == 0 || value - value != 0 || std::fabs(base) == 1 || exponent == 0;
    return is_exact ? value : std::nextafter(value, (T)0);
}
inline float sim_pow(float base, float exponent) { return sim_pow_of(base, exponent); }
inline double sim_pow(double base, double exponent) { return sim_pow_of(base, exponent); }
#define pow sim_pow

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

// ------------------------------------------------------------------------------------------------------------- launches

// Kernels are compiled by the hundred, so what can be done once is in the runtime (launches.h), and no template of the library is used here.
struct sim_place { sim_uint3 *thread, *block, *block_size, *grid_size; };  // this library's variables, in the thread that launches
extern "C" void use_memory(const void *at);
extern "C" void sim_wait(sim_uint3 *thread, int for_block);
extern "C" void *sim_keep(size_t size);
extern "C" void sim_run_grid(void (*call)(char *), char *pack, const unsigned *grid, const unsigned *block, int waits, sim_place place);

inline void __syncthreads() { sim_wait(&threadIdx, 1); }
inline void __syncwarp(unsigned = 0xffffffff) { sim_wait(&threadIdx, 0); }

template <class T> struct sim_pointer { enum { value = 0 }; };
template <class T> struct sim_pointer<T *> { enum { value = 1 }; };
template <size_t count> struct sim_offsets { size_t at[count + 1]; };
template <class... A> constexpr auto sim_offsets_of() {  // of arguments in a pack, then its size
    sim_offsets<sizeof...(A)> found{};
    size_t k = 0, at = 0;
    ((found.at[k++] = at, at += (sizeof(A) + 15) & ~size_t(15)), ...);
    found.at[k] = at;
    return found;
}
namespace {  // of this library alone: kernels of one name differ from library to library in the types of their arguments
template <size_t... I> struct sim_numbers {};
template <auto kernel> struct sim_kernel;
template <class... A, void (*kernel)(A...)> struct sim_kernel<kernel> {
    static constexpr auto offsets = sim_offsets_of<A...>();
    static void *pack(void **arguments) {
        char *made = (char *)sim_keep(offsets.at[sizeof...(A)]);
        size_t k = 0;
        ((memcpy(made + offsets.at[k], arguments[k], sizeof(A)), sim_pointer<A>::value ? use_memory(*(void **)arguments[k]) : (void)0, ++k), ...);
        return made;
    }
    template <size_t... I> static void with(char *pack, sim_numbers<I...>) { kernel(*(A *)(pack + offsets.at[I])...); }
    static void call(char *pack) { with(pack, sim_numbers<__integer_pack(sizeof...(A))...>{}); }
};
}  // namespace
#define SIM_KERNEL(name, waits, ...)                                                                      \
    extern "C" void *pack_##name(void **arguments) { return sim_kernel<&__VA_ARGS__>::pack(arguments); }   \
    extern "C" void run_##name(void *pack, unsigned *grid, unsigned *block, size_t) {                      \
        sim_run_grid(sim_kernel<&__VA_ARGS__>::call, (char *)pack, grid, block, waits, {&threadIdx, &blockIdx, &blockDim, &gridDim}); \
    }
