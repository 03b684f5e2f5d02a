/* Floats as numbers that are ordered as they are, and back; networks that put numbers in order in registers. */
#define TOP 0x80000000u
#define LARGEST 0xFFFFFFFFu

DEVICE u32 key_of(const f32 v) {
  const u32 bits = v == 0 ? 0 : AS_U32(v);
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
/* Loops have constant ends, or compilers do not unroll them, and arrays leave the registers. A merge of Batcher's of odd and even
   numbers, of runs of P; so all of up to 128 */
#define MERGE(v, N, P) \
  if ((P) < (N)) UNROLL for (i32 k_ = (P); k_ > 0; k_ /= 2) \
    UNROLL for (i32 i_ = 0; i_ < (N); i_++) \
      if (i_ + k_ < (N) && i_ >= k_ % (P) && (i_ - k_ % (P)) / k_ % 2 == 0 && i_ / (2 * (P)) == (i_ + k_) / (2 * (P))) \
        IN_ORDER(v, i_, i_ + k_)
#define SORT(v, N) \
  MERGE(v, N, 1) MERGE(v, N, 2) MERGE(v, N, 4) MERGE(v, N, 8) MERGE(v, N, 16) MERGE(v, N, 32) MERGE(v, N, 64)
/* N numbers, of which every 2 * FIRST neighbours, and so on down to 2 * LAST, rise and then fall or fall and then rise */
#define HALVES(v, N, FIRST, LAST) \
  UNROLL for (i32 far_ = (FIRST); far_ >= (LAST); far_ /= 2) \
    UNROLL for (i32 i_ = 0; i_ < (N); i_++) \
      if (i_ / far_ % 2 == 0) IN_ORDER(v, i_, i_ + far_)
