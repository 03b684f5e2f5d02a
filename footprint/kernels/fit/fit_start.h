/* Where fits begin. PLACED and columns of tables are fit.knl's. */
/* where a fit begins: the peak, with the beam's shape or the light's own; its full width */
PLACED f64 begin(GLOBAL const f64 *m, GLOBAL const i64 *box, GLOBAL const f64 *beam, i32 beamed, i32 radius, f64 *p)
{
  p[0] = m[PEAK];
  p[1] = (f64)box[Y_PEAK];
  p[2] = (f64)box[X_PEAK];
  if (beamed) {
    for (i32 i = 0; i < 3; i++) p[3 + i] = beam[i];
  } else {
    f64 yy = fmax(1.5 * m[YY], 0.3), xx = fmax(1.5 * m[XX], 0.3);
    f64 yx = 1.5 * m[XY], det = MUL_RN(yy, xx) - MUL_RN(yx, yx);
    if (!(det > 0.05 * yy * xx)) {
      yx = 0;
      det = yy * xx;
    }
    if (!(det < AS_F64(0x7ff0000000000000))) {
      /* of values whose squares overflow moments are no numbers */
      yy = xx = det = 1;
      yx = 0;
    }
    p[3] = xx / det;
    p[4] = -yx / det;
    p[5] = yy / det;
  }
  const f64 width = FULL_WIDTH / sqrt(sqrt(MUL_RN(p[3], p[5]) - MUL_RN(p[4], p[4])));
  return fmin(fmax(width, 2.0), (f64)radius);
}

/* begin where a fit ended, if there is one */
PLACED void recall(GLOBAL const f64 *fit, f64 *p)
{
  const f64 a = fit[MAJOR], b = fit[MINOR], turn = fit[THETA] * (PI / 180);
  if (!(fit[HEIGHT] > 0 && b > 0)) return;
  const f64 c = cos(turn), s = sin(turn);
  for (i32 i = 0; i < 3; i++) p[i] = fit[i];
  p[3] = s * s / (a * a) + c * c / (b * b);
  p[4] = s * c * (1 / (a * a) - 1 / (b * b));
  p[5] = c * c / (a * a) + s * s / (b * b);
}
