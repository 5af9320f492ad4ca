// What CuPy's copies of CUDA's headers want of the compiler.
#pragma once
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define __cluster_dims__(...)
#define __managed__
#define __grid_constant__
