/* Inputs of a work-item: CX columns side by side, as an image of S stores them.

   T element type of sums     S that of the image, of STORED bytes where it is another     RAW holds CX of S */
#if STORED
#define PART(v, k) ((T)(S)((v) >> (8 * STORED * (k))))
#define ONE(k) ((RAW)((RAW)line[from[k]] & (STORED == 1 ? 0xff : 0xffff)) << (8 * STORED * (k)))
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

/* What a line has in columns from[...], which are neighbours where they are `together`. */
DEVICE RAW fetched(GLOBAL const S *line, const i64 *from, int together) {
  if (together) return *(GLOBAL const RAW *)(line + from[0]);
#if STORED && CX == 4
  return ONE(0) | ONE(1) | ONE(2) | ONE(3);
#elif STORED && CX == 2
  return ONE(0) | ONE(1);
#elif CX == 4
  return MAKE4(RAW, line[from[0]], line[from[1]], line[from[2]], line[from[3]]);
#elif CX == 2
  return MAKE2(RAW, line[from[0]], line[from[1]]);
#else
  return line[from[0]];
#endif
}
