/* Floats as numbers that are ordered as they are, and back; networks that put numbers in order in registers. */
#define TOP 0x80000000u
#define LARGEST 0xFFFFFFFFu

/* no number at all is above all numbers, whatever its sign */
DEVICE u32 key_of(const f32 v) {
  const u32 own = AS_U32(v), size = own & ~TOP, bits = size == 0 ? 0 : size > 0x7F800000u ? 0x7FC00000u : own;
  return bits & TOP ? ~bits : bits | TOP;
}
DEVICE f32 value_of(const u32 key) { return AS_F32(key & TOP ? key ^ TOP : ~key); }

DEVICE u32 lower(const u32 a, const u32 b) { return a < b ? a : b; }
DEVICE u32 upper(const u32 a, const u32 b) { return a < b ? b : a; }
#define IN_ORDER(v, i, j) { \
  const u32 low_ = lower(v[i], v[j]), high_ = upper(v[i], v[j]); \
  v[i] = low_; \
  v[j] = high_; \
}
/* Batcher's merges of odd and even numbers, of runs of P. On a GPU loops have constant ends, or compilers do not unroll them, and
   arrays leave the registers; a CPU would compile that for long and run no faster. */
#define MERGE(v, N, P) \
  EVERY for (i32 k_ = (P); k_ > 0; k_ /= 2) \
    EVERY for (i32 i_ = 0; i_ < (N); i_++) \
      if (i_ + k_ < (N) && i_ >= k_ % (P) && (i_ - k_ % (P)) / k_ % 2 == 0 && i_ / (2 * (P)) == (i_ + k_) / (2 * (P))) \
        IN_ORDER(v, i_, i_ + k_)
#ifdef POCL_DEVICE_ADDRESS_BITS
#define EVERY NO_UNROLL
DEVICE void sort_of(u32 *v, const i32 n) {
  for (i32 p = 1; p < n; p *= 2) MERGE(v, n, p)
}
#define SORT(v, N) sort_of(v, N);
#else
#define EVERY UNROLL
#define MERGE_IF(v, N, P) if ((P) < (N)) MERGE(v, N, P)
#define SORT(v, N) \
  MERGE_IF(v, N, 1) MERGE_IF(v, N, 2) MERGE_IF(v, N, 4) MERGE_IF(v, N, 8) MERGE_IF(v, N, 16) MERGE_IF(v, N, 32) MERGE_IF(v, N, 64)
#endif
/* N numbers, of which every 2 * FIRST neighbours, and so on down to 2 * LAST, rise and then fall or fall and then rise */
#define HALVES(v, N, FIRST, LAST) \
  EVERY for (i32 far_ = (FIRST); far_ >= (LAST); far_ /= 2) \
    EVERY for (i32 i_ = 0; i_ < (N); i_++) \
      if (i_ / far_ % 2 == 0) IN_ORDER(v, i_, i_ + far_)
