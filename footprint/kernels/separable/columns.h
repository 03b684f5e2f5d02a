/* Inputs of a work-item: CX columns side by side, as an image of S stores them.

   T element type of sums     S that of the image, of STORED bytes where it is another     RAW holds CX of S
   BIAS of whole numbers that float32 sums, -1 for other sums */
#if STORED && BIAS >= 0
/* The last digits of 2^23 are a whole number's bits (a signed one's begin at -BIAS): conversions take four times as long as a difference. */
#define BITS_OF(v, k) ((u32)((v) >> (8 * STORED * (k))) & (STORED == 1 ? 0xffu : 0xffffu))
#define PART(v, k) (AS_F32(0x4b000000u | (BITS_OF(v, k) ^ BIAS)) - (8388608.0f + BIAS))
#elif STORED
#define PART(v, k) ((T)(S)((v) >> (8 * STORED * (k))))
#endif
#if STORED
#define ONE(k) ((RAW)((RAW)line[aside[k]] & (STORED == 1 ? 0xff : 0xffff)) << (8 * STORED * (k)))
#elif CX == 1
#define PART(v, k) (v)
#elif CX == 2
#define PART(v, k) ((k) == 0 ? (v).x : (v).y)
#else
#define PART(v, k) ((k) == 0 ? (v).x : (k) == 1 ? (v).y : (k) == 2 ? (v).z : (v).w)
#endif
#if CX == 1
#define GATHERED(v) (v)[0]
#elif CX == 2
#define GATHERED(v) MAKE2(RESULT, (v)[0], (v)[1])
#else
#define GATHERED(v) MAKE4(RESULT, (v)[0], (v)[1], (v)[2], (v)[3])
#endif
#define EACH UNROLL for (int m = 0; m < CX; m++)

DEVICE i64 larger(i64 a, i64 b) { return a > b ? a : b; }

/* What stands at a place and aside[...] of it, which are neighbours where they are `together`. */
DEVICE RAW fetched(GLOBAL const S *line, const i64 *aside, int together) {
#if CX > 1
  if (together) return *(GLOBAL const RAW *)line;
#endif
#if STORED && CX == 4
  return ONE(0) | ONE(1) | ONE(2) | ONE(3);
#elif STORED && CX == 2
  return ONE(0) | ONE(1);
#elif CX == 4
  return MAKE4(RAW, line[aside[0]], line[aside[1]], line[aside[2]], line[aside[3]]);
#elif CX == 2
  return MAKE2(RAW, line[aside[0]], line[aside[1]]);
#else
  return *line;
#endif
}
