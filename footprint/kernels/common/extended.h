/* Samples of a row of n continued to N = 2 M, by MODE (borders.CODES), two by two: what stages.h takes as M complex numbers, and gives
   back. EVEN: n is. LEVEL is taken from samples before and put back after, so that zeros beyond the row stand for it. */
#ifndef LEVEL
#define LEVEL 0.0f
#endif
/* position on the extended row of a sample of the row, -1 for zero; what stands left of the row is at the end */
DEVICE i32 source(i32 c, i32 n)
{
#if MODE == 0
  return c < n ? c : -1;
#else
  if (c < n) return c;
  i32 i = c < N - (N - n) / 2 ? c : c - N;
#if MODE == 1
  return i < 0 ? 0 : n - 1;
#else
  if (n == 1) return 0;
  const i32 period = MODE == 4 ? n : MODE == 3 ? 2 * (n - 1) : 2 * n;
  i %= period;
  i = i < 0 ? i + period : i;
  return i < n ? i : MODE == 3 ? period - i : period - 1 - i;
#endif
#endif
}

DEVICE f32x2 fetch(GLOBAL const f32 *row, i32 j, i32 n)
{
#if EVEN && MODE == 0
  if (2 * j >= n) return MAKE2(f32x2, 0.0f, 0.0f);
  const f32x2 v = ((GLOBAL const f32x2 *)row)[j];
  return MAKE2(f32x2, v.x - LEVEL, v.y - LEVEL);
#endif
  const i32 a = source(2 * j, n), b = source(2 * j + 1, n);
  return MAKE2(f32x2, a >= 0 ? row[a] - LEVEL : 0.0f, b >= 0 ? row[b] - LEVEL : 0.0f);
}

/* the last stage of the way back: the first n_x samples, two of each number with its parts swapped, go `to` their row */
#define LAST(R) \
  for (i32 t = ME; t < M / (R); t += NT) { \
    f32x2 x[R]; \
    POWERS(R, w, twiddle[2 * t]) \
    x[0] = line[AT(t)]; \
    UNROLL for (i32 q = 1; q < (R); q++) x[q] = mul(line[FROM(t, q, M / (R))], w[q]); \
    DFT(R)(x); \
    UNROLL for (i32 m = 0; m < (R); m++) if (!(HALF && (R) % 2 == 0 && m >= (R) / 2)) { \
      const i32 j = 2 * (t + m * (M / (R))); \
      if (EVEN && j < n_x) ((GLOBAL f32x2 *)to)[j / 2] = MAKE2(f32x2, x[m].y + LEVEL, x[m].x + LEVEL); \
      if (!EVEN && j < n_x) to[j] = x[m].y + LEVEL; \
      if (!EVEN && j + 1 < n_x) to[j + 1] = x[m].x + LEVEL; \
    } \
  }
