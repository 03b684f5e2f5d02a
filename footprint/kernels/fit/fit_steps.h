/* Steps of a fit, and what is told of it when it has ended: all by one work-item. PLACED, M, SUMS and others are fit.knl's. */
/* Cholesky of a lower triangle kept row by row, in place; 0 where it is not positive definite */
PLACED i32 factor(f64 *a)
{
  UNROLL for (i32 j = 0; j < M; j++) {
    f64 s = a[j * (j + 1) / 2 + j];
    UNROLL for (i32 k = 0; k < j; k++) s -= a[j * (j + 1) / 2 + k] * a[j * (j + 1) / 2 + k];
    if (!(s > 1e-300)) return 0;
    const f64 root = sqrt(s);
    a[j * (j + 1) / 2 + j] = root;
    UNROLL for (i32 i = j + 1; i < M; i++) {
      s = a[i * (i + 1) / 2 + j];
      UNROLL for (i32 k = 0; k < j; k++) s -= a[i * (i + 1) / 2 + k] * a[j * (j + 1) / 2 + k];
      a[i * (i + 1) / 2 + j] = s / root;
    }
  }
  return 1;
}

PLACED void solve(const f64 *a, f64 *b)
{
  UNROLL for (i32 i = 0; i < M; i++) {
    f64 s = b[i];
    UNROLL for (i32 k = 0; k < i; k++) s -= a[i * (i + 1) / 2 + k] * b[k];
    b[i] = s / a[i * (i + 1) / 2 + i];
  }
  UNROLL for (i32 i = M - 1; i >= 0; i--) {
    f64 s = b[i];
    UNROLL for (i32 k = i + 1; k < M; k++) s -= a[k * (k + 1) / 2 + i] * b[k];
    b[i] = s / a[i * (i + 1) / 2 + i];
  }
}

/* a damped step, into to[0 .. 6); to[6] says whether it is a Gaussian's, near where it was seen; to[7] what it promises */
PLACED void propose(LOCAL const f64 *sums, LOCAL const f64 *p, f64 damping, f64 y, f64 x, f64 far, LOCAL f64 *to)
{
  f64 a[HALF], b[M], q[6];
  UNROLL for (i32 i = 0; i < HALF; i++) a[i] = sums[i];
  UNROLL for (i32 i = 0; i < M; i++) {
    a[i * (i + 1) / 2 + i] += damping * sums[i * (i + 1) / 2 + i] + 1e-300;
    b[i] = sums[HALF + i];
  }
  to[6] = 0;
  if (!factor(a)) return;
  solve(a, b);
  UNROLL for (i32 i = 0; i < 6; i++) q[i] = p[i];
  to[7] = 0;
  UNROLL for (i32 i = 0; i < M; i++) {
    q[i] += b[i];
    to[7] += b[i] * sums[HALF + i];
  }
  UNROLL for (i32 i = 0; i < 6; i++) to[i] = q[i];
  const i32 wide = q[3] > 0 && q[5] > 0 && q[3] * q[5] - q[4] * q[4] > 1e-9 && q[3] + q[5] < 8;
  to[6] = q[0] > 0 && wide && (q[1] - y) * (q[1] - y) + (q[2] - x) * (q[2] - x) < far * far;
}

/* What was tried is taken or not, and what is to be tried next: of work-item 0. Of ``state``: */
#define LEFT 0    /* residuals squared of what was taken, -1 for nothing */
#define DAMPING 1
#define GOING 2   /* whether to go on */
#define TAKEN 3   /* which of the two sums is of what was taken */
#define FIRST_Y 4 /* where it began */
#define FIRST_X 5
#define FAR 6     /* how far it may go */
#define WIDE 7    /* radius of its disc */
PLACED void judge(i32 turn, LOCAL f64 *state, LOCAL const f64 *both, LOCAL f64 *at, LOCAL f64 *next)
{
  const i32 other = state[TAKEN] > 0 ? 0 : 1;
  const f64 left = both[other * SUMS + HALF + M];
  const i32 few = !(both[other * SUMS + HALF + M + 1] > M);
  i32 ends = turn == STEPS || few;
  if (turn == 0 || (next[6] > 0 && left <= state[LEFT])) {
    if (turn > 0) {
      ends = ends || state[LEFT] - left <= ENOUGH * state[LEFT];
      state[DAMPING] = fmax(state[DAMPING] * 0.1, 1e-9);
    }
    state[LEFT] = few ? -1 : left;
    state[TAKEN] = other;
    for (i32 i = 0; i < 6; i++) at[i] = next[i];
  } else {
    state[DAMPING] *= 10;
    ends = ends || state[DAMPING] > 1e8;
  }
  if (!ends) {
    propose(both + (state[TAKEN] > 0 ? SUMS : 0), at, state[DAMPING], state[FIRST_Y], state[FIRST_X], state[FAR], next);
    /* what the normal equations promise is had where it is little */
    ends = next[6] > 0 && next[7] <= ENOUGH * state[LEFT];
    if (ends)
      for (i32 i = 0; i < 6; i++) at[i] = next[i];
  }
  state[GOING] = !ends;
}

/* the most that a model changed by, about */
PLACED f64 changed(GLOBAL const f64 *old, GLOBAL const f64 *now)
{
  const f64 place = hypot(now[1] - old[1], now[2] - old[2]) * sqrt(now[3] + now[5]);
  const f64 shape = fabs(now[3] - old[3]) + 2 * fabs(now[4] - old[4]) + fabs(now[5] - old[5]);
  return fabs(now[0] - old[0]) + now[0] * (place + shape / fmin(now[3], now[5]));
}

/* peak, place, sum, standard deviations along the axes and their angle */
PLACED void tell(const f64 *p, f64 *out)
{
  const f64 det = p[3] * p[5] - p[4] * p[4], yy = p[5] / det, yx = -p[4] / det, xx = p[3] / det;
  const f64 mean = (xx + yy) / 2, apart = (xx - yy) / 2, spread = hypot(apart, yx);
  out[0] = p[0];
  out[1] = p[1];
  out[2] = p[2];
  out[3] = p[0] * 2 * PI / sqrt(det);
  out[4] = sqrt(mean + spread);
  out[5] = sqrt(fmax(mean - spread, 0.0));
  out[6] = atan2(yx, apart) * (90 / PI);
}

/* what the noise makes of each quantity: its slopes times the covariance (J'J)^-1 Q (J'J)^-1 of the parameters */
PLACED void errors(LOCAL const f64 *normal, LOCAL const f64 *correlated, LOCAL const f64 *at, const f64 *told, f64 noise,
                   GLOBAL f64 *out)
{
  f64 a[HALF], cov[M][M], b[M], p[6], slope[7][M];
  for (i32 i = 0; i < 6; i++) p[i] = at[i];
  for (i32 i = 0; i < HALF; i++) a[i] = normal[i];
  if (!factor(a)) {
    for (i32 c = 0; c < 7; c++) out[ERRORS + c] = NAN_VALUE;
    return;
  }
  for (i32 i = 0; i < M; i++)
    for (i32 j = 0; j <= i; j++) cov[i][j] = cov[j][i] = correlated[i * (i + 1) / 2 + j];
  for (i32 turn = 0; turn < 2; turn++) {
    for (i32 j = 0; j < M; j++) {
      for (i32 i = 0; i < M; i++) b[i] = cov[i][j];
      solve(a, b);
      for (i32 i = 0; i < M; i++) cov[i][j] = b[i];
    }
    for (i32 i = 0; i < M; i++)
      for (i32 j = 0; j < i; j++) {
        const f64 other = cov[i][j];
        cov[i][j] = cov[j][i];
        cov[j][i] = other;
      }
  }
  for (i32 c = 0; c < 7; c++)
    for (i32 i = 0; i < M; i++) slope[c][i] = 0;
  slope[HEIGHT][0] = slope[1][1] = slope[2][2] = 1;
  slope[3][0] = told[3] / p[0];
#if M == 6
  const f64 det = p[3] * p[5] - p[4] * p[4], yy = p[5] / det, yx = -p[4] / det, xx = p[3] / det;
  const f64 apart = (xx - yy) / 2, spread = fmax(sqrt(apart * apart + yx * yx), 1e-300);
  /* what becomes of the covariance: of yy, yx and xx */
  const f64 change[3][3] = {{yy * yy, yy * yx, yx * yx}, {2 * yy * yx, yy * xx + yx * yx, 2 * yx * xx}, {yx * yx, yx * xx, xx * xx}};
  const f64 grows[3] = {yy, 2 * yx, xx};
  for (i32 i = 0; i < 3; i++) {
    const f64 mean = -(change[i][2] + change[i][0]) / 2, other = -(change[i][2] - change[i][0]) / 2;
    const f64 widens = (apart * other - yx * change[i][1]) / spread;
    slope[3][3 + i] = -0.5 * told[3] * grows[i];
    slope[4][3 + i] = (mean + widens) / (2 * told[4]);
    slope[5][3 + i] = (mean - widens) / (2 * told[5]);
    slope[THETA][3 + i] = (-apart * change[i][1] - yx * other) / (spread * spread) * (90 / PI);
  }
#endif
  for (i32 c = 0; c < 7; c++) {
    f64 s = 0;
    for (i32 i = 0; i < M; i++)
      for (i32 j = 0; j < M; j++) s += slope[c][i] * cov[i][j] * slope[c][j];
    out[ERRORS + c] = noise * sqrt(fmax(s, 0.0));
  }
}
