/* The pixels that tell a height, and what Gaussians are there. T, PLACE, LEAST and NOTHING are held.knl's. */
/* the exponent's double at a pixel */
DEVICE f64 exponent(GLOBAL const f64 *p, f64 y, f64 x)
{
  const f64 dy = y - p[0], dx = x - p[1];
  return MUL_RN(MUL_RN(p[2], dy), dy) + MUL_RN(2 * MUL_RN(p[3], dy), dx) + MUL_RN(MUL_RN(p[4], dx), dx);
}

/* how far the pixels may be that tell a place, as whole numbers from its own */
DEVICE i32 half_of(GLOBAL const f64 *p, f64 within, i32 radius)
{
  const f64 least = 0.5 * (p[2] + p[4]) - hypot(0.5 * (p[2] - p[4]), p[3]);
  const f64 far = fmax(sqrt(within / fmax(least, 1e-300)), LEAST) + 1;
  return far < (f64)radius ? (i32)far : radius;
}

/* the j-th of the pixels that may tell a place: whether it does; its place, its value and the exponent's double there */
DEVICE i32 tells(GLOBAL const f64 *p, GLOBAL const T *stamp, i32 reach, i32 radius, i32 j, f64 within, f64 *at)
{
  const i32 few = 2 * reach + 1, dy = j / few - reach, dx = j % few - reach;
  at[0] = floor(p[0] + 0.5) + dy;
  at[1] = floor(p[1] + 0.5) + dx;
  at[2] = (f64)stamp[(dy + radius) * (2 * radius + 1) + dx + radius];
  at[3] = exponent(p, at[0], at[1]);
  const f64 v = at[0] - p[0], u = at[1] - p[1];
  return FINITE(at[2]) && (at[3] <= within || MUL_RN(v, v) + MUL_RN(u, u) <= LEAST * LEAST);
}

/* whether a Gaussian is nothing on a disc */
DEVICE i32 nothing(GLOBAL const f64 *o, GLOBAL const f64 *p, f64 wide)
{
  const f64 least = 0.5 * (o[2] + o[4]) - hypot(0.5 * (o[2] - o[4]), o[3]), away = hypot(p[0] - o[0], p[1] - o[1]) - wide;
  return away > 0 && least * away * away > 2 * NOTHING;
}

/* the sum of a place's Gaussian times another's over the pixels that tell it */
DEVICE f64 overlap(GLOBAL const f64 *p, GLOBAL const T *stamp, GLOBAL const f64 *o, i32 radius, f64 within)
{
  const i32 reach = half_of(p, within, radius), few = (2 * reach + 1) * (2 * reach + 1);
  f64 sum = 0, at[4];
  for (i32 j = 0; j < few; j++) {
    if (!tells(p, stamp, reach, radius, j, within, at)) continue;
    const f64 q = exponent(o, at[0], at[1]);
    if (q < 2 * NOTHING) sum += exp(-0.5 * (at[3] + q));
  }
  return sum;
}
