/* Samples of a row of n continued to N = 2 M, by MODE (borders.CODES), two by two: what stages.h takes as M complex numbers. EVEN: n is. */
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
  return 2 * j < n ? ((GLOBAL const f32x2 *)row)[j] : MAKE2(f32x2, 0.0f, 0.0f);
#endif
  const i32 a = source(2 * j, n), b = source(2 * j + 1, n);
  return MAKE2(f32x2, a >= 0 ? row[a] : 0.0f, b >= 0 ? row[b] : 0.0f);
}
