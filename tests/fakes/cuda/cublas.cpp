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

API int cublasGemmStridedBatchedEx_64(
    void *handle, int transa, int transb, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int akind, int64_t lda, long long stridea,
    const void *b, int bkind, int64_t ldb, long long strideb, const void *beta, void *c, int ckind, int64_t ldc, long long stridec, int64_t count,
    int compute, int) {
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

// ---------------------------------------------------------------------------------------------------------- cuBLASLt

enum Epilogue { BIAS = 4, RELU_BIAS = 6, BGRADB = 512 };
enum Attribute { TRANSA = 3, TRANSB = 4, EPILOGUE = 7, BIAS_POINTER = 8 };
struct Description {
    int compute, transa = 0, transb = 0, epilogue = 1;
    void *bias = nullptr;
};
struct Layout {
    int kind;
    uint64_t rows, columns;
    int64_t distance;
};
struct Heuristic {
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

API int cublasLtCreate(void **handle) {
    *handle = new int(0);
    return 0;
}
API int cublasLtMatmulDescCreate(Description **made, int compute, int) {
    *made = new Description{compute};
    return 0;
}
API int cublasLtMatmulDescSetAttribute(Description *at, int attribute, const void *value, size_t size) {
    if (size != (attribute == BIAS_POINTER ? 8 : 4)) return 7;
    switch (attribute) {
        case TRANSA: at->transa = *(const int *)value; return 0;
        case TRANSB: at->transb = *(const int *)value; return 0;
        case EPILOGUE: at->epilogue = *(const int *)value; return 0;
        case BIAS_POINTER: at->bias = *(void *const *)value; return 0;
    }
    return 7;
}
API int cublasLtMatrixLayoutCreate(Layout **made, int kind, uint64_t rows, uint64_t columns, int64_t distance) {
    if (distance < int64_t(rows)) return 7;
    *made = new Layout{kind, rows, columns, distance};
    return 0;
}
API int cublasLtMatmulDescDestroy(Description *at) {
    delete at;
    return 0;
}
API int cublasLtMatrixLayoutDestroy(Layout *at) {
    delete at;
    return 0;
}
API int cublasLtMatmulPreferenceCreate(void **made) {
    *made = new int(0);
    return 0;
}
API int cublasLtMatmulPreferenceDestroy(void *made) {
    delete (int *)made;
    return 0;
}
API int cublasLtMatmulPreferenceSetAttribute(void *, int, const void *, size_t) { return 0; }

// Nothing is proposed for float64, as a library may do.
API int cublasLtMatmulAlgoGetHeuristic(
    void *, const Description *how, const Layout *a, const Layout *b, const Layout *, const Layout *d, void *, int, Heuristic *found, int *count) {
    const uint64_t m = how->transa ? a->columns : a->rows, k = how->transa ? a->rows : a->columns, n = how->transb ? b->rows : b->columns;
    if (m != d->rows || n != d->columns || k != (how->transb ? b->columns : b->rows)) return 7;
    *found = {};
    *count = d->kind != R_64F;
    return *count ? 0 : 15;
}

API int cublasLtMatmul(
    void *, const Description *given, const float *alpha, const void *a, const Layout *al, const void *b, const Layout *bl, const float *beta, const void *,
    const Layout *, void *d, const Layout *dl, const void *algorithm, void *workspace, size_t, Address stream) {
    if (!algorithm || !workspace || !given->bias || *alpha != 1 || *beta != 0) return 7;
    const Description how = *given;
    const Layout left = *al, right = *bl, out = *dl;
    issue_work(stream, new std::function<void()>([=] {
        const long m = out.rows, n = out.columns, k = how.transa ? left.rows : left.columns;
        for (long j = 0; j < n; ++j) {
            for (long i = 0; i < m; ++i) {
                double sum = 0;
                for (long l = 0; l < k; ++l)
                    sum += read(a, left.kind, how.transa ? l + i * left.distance : i + l * left.distance) *
                           read(b, right.kind, how.transb ? j + l * right.distance : l + j * right.distance);
                float value = (float)sum;
                if (how.epilogue == BIAS || how.epilogue == RELU_BIAS) value += (float)read(how.bias, out.kind, i);
                if (how.epilogue == RELU_BIAS) value = value > 0 ? value : 0;
                write(d, out.kind, i + j * out.distance, value);
            }
            double total = 0;
            for (long l = 0; how.epilogue == BGRADB && l < k; ++l) total += read(b, right.kind, how.transb ? j + l * right.distance : l + j * right.distance);
            if (how.epilogue == BGRADB) write(how.bias, out.kind, j, total);
        }
    }));
    return 0;
}
