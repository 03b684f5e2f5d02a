/* The dialect every kernel text is written in, as OpenCL C 1.2. cuda.h is its twin and explains the words: change both. */
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double f64;
typedef double2 f64x2;
#endif
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef ulong2 u64x2;
typedef float f32;
typedef half f16;
typedef float2 f32x2;
typedef float4 f32x4;

#define KERNEL(X, Y, Z) __kernel __attribute__((reqd_work_group_size((X), (Y), (Z)))) void
#ifdef POCL_DEVICE_ADDRESS_BITS
#define DEVICE static inline
#else /* what works on an array in registers must not be called */
#define DEVICE static inline __attribute__((always_inline))
#endif
#define GLOBAL __global
#define LOCAL __local
#define CONSTANT __constant
#define RESTRICT restrict
#define SHARED(T, name, n) __local T name[n] __attribute__((aligned(16)))
#define SHARED_BIG(T, name, n) SHARED(T, name, n)
#define TABLE(T, n, name)
#define TABLE_ARG(T, name) __constant const T *RESTRICT name,
#define GID(d) ((i32)get_group_id(d))
#define LID(d) ((i32)get_local_id(d))
#define GROUPS(d) ((i32)get_num_groups(d))
#ifdef __NV_CL_C_VERSION /* its barriers order all memory of a group, and a fence of global memory besides takes as long again */
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define BARRIER32() __asm__ volatile("bar.warp.sync 0xffffffff;" ::: "memory")
#else
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define BARRIER32() BARRIER()
#endif
#define FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#define STORE_ONCE(p, v) (*(p) = (v))
#define COPY16(dst, src) (*(__local uint4 *)(dst) = *(const __global uint4 *)(src))
#define COPIES_DONE()
#define COPY(dst, src) (*(dst) = *(src))
#define COPIES_BEGUN()
#define COPIES_DONE_BUT(n)
#ifdef POCL_DEVICE_ADDRESS_BITS /* a CPU: unrolled stencils would compile for minutes and run no faster */
#define UNROLL
#else
#define UNROLL _Pragma("unroll")
#endif
#define NO_UNROLL _Pragma("unroll 1")

#define MAKE2(T, a, b) ((T)(a, b))
#define MAKE4(T, a, b, c, d) ((T)(a, b, c, d))
#define FMA(a, b, c) fma(a, b, c)
#ifdef cl_khr_fp64
DEVICE f64 MUL_RN(f64 a, f64 b) {
#pragma OPENCL FP_CONTRACT OFF
  const f64 product = a * b;
  return product;
}
#endif
#define SINPI(x) sinpi(x)
#define COSPI(x) cospi(x)
#define AS_I32(x) as_int((float)(x))
#define AS_U32(x) as_uint((float)(x))
#define AS_F32(x) as_float((u32)(x))
#define AS_I64(x) as_long((double)(x))
#define AS_F64(x) as_double((i64)(x))
#define POPCOUNT(x) popcount(x)
#define CLZ(x) ((i32)clz((u32)(x)))
#ifdef __NV_CL_C_VERSION /* whose compiler does not find the instruction; `Limits.pairs` says where there is one */
#define OF_PAIRS(name, instruction) \
  DEVICE u32 name(u32 a, u32 b) { \
    u32 found; \
    __asm__(instruction " %0, %1, %2;" : "=r"(found) : "r"(a), "r"(b)); \
    return found; \
  }
OF_PAIRS(LESS_I16X2, "min.s16x2")
OF_PAIRS(MORE_I16X2, "max.s16x2")
OF_PAIRS(LESS_U16X2, "min.u16x2")
OF_PAIRS(MORE_U16X2, "max.u16x2")
#else
#define LESS_I16X2(a, b) as_uint(min(as_short2((u32)(a)), as_short2((u32)(b))))
#define MORE_I16X2(a, b) as_uint(max(as_short2((u32)(a)), as_short2((u32)(b))))
#define LESS_U16X2(a, b) as_uint(min(as_ushort2((u32)(a)), as_ushort2((u32)(b))))
#define MORE_U16X2(a, b) as_uint(max(as_ushort2((u32)(a)), as_ushort2((u32)(b))))
#endif

#define ATOMIC_ADD_G(p, v) atomic_add((volatile __global __typeof__(*(p)) *)(p), v)
#define ATOMIC_ADD_L(p, v) atomic_add((volatile __local __typeof__(*(p)) *)(p), v)
#define ATOMIC_MIN_G(p, v) atomic_min((volatile __global __typeof__(*(p)) *)(p), v)
#define ATOMIC_MIN_L(p, v) atomic_min((volatile __local __typeof__(*(p)) *)(p), v)
#define ATOMIC_MAX_G(p, v) atomic_max((volatile __global __typeof__(*(p)) *)(p), v)
#define ATOMIC_MAX_L(p, v) atomic_max((volatile __local __typeof__(*(p)) *)(p), v)
#define ATOMIC_OR_G(p, v) atomic_or((volatile __global __typeof__(*(p)) *)(p), v)
#define ATOMIC_CAS_G(p, old, v) atomic_cmpxchg((volatile __global __typeof__(*(p)) *)(p), old, v)
#define ATOMIC_ADD_U64_G(p, v) atom_add((volatile __global u64 *)(p), v)

/* one macro a storage type: OpenCL C has no overloading, and half may only be loaded and stored by these two calls */
#define READ(T, p, i) READ_NAMED(T, p, i)
#define READ_NAMED(T, p, i) READ_##T(p, i)
#define WRITE(T, p, i, v) WRITE_NAMED(T, p, i, v)
#define WRITE_NAMED(T, p, i, v) WRITE_##T(p, i, v)
#define READ_f16(p, i) vload_half(0, (p) + (i))
#define WRITE_f16(p, i, v) vstore_half((float)(v), 0, (p) + (i))
#define READ_f32(p, i) ((p)[i])
#define READ_f64(p, i) ((p)[i])
#define READ_i8(p, i) ((p)[i])
#define READ_u8(p, i) ((p)[i])
#define READ_i16(p, i) ((p)[i])
#define READ_u16(p, i) ((p)[i])
#define READ_i32(p, i) ((p)[i])
#define READ_u32(p, i) ((p)[i])
#define READ_i64(p, i) ((p)[i])
#define READ_u64(p, i) ((p)[i])
#define WRITE_f32(p, i, v) ((p)[i] = (f32)(v))
#define WRITE_f64(p, i, v) ((p)[i] = (f64)(v))
#define WRITE_i8(p, i, v) ((p)[i] = (i8)(v))
#define WRITE_u8(p, i, v) ((p)[i] = (u8)(v))
#define WRITE_i16(p, i, v) ((p)[i] = (i16)(v))
#define WRITE_u16(p, i, v) ((p)[i] = (u16)(v))
#define WRITE_i32(p, i, v) ((p)[i] = (i32)(v))
#define WRITE_u32(p, i, v) ((p)[i] = (u32)(v))
#define WRITE_i64(p, i, v) ((p)[i] = (i64)(v))
#define WRITE_u64(p, i, v) ((p)[i] = (u64)(v))
