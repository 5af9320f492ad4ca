// As much of cuBLAS as matrix products need, computed on the host in double precision when the handle's stream gets there.
#include <cstdint>
#include <cstring>
#include <functional>

using Address = intptr_t;
extern "C" void issue_work(Address stream, std::function<void()> *work);
extern "C" int captures();  // streams that this thread captures
#define API extern "C"

struct Handle {
    Address stream = 0;
};
enum Kind { R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14, COMPUTE_64F = 70 };

template <class To, class From> static To bits(From x) {
    To y;
    memcpy(&y, &x, sizeof y);
    return y;
}

static double from_half(uint16_t x) { return (double)bits<_Float16>(x); }
static double from_bfloat(uint16_t x) { return bits<float>((uint32_t)x << 16); }
static uint16_t to_bfloat(float x) {
    const uint32_t word = bits<uint32_t>(x);
    return x != x ? 0x7fc0 : uint16_t((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

static double read(const void *array, int kind, long place) {
    switch (kind) {
        case R_32F: return ((const float *)array)[place];
        case R_64F: return ((const double *)array)[place];
        case R_16F: return from_half(((const uint16_t *)array)[place]);
        case R_16BF: return from_bfloat(((const uint16_t *)array)[place]);
    }
    __builtin_trap();
}

static void write(void *array, int kind, long place, double value) {
    switch (kind) {
        case R_32F: ((float *)array)[place] = (float)value; return;
        case R_64F: ((double *)array)[place] = value; return;
        case R_16F: ((uint16_t *)array)[place] = bits<uint16_t>((_Float16)value); return;
        case R_16BF: ((uint16_t *)array)[place] = to_bfloat((float)value); return;
    }
    __builtin_trap();
}

static long size_of(int kind) { return kind == R_64F ? 8 : kind == R_32F ? 4 : 2; }

API int cublasCreate_v2(void **handle) {
    if (captures()) return 1;  // CUBLAS_STATUS_NOT_INITIALIZED: it would allocate, and wait
    *handle = new Handle;
    return 0;
}
API int cublasDestroy_v2(void *handle) {
    delete (Handle *)handle;
    return 0;
}
API int cublasSetStream_v2(void *handle, Address stream) {
    ((Handle *)handle)->stream = stream;
    return 0;
}
API int cublasSetWorkspace_v2(void *, void *, size_t) { return 0; }
API int cublasSetMathMode(void *, int) { return 0; }
API int cublasGetVersion_v2(void *, int *version) {
    *version = 120900;
    return 0;
}

API int cublasGemmStridedBatchedEx(
    void *handle, int transa, int transb, int m, int n, int k, const void *alpha, const void *a, int akind, int lda, long long stridea, const void *b,
    int bkind, int ldb, long long strideb, const void *beta, void *c, int ckind, int ldc, long long stridec, int count, int compute, int) {
    if (lda < (transa ? k : m) || ldb < (transb ? n : k) || ldc < m) return 7;  // CUBLAS_STATUS_INVALID_VALUE
    const bool wide = compute == COMPUTE_64F;
    const double scale = wide ? *(const double *)alpha : *(const float *)alpha, kept = wide ? *(const double *)beta : *(const float *)beta;
    issue_work(((Handle *)handle)->stream, new std::function<void()>([=] {
        for (long z = 0; z < count; ++z) {
            const char *az = (const char *)a + z * stridea * size_of(akind), *bz = (const char *)b + z * strideb * size_of(bkind);
            char *cz = (char *)c + z * stridec * size_of(ckind);
            for (long j = 0; j < n; ++j)
                for (long i = 0; i < m; ++i) {
                    double sum = 0;
                    for (long l = 0; l < k; ++l) sum += read(az, akind, transa ? l + i * lda : i + l * lda) * read(bz, bkind, transb ? j + l * ldb : l + j * ldb);
                    const double before = kept ? kept * read(cz, ckind, i + j * ldc) : 0;
                    write(cz, ckind, i + j * ldc, scale * sum + before);
                }
        }
    }));
    return 0;
}
