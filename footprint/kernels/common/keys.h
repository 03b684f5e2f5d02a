/* Bits in the order of the numbers, 0 for NaN; both zeros are one. Constants: T, WIDE (T is f64). */
DEVICE u64 wide_key(f64 x) { const u64 b = (u64)AS_I64(x + 0.0); return x != x ? 0 : b >> 63 ? ~b : b | (u64)1 << 63; }
#if WIDE
#define key_of(x) wide_key(x)
#define HIGH_WORD(k) ((u32)((k) >> 32))
#define KEY u64
#define KEY_BITS 64
#define VALUE(k) AS_F64(k)
#else
DEVICE u32 key_of(f32 x) { const u32 b = AS_U32(x + 0.0f); return x != x ? 0 : b >> 31 ? ~b : b | (u32)1 << 31; }
#define HIGH_WORD(k) (k)
#define KEY u32
#define KEY_BITS 32
#define VALUE(k) AS_F32(k)
#endif
