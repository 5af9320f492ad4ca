// What generated kernels are made of. The same text compiles as CUDA (NVRTC, no other headers) and as host C++17 (g++).
// There a kernel is a loop over its elements, unless TF_DEVICE says that whoever compiles it calls it once for each thread.
//
// Operands of every function here have one type: the printer casts them. Results are those of NumPy's ufuncs.

#ifdef __CUDACC__
#define TF_DEVICE
#define TF_FUNCTION static __device__ __forceinline__
#define TF_TABLE static __device__ const
#define TF_KERNEL extern "C" __global__ void
#define TF_INFINITY __longlong_as_double(0x7ff0000000000000LL)
#define TF_NAN __longlong_as_double(0x7ff8000000000000LL)
#pragma nv_diag_suppress 186  // templates ask unsigned numbers too whether they are below 0
#else
#include <cmath>
#include <cstring>
using namespace std;  // for the overloads of exp, fmod and the rest on float
#define TF_FUNCTION static inline
#define TF_TABLE static const
#ifndef TF_DEVICE
#define TF_KERNEL extern "C" void
#endif
#define TF_INFINITY HUGE_VAL
#define TF_NAN ((double)NAN)
#endif

#ifdef TF_DEVICE
#define TF_EACH(index, i, n) \
    const index i = (index)blockIdx.x * blockDim.x + threadIdx.x; \
    if (i < n)
#else
#define TF_EACH(index, i, n) for (index i = 0; i < n; ++i)
#endif

// casts: a float that does not fit an integer becomes what x86 makes of it, and so NumPy there: the least number of 32 bits, of which smaller
// types keep the low bits, or of 64 bits. CUDA's own casts give the nearest number that fits, and 0 for NaN.

template <class To, class From> TF_FUNCTION To tf_cast(From x) { return (To)x; }
#ifdef TF_DEVICE
#define TF_CASTS(T, to_int, to_long, to_unsigned_long)                                                                \
    template <class To> TF_FUNCTION To tf_cast(T x) {                                                                 \
        constexpr bool is_unsigned = (To)-1 > (To)0;                                                                  \
        if constexpr ((To)0.5 != 0) {                                                                                 \
            return (To)x; /* a float or bool */                                                                       \
        } else if constexpr (sizeof(To) < 4 || (sizeof(To) == 4 && !is_unsigned)) {                                   \
            return (To)(x < (T)0x1p31 ? to_int(x) : (int)0x80000000);                                                 \
        } else {                                                                                                      \
            const long long value = x < (T)0x1p63 ? to_long(x) : (long long)0x8000000000000000ULL;                    \
            if (sizeof(To) < 8 || !is_unsigned || !(x >= (T)0x1p63)) return (To)value;                                \
            return (To)(x < (T)0x1p64 ? to_unsigned_long(x) : 0);                                                     \
        }                                                                                                             \
    }
TF_CASTS(float, __float2int_rz, __float2ll_rz, __float2ull_rz)
TF_CASTS(double, __double2int_rz, __double2ll_rz, __double2ull_rz)
#endif

// 16-bit floats: stored in 16 bits, computed in float

struct tf_half { unsigned short bits; };
struct tf_bfloat { unsigned short bits; };

// Bits of a double rounded (ties to even) to a float of `digits` stored digits and a least exponent; its bias is 1 - least.
TF_FUNCTION unsigned short tf_encode(double x, int digits, int least) {
    const unsigned short sign = copysign(1.0, x) < 0 ? 0x8000 : 0;
    const int infinity = (2 * (1 - least) + 1) << digits;
    if (x != x) return sign | (unsigned short)(infinity + (1 << (digits - 1)));
    int exponent;
    frexp(x, &exponent);
    exponent = x == 0 || exponent - 1 < least ? least : exponent - 1;
    if (x - x != 0 || exponent > 1 - least) return sign | (unsigned short)infinity;
    const int whole = (int)rint(ldexp(fabs(x), digits - exponent));  // at least 1 << digits unless subnormal
    const int bits = ((exponent - least) << digits) + whole;
    return sign | (unsigned short)bits;  // a carry runs into the exponent, up to infinity
}

#ifdef __CUDACC__
TF_FUNCTION float tf_float(tf_half x) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
    return value;
}
TF_FUNCTION tf_half tf_to_half(float x) {
    tf_half value;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(value.bits) : "f"(x));
    return value;
}
TF_FUNCTION tf_half tf_to_half(double x) {
    tf_half value;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(value.bits) : "d"(x));
    return value;
}
TF_FUNCTION float tf_float(tf_bfloat x) { return __uint_as_float((unsigned int)x.bits << 16); }
TF_FUNCTION unsigned int tf_bits(float x) { return __float_as_uint(x); }
#else
TF_FUNCTION float tf_float(tf_half x) {
    const int exponent = x.bits >> 10 & 31, digits = x.bits & 1023;
    const float size = exponent == 31 ? (digits ? (float)NAN : HUGE_VALF) : ldexp((float)(exponent ? digits + 1024 : digits), (exponent ? exponent : 1) - 25);
    return x.bits >> 15 ? -size : size;
}
TF_FUNCTION tf_half tf_to_half(double x) { return {tf_encode(x, 10, -14)}; }
TF_FUNCTION tf_half tf_to_half(float x) { return tf_to_half((double)x); }
TF_FUNCTION float tf_float(tf_bfloat x) {
    const unsigned int bits = (unsigned int)x.bits << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}
TF_FUNCTION unsigned int tf_bits(float x) {
    unsigned int bits;
    memcpy(&bits, &x, 4);
    return bits;
}
#endif

TF_FUNCTION tf_bfloat tf_to_bfloat(double x) { return {tf_encode(x, 7, -126)}; }
TF_FUNCTION tf_bfloat tf_to_bfloat(float x) {
    const unsigned int bits = tf_bits(x);
    if (x != x) return {(unsigned short)(bits >> 16 | 64)};
    return {(unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
template <class T> TF_FUNCTION float tf_round_half(T x) { return tf_float(tf_to_half((double)x)); }
template <class T> TF_FUNCTION float tf_round_bfloat(T x) { return tf_float(tf_to_bfloat((double)x)); }
TF_FUNCTION float tf_round_half(float x) { return tf_float(tf_to_half(x)); }
TF_FUNCTION float tf_round_bfloat(float x) { return tf_float(tf_to_bfloat(x)); }

// tests and extremes: NaN wins

template <class T> TF_FUNCTION bool tf_isnan(T x) { return x != x; }
template <class T> TF_FUNCTION bool tf_isfinite(T x) { return x - x == 0; }
template <class T> TF_FUNCTION bool tf_isinf(T x) { return x == x && x - x != 0; }
template <class T> TF_FUNCTION T tf_max(T a, T b) { return a > b || a != a ? a : b; }
template <class T> TF_FUNCTION T tf_min(T a, T b) { return a < b || a != a ? a : b; }
template <class T> TF_FUNCTION T tf_sign(T x) { return x != x ? x : (T)((x > 0) - (x < 0)); }

// Order of numbers of different signedness, by value: below 0, 0 or above 0.
TF_FUNCTION int tf_order(long long a, unsigned long long b) {
    return a < 0 || (unsigned long long)a < b ? -1 : (unsigned long long)a > b;
}
TF_FUNCTION int tf_order(unsigned long long a, long long b) { return -tf_order(b, a); }

// integers: division by 0 gives 0, and nothing traps

template <class T> TF_FUNCTION T tf_abs(T x) { return x < 0 ? (T)(0 - (unsigned long long)x) : x; }
template <class T> TF_FUNCTION T tf_floor(T x) { return x; }
template <class T> TF_FUNCTION T tf_ceil(T x) { return x; }
template <class T> TF_FUNCTION T tf_trunc(T x) { return x; }
template <class T> TF_FUNCTION T tf_invert(T x) { return (T)~x; }
TF_FUNCTION bool tf_invert(bool x) { return !x; }
template <class T> TF_FUNCTION bool tf_is_minus_1(T x) { return x < 0 && x + 1 == 0; }
template <class T> TF_FUNCTION T tf_fmod(T a, T b) { return b == 0 || tf_is_minus_1(b) ? (T)0 : (T)(a % b); }
template <class T> TF_FUNCTION T tf_remainder(T a, T b) {
    const T r = tf_fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r;
}
template <class T> TF_FUNCTION T tf_floor_divide(T a, T b) {
    if (b == 0) return 0;
    if (tf_is_minus_1(b)) return (T)(0 - (unsigned long long)a);
    return (T)(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}
template <class T> TF_FUNCTION T tf_pow(T base, T exponent) {
    if (exponent < 0) return base == 1 ? (T)1 : tf_is_minus_1(base) ? (T)(exponent % 2 ? -1 : 1) : (T)0;
    unsigned long long square = (unsigned long long)base, value = 1;
    for (unsigned long long left = (unsigned long long)exponent; left; left >>= 1, square *= square)
        if (left & 1) value *= square;
    return (T)value;
}
template <class T> TF_FUNCTION T tf_left_shift(T a, T b) {
    return b < 0 || b >= (T)(8 * sizeof(T)) ? (T)0 : (T)((unsigned long long)a << b);
}
template <class T> TF_FUNCTION T tf_right_shift(T a, T b) {
    return b < 0 || b >= (T)(8 * sizeof(T)) ? (T)(a < 0 ? -1 : 0) : (T)(a >> b);
}

// floats: powers. CUDA's are within 2 units in the last place (float: 4), even where a power is a whole number; NumPy's are exact there.

#ifdef TF_DEVICE
#define TF_POWERS(T, whole)                                                                                           \
    TF_FUNCTION T tf_pow(T base, T exponent) {                                                                        \
        if (exponent == 2) return base * base;                                                                        \
        if (exponent == 1) return base;                                                                               \
        if (exponent == (T)0.5 && base >= 0) return sqrt(base + 0); /* of 0 where base is -0 */                       \
        if (exponent == -1) return 1 / base;                                                                          \
        if (exponent == 3) return base * base * base;                                                                 \
        if (fabs(exponent) < 64 && exponent == floor(exponent) && base == floor(base)) {                              \
            T value = 1, square = base;                                                                               \
            for (int left = (int)fabs(exponent); left; left >>= 1, square *= square)                                  \
                if (left & 1) value *= square;                                                                        \
            if (fabs(value) <= (T)whole) return exponent < 0 ? 1 / value : value; /* no product was rounded */        \
        }                                                                                                             \
        return pow(base, exponent);                                                                                   \
    }
TF_POWERS(float, 0x1p24)
TF_POWERS(double, 0x1p53)
#else
TF_FUNCTION float tf_pow(float base, float exponent) { return pow(base, exponent); }
TF_FUNCTION double tf_pow(double base, double exponent) { return pow(base, exponent); }
#endif

// floats: NumPy's divmod, which keeps quotient and remainder consistent

#define TF_FLOATS(T)                                                                                                  \
    TF_FUNCTION T tf_abs(T x) { return fabs(x); }                                                                     \
    TF_FUNCTION T tf_floor(T x) { return floor(x); }                                                                  \
    TF_FUNCTION T tf_ceil(T x) { return ceil(x); }                                                                    \
    TF_FUNCTION T tf_trunc(T x) { return trunc(x); }                                                                  \
    TF_FUNCTION T tf_fmod(T a, T b) { return fmod(a, b); }                                                            \
    TF_FUNCTION T tf_remainder(T a, T b) {                                                                            \
        const T r = fmod(a, b);                                                                                       \
        if (r == 0) return copysign((T)0, b);                                                                         \
        return (r < 0) != (b < 0) ? r + b : r;                                                                        \
    }                                                                                                                 \
    TF_FUNCTION T tf_floor_divide(T a, T b) {                                                                         \
        if (b == 0) return a / b;                                                                                     \
        const T r = fmod(a, b);                                                                                       \
        const T quotient = (a - r) / b - (T)(r != 0 && (r < 0) != (b < 0) ? 1 : 0);                                   \
        if (quotient == 0) return copysign((T)0, a / b);                                                              \
        const T down = floor(quotient);                                                                               \
        return quotient - down > (T)0.5 ? down + 1 : down;                                                            \
    }
TF_FLOATS(float)
TF_FLOATS(double)
