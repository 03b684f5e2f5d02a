/* The dialect every kernel text is written in, as CUDA C++ (NVRTC, nvcc) and HIP (untested: no such
   device was at hand). opencl.h is its twin: change both.

   KERNEL(x, y, z) name(GLOBAL const f32 *RESTRICT in, GLOBAL f32 *RESTRICT out, i64 n) { ... }   group of x*y*z work-items
   GID(d) group, LID(d) work-item in its group, GROUPS(d) groups in the grid; BARRIER() after writes to SHARED memory,
   BARRIER32() where only work-items of one 32, counted along LID(0), read what they wrote
   SHARED(T, name, n)       on-chip array, n a constant, at most 48 KB in all
   SHARED_BIG(T, name, n)   the one on-chip array of a kernel that may be larger: Launch.local says its bytes
   TABLE(T, n, name) at file scope and TABLE_ARG(T, name), no comma, before the arguments: Launch.tables in constant memory
   COPY16(dst, src), COPIES_DONE()   16 aligned bytes from GLOBAL to SHARED memory, past the registers; then BARRIER()
   COPY(dst, src)           the same of one aligned element of 4, 8 or 16 bytes; COPIES_BEGUN() ends a batch of them, and
                            COPIES_DONE_BUT(n) waits for all but the n last batches; then BARRIER()
   STORE_ONCE(p, v)         *p = v, where nobody reads it again soon: it need not stay in the cache
   LESS_I16X2(a, b), MORE_ and _U16X2   the smaller, or larger, of each of the two numbers of 16 bits in words of 32
   READ(T, p, i), WRITE(T, p, i, v)   element i of storage type T (f16 ... i64) as a number, and back with saturation off */
#if defined(__HIP__) || defined(__HIPCC_RTC__)
#define HALF_IS_BUILTIN 1
#endif
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
struct f16 { u16 bits; };
typedef float2 f32x2;
typedef float4 f32x4;
typedef double2 f64x2;
typedef ulonglong2 u64x2;

#ifndef MIN_GROUPS
#define MIN_GROUPS 1
#endif
/* MIN_GROUPS is groups a core to CUDA, but wavefronts a SIMD unit to HIP: the same for groups of 256 on four units of 64 lanes */
#define KERNEL(X, Y, Z) extern "C" __global__ __launch_bounds__((X) * (Y) * (Z), MIN_GROUPS) void
#define DEVICE static __device__ __forceinline__
#define GLOBAL
#define LOCAL
#define CONSTANT __device__ const
#define RESTRICT __restrict__
#define SHARED(T, name, n) __shared__ T name[n]
#define SHARED_BIG(T, name, n) extern __shared__ uint4 name##_raw[]; T *const name = (T *)name##_raw
#define TABLE(T, n, name) extern "C" { __constant__ T name[n]; }
#define TABLE_ARG(T, name)
#define GID(d) ((i32)((d) == 0 ? blockIdx.x : (d) == 1 ? blockIdx.y : blockIdx.z))
#define LID(d) ((i32)((d) == 0 ? threadIdx.x : (d) == 1 ? threadIdx.y : threadIdx.z))
#define GROUPS(d) ((i32)((d) == 0 ? gridDim.x : (d) == 1 ? gridDim.y : gridDim.z))
#define BARRIER() __syncthreads()
#if defined(__HIP__) || defined(__HIPCC_RTC__)
#define BARRIER32() __syncthreads()
#else
#define BARRIER32() __syncwarp()
#endif
#define FENCE() __threadfence()
#if defined(__HIP__) || defined(__HIPCC_RTC__)
#define STORE_ONCE(p, v) (*(p) = (v))
#else
#define STORE_ONCE(p, v) __stcs(p, v)
#endif
#if !defined(__HIP__) && !defined(__HIPCC_RTC__)
/* four numbers as other groups have just written them */
#define FRESH4(to, from) \
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"((to)[0]), "=r"((to)[1]), "=r"((to)[2]), "=r"((to)[3]) : "l"(from) : "memory")
/* lanes of 32 hand numbers on without a barrier; texts do without where these are not defined */
#define SHUFFLE_UP(x, n) __shfl_up_sync(0xffffffffu, x, n)
#define SHUFFLE_FROM(x, lane) __shfl_sync(0xffffffffu, x, lane)
#define SHUFFLE_XOR(x, n) __shfl_xor_sync(0xffffffffu, x, n)
#endif
/* HIP defines no __CUDA_ARCH__, and so never meets these instructions */
#if __CUDA_ARCH__ >= 800
#define COPY16(dst, src) \
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((u32)__cvta_generic_to_shared(dst)), "l"(src) : "memory")
#define COPIES_DONE() asm volatile("cp.async.wait_all;" ::: "memory")
#define COPY(dst, src) \
  do { \
    if (sizeof(*(dst)) == 16) { \
      COPY16(dst, src); \
    } else { \
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((u32)__cvta_generic_to_shared(dst)), "l"(src), "n"(sizeof(*(dst))) : "memory"); \
    } \
  } while (0)
#define COPIES_BEGUN() asm volatile("cp.async.commit_group;" ::: "memory")
#define COPIES_DONE_BUT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#else
#define COPY16(dst, src) (*(uint4 *)(dst) = *(const uint4 *)(src))
#define COPIES_DONE()
#define COPY(dst, src) (*(dst) = *(src))
#define COPIES_BEGUN()
#define COPIES_DONE_BUT(n)
#endif
#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("unroll 1")

#define MAKE2(T, ...) MAKE_NAMED(T, __VA_ARGS__)
#define MAKE4(T, ...) MAKE_NAMED(T, __VA_ARGS__)
#define MAKE_NAMED(T, ...) make_##T(__VA_ARGS__)
static __device__ __forceinline__ float2 make_f32x2(float a, float b) { return make_float2(a, b); }
static __device__ __forceinline__ double2 make_f64x2(double a, double b) { return make_double2(a, b); }
static __device__ __forceinline__ ulonglong2 make_u64x2(u64 a, u64 b) { return make_ulonglong2(a, b); }
static __device__ __forceinline__ float4 make_f32x4(float a, float b, float c, float d) { return make_float4(a, b, c, d); }
static __device__ __forceinline__ float fma_(float a, float b, float c) { return fmaf(a, b, c); }
static __device__ __forceinline__ double fma_(double a, double b, double c) { return fma(a, b, c); }
#define FMA(a, b, c) fma_(a, b, c)
/* a product of f64 that is rounded before anything is added to it */
#define MUL_RN(a, b) __dmul_rn(a, b)
static __device__ __forceinline__ float sinpi_(float x) { return sinpif(x); }
static __device__ __forceinline__ double sinpi_(double x) { return sinpi(x); }
static __device__ __forceinline__ float cospi_(float x) { return cospif(x); }
static __device__ __forceinline__ double cospi_(double x) { return cospi(x); }
#define SINPI(x) sinpi_(x)
#define COSPI(x) cospi_(x)
#define AS_I32(x) __float_as_int(x)
#define AS_U32(x) __float_as_uint(x)
#define AS_F32(x) __uint_as_float((u32)(x))
#define AS_I64(x) __double_as_longlong(x)
#define AS_F64(x) __longlong_as_double((i64)(x))
#define POPCOUNT(x) __popc(x)
#define CLZ(x) __clz((i32)(x))
#if defined(__HIP__) || defined(__HIPCC_RTC__)
template <class T> DEVICE u32 of_pairs(u32 a, u32 b, bool more) {
  const T low = (T)a, high = (T)(a >> 16), low_b = (T)b, high_b = (T)(b >> 16);
  return (u32)(u16)((low < low_b) != more ? low : low_b) | (u32)(u16)((high < high_b) != more ? high : high_b) << 16;
}
#define LESS_I16X2(a, b) of_pairs<i16>(a, b, false)
#define MORE_I16X2(a, b) of_pairs<i16>(a, b, true)
#define LESS_U16X2(a, b) of_pairs<u16>(a, b, false)
#define MORE_U16X2(a, b) of_pairs<u16>(a, b, true)
#else
#define LESS_I16X2(a, b) __vmins2(a, b)
#define MORE_I16X2(a, b) __vmaxs2(a, b)
#define LESS_U16X2(a, b) __vminu2(a, b)
#define MORE_U16X2(a, b) __vmaxu2(a, b)
#endif

/* 32-bit integer atomics on GLOBAL (…G) and SHARED (…L) memory; each returns the old value. */
#define ATOMIC_ADD_G(p, v) atomicAdd(p, v)
#define ATOMIC_ADD_L(p, v) atomicAdd(p, v)
#define ATOMIC_MIN_G(p, v) atomicMin(p, v)
#define ATOMIC_MIN_L(p, v) atomicMin(p, v)
#define ATOMIC_MAX_G(p, v) atomicMax(p, v)
#define ATOMIC_MAX_L(p, v) atomicMax(p, v)
#define ATOMIC_OR_G(p, v) atomicOr(p, v)
#define ATOMIC_CAS_G(p, old, v) atomicCAS(p, old, v)
#define ATOMIC_ADD_U64_G(p, v) atomicAdd(p, v)

#ifdef HALF_IS_BUILTIN
DEVICE float half_to_float(u16 h) { _Float16 f; __builtin_memcpy(&f, &h, 2); return (float)f; }
DEVICE u16 float_to_half(float v) { _Float16 f = (_Float16)v; u16 h; __builtin_memcpy(&h, &f, 2); return h; }
#else
/* by instruction: NVRTC then needs no header */
DEVICE float half_to_float(u16 h) { float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h)); return f; }
DEVICE u16 float_to_half(float v) { u16 h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(v)); return h; }
#endif
template <class T> DEVICE T read_as(const T *p, i64 i) { return p[i]; }
DEVICE float read_as(const f16 *p, i64 i) { return half_to_float(p[i].bits); }
template <class T, class V> DEVICE void write_as(T *p, i64 i, V v) { p[i] = (T)v; }
template <class V> DEVICE void write_as(f16 *p, i64 i, V v) { p[i].bits = float_to_half((float)v); }
#define READ(T, p, i) read_as((const T *)(p), i)
#define WRITE(T, p, i, v) write_as((T *)(p), i, v)
