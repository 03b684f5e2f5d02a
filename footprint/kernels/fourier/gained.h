/* A sample of a spectrum, multiplied by its gain, the angle's weight and the phase that puts the origin on pixel (y0, x0). */
typedef struct { u64 turn; f32 weight, sign; } Phase;

/* `row` is (cosine, minus sine, detector's offset, weight) of the angle; `length` of the padded row. */
DEVICE Phase phase_of(GLOBAL const f64 *RESTRICT row, i32 length, i32 x0, i32 y0)
{
  const f64 c = row[0], s = row[1], turns = (row[2] + x0 * c + y0 * s) / (f64)length;
  Phase found;
  found.weight = (f32)row[3];
  found.sign = c < 0 ? -1.0f : 1.0f;
  /* a turn is 2^64, so that whole turns fall away by themselves; the factor is a little less, as what is left may be rounded up to 1 */
  found.turn = (u64)(i64)((turns - floor(turns) - 0.5) * 18446744073709549568.0) + ((u64)1 << 63);
  return found;
}

DEVICE f32x2 gained(f32x2 z, RESPONSE h, i32 k, Phase phase)
{
  const f32 half_turns = (f32)(i32)(u32)((phase.turn * (u64)k) >> 32) * 4.656612873077393e-10f;
  const f32 re = phase.weight * COSPI(half_turns), im = phase.weight * SINPI(half_turns);
  f32 x = z.x * re - z.y * im, y = z.x * im + z.y * re;
#if COMPLEX
  const f32 t = x * h.x - y * h.y;
  y = x * h.y + y * h.x;
  x = t;
#else
  x *= h;
  y *= h;
#endif
  return MAKE2(f32x2, x, phase.sign * y);
}
