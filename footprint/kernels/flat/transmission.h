/* Share of the open beam that reaches a pixel; NaN where it is dead or saturated. A group works on a row. */
#define NOT_A_NUMBER AS_F32(0x7fc00000u)

DEVICE f32 transmission(GLOBAL const TIN *raw, GLOBAL const f32 *near, GLOBAL const f32 *far, GLOBAL const f32 *dark, f32 w,
                        f32 gain, f32 ceiling, f32 level, i64 x) {
  const f32 d = dark[x], own = (f32)READ(TIN, raw, x);
  const f32 open = level >= 0 ? level : (w != 0 ? ((f32)1 - w) * near[x] + w * far[x] : near[x]) - d;
  const f32 beam = level >= 0 ? open : open * gain, share = (own - d) / beam;
  const int good = open > (f32)DEAD * fabs(d) && beam <= (f32)LARGEST && share >= -(f32)LARGEST && share <= (f32)LARGEST &&
                   own < ceiling;
  return good ? share : NOT_A_NUMBER;
}

/* The open beam of a row where its ends tell: 0 makes every pixel of it dead. By one work-item. */
DEVICE f32 mean_of_ends(GLOBAL const TIN *row, GLOBAL const f32 *dark, i64 n_x, i64 border) {
  f32 total = 0, count = 0;
  for (i64 x = 0; x < n_x; x++) {
    if (x == border && x < n_x - border) x = n_x - border;
    const f32 v = (f32)READ(TIN, row, x) - dark[x];
    if (v >= -(f32)LARGEST && v <= (f32)LARGEST) { total += v; count += 1; }
  }
  return count > 0 && total > 0 ? total / count : (f32)0;
}
