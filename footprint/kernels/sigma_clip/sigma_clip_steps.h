/* The steps between two passes of sigma_clip.knl: state, sums in a fixed order, ranks in histograms, bounds. Work-item 0 decides, the
   group counts. */
#define BINS 8192
#define BIN_BITS 13
#define LEVELS 6
#define LOADS 4 /* of 16 bytes, under way at once */
#define BATCH (LOADS * WIDTH)
#define NEAR 128 /* bins of the coarsest histogram of keys in the second's window */
#define BINS_EACH (BINS / NT)

/* numbers */
#define CENTER 0
#define MEAN 1
#define MEDIAN 2
#define STD 3
#define LOW 4
#define HIGH 5
#define KEEP_LOW 6 /* the interval that is kept, as values of T, both ends included */
#define KEEP_HIGH 7
#define SCALE 8 /* pixel v lies at v * SCALE + OFFSET bins of the plain histogram; the next ones: see sigma_clip_lists.h */
#define OFFSET 9
#define NUMBERS 29
#define SUMS NUMBERS /* on chip only: four sums and their center */
#define ON_CHIP (SUMS + 5)
/* marks */
#define PASS 0
#define LEVEL 1
#define COUNT 2
#define BELOW 3 /* finite pixels under the interval */
#define FOUND 4 /* of the two middle keys */
#define KEYS 5
#define CLIPS 7
#define RANK 8 /* what is looked up between two passes */
#define WINDOW 9
#define LEVEL_OF(l) (10 + 5 * (l))
#define VALID 0
#define BASE 1
#define SHIFT 2
#define UNDER 3
#define INSIDE 4
#define NOW_BASE 40 /* of the level that the pass counts */
#define NOW_SHIFT 41
#define LISTED 42 /* whether pixels are listed: where not, bins are of keys, and every clip takes passes of its own */
#define TRIED 43 /* the histogram has been tried to tell the scale */
#define SIZE 57 /* the others: see sigma_clip_lists.h */
#define ANSWER 5
/* Barriers under a condition make PoCL copy all that follows, and pixels are not listed there, as its compiler would not come to an end. */
#if LISTS
#define WHEN(condition) if (condition)
#else
#define WHEN(condition)
#endif
/* kinds of pass */
#define FIRST 0
#define SUM 1
#define REFINE 2
#define DONE 3
#define AGAIN 4 /* FIRST's sums about their mean, where that is FAR deviations from the center: squares about it lose digits */
#define LIST 5
#define STEP 6 /* over what was listed */
#define FAR 300.0

#if WIDE
#define BITS(x) ((KEY)AS_I64(x))
#define VALUE(k) AS_F64(k)
#define LARGEST 1.7976931348623157e308
#define INF AS_F64(0x7ff0000000000000)
#define VECTOR f64x2
#define WIDTH 2
#else
#define BITS(x) AS_U32(x)
#define VALUE(k) AS_F32(k)
#define LARGEST 3.402823466e38f
#define INF AS_F32(0x7f800000)
#define VECTOR f32x4
#define WIDTH 4
#endif
#define FINITE(x) ((x) >= -LARGEST && (x) <= LARGEST)
#define TOP ((KEY)1 << (KEY_BITS - 1))

DEVICE f64 larger(f64 a, f64 b) { return a > b ? a : b; }
DEVICE f64 smaller(f64 a, f64 b) { return a < b ? a : b; }
/* bits that ascend with the value, and back */
DEVICE KEY key_of(T x) { const KEY b = BITS(x); return b & TOP ? ~b : b | TOP; }
DEVICE T value_of(KEY k) { return VALUE(k & TOP ? k & ~TOP : ~k); }

/* Add what each work-item holds: the sums, of which SUM_OF(fold, 0 .. 3) are the four. Pairs are always the same. */
#define SUM_OF(fold, a) fold[(a) * NT]
#ifdef SHUFFLE_XOR /* 3 barriers in place of 12 */
#define ADD_UP(NUMBER) \
  UNROLL for (i32 far = 16; far > 0; far /= 2) UNROLL for (i32 a = 0; a < 4; a++) all[a] += SHUFFLE_XOR(all[a], far); \
  if (t % 32 == 0) UNROLL for (i32 a = 0; a < 4; a++) fold[a * NT + t / 32] = all[a]; \
  BARRIER(); \
  if (t < 32) UNROLL for (i32 a = 0; a < 4; a++) { \
    NUMBER v = t < NT / 32 ? fold[a * NT + t] : (NUMBER)0; \
    UNROLL for (i32 far = 16; far > 0; far /= 2) v += SHUFFLE_XOR(v, far); \
    if (t == 0) SUM_OF(fold, a) = v; \
  } \
  BARRIER();
#else
#define ADD_UP(NUMBER) \
  for (i32 a = 0; a < 4; a++) fold[a * NT + t] = all[a]; \
  BARRIER(); \
  for (i32 far = NT / 2; far > 0; far /= 2) { \
    if (t < far) for (i32 a = 0; a < 4; a++) fold[a * NT + t] += fold[a * NT + t + far]; \
    BARRIER(); \
  }
#endif
DEVICE void group_sum(f64 sum, f64 squares, i64 n, i64 below, LOCAL f64 *fold)
{
  const i32 t = LID(0);
  f64 all[4] = {sum, squares, (f64)n, (f64)below}; /* whole numbers under 2^53: exact */
  BARRIER();
  ADD_UP(f64)
}
DEVICE void group_whole(i64 sum, i64 squares, i64 n, i64 below, LOCAL i64 *fold)
{
  const i32 t = LID(0);
  i64 all[4] = {sum, squares, n, below};
  BARRIER();
  ADD_UP(i64)
}

/* the sum of ``mine`` over work-items 0 to this one */
DEVICE i64 running_sum(i64 mine, LOCAL i64 *scan)
{
  const i32 t = LID(0);
#ifdef SHUFFLE_UP
  const i32 lane = t % 32;
  UNROLL for (i32 step = 1; step < 32; step *= 2) {
    const i64 left = SHUFFLE_UP(mine, step);
    mine += lane >= step ? left : 0;
  }
  if (lane == 31) scan[t / 32] = mine;
  BARRIER();
  i64 before = lane < NT / 32 ? scan[lane] : 0;
  UNROLL for (i32 step = 1; step < 32; step *= 2) {
    const i64 left = SHUFFLE_UP(before, step);
    before += lane >= step ? left : 0;
  }
  const i64 others = SHUFFLE_FROM(before, t / 32 ? t / 32 - 1 : 0);
  return t < 32 ? mine : mine + others;
#else
  scan[t] = mine;
  BARRIER();
  for (i32 step = 1; step < NT; step *= 2) {
    const i64 left = t >= step ? scan[t - step] : 0;
    BARRIER();
    scan[t] += left;
    BARRIER();
  }
  return scan[t];
#endif
}

/* the bins of this work-item, as other groups have just left them */
DEVICE void own_bins(volatile GLOBAL u32 *bins, u32 *own)
{
  const i32 first = LID(0) * BINS_EACH;
#ifdef FRESH4 /* one number at a time is a sector fetched eight times */
  UNROLL for (i32 i = 0; i < BINS_EACH; i += 4) FRESH4(own + i, bins + first + i);
#else
  UNROLL for (i32 i = 0; i < BINS_EACH; i++) own[i] = bins[first + i];
#endif
}

/* Where the pixel of this rank among a level's lies: answer = its bin, the first bin of the window around it (``wide`` bins), the
   pixels before that window and before its end, the bin of the next rank. */
DEVICE void find_bin(volatile GLOBAL u32 *bins, i64 rank, i32 wide, LOCAL i64 *scan, LOCAL i64 *answer)
{
  const i32 t = LID(0), first = t * BINS_EACH;
  u32 own[BINS_EACH];
  i64 mine = 0;
  if (t == 0) answer[1] = 0;
  own_bins(bins, own);
  UNROLL for (i32 i = 0; i < BINS_EACH; i++) mine += own[i];
  const i64 stop = running_sum(mine, scan), start = stop - mine;
  i64 end = start;
  UNROLL for (i32 i = 0; i < BINS_EACH; i++) {
    const i64 before = end;
    end += own[i];
    if (rank >= before && rank < end) {
      answer[0] = first + i;
      answer[1] = first + i > wide / 2 ? first + i - wide / 2 : 0;
    }
    if (rank + 1 >= before && rank + 1 < end) answer[4] = first + i;
  }
  BARRIER();
  const i64 low = answer[1], high = low + wide;
  end = start;
  UNROLL for (i32 i = 0; i < BINS_EACH; i++) {
    if (first + i == low) answer[2] = end;
    end += own[i];
    if (first + i + 1 == high || (t == NT - 1 && i == BINS_EACH - 1 && high > BINS)) answer[3] = stop < end ? stop : end;
  }
  BARRIER();
}

/* the sums of all groups, in order, by the last one */
DEVICE void all_groups(volatile GLOBAL f64 *partial, i32 groups, LOCAL f64 *fold)
{
  f64 sum = 0, squares = 0;
  i64 n = 0, below = 0;
  for (i32 g = LID(0); g < groups; g += NT) {
    sum += partial[4 * g];
    squares += partial[4 * g + 1];
    n += (i64)partial[4 * g + 2];
    below += (i64)partial[4 * g + 3];
  }
  group_sum(sum, squares, n, below, fold);
}

/* the same of a step, whose sums are whole numbers */
DEVICE void all_steps(volatile GLOBAL const i64 *partial, i32 groups, LOCAL i64 *fold)
{
  i64 sum = 0, squares = 0, n = 0, below = 0;
  for (i32 g = LID(0); g < groups; g += NT) {
    sum += partial[4 * g];
    squares += partial[4 * g + 1];
    n += partial[4 * g + 2];
    below += partial[4 * g + 3];
  }
  group_whole(sum, squares, n, below, fold);
}

/* the smallest value a clip at low keeps, the largest one at high keeps */
DEVICE T least_kept(f64 low)
{
  const T a = low < -LARGEST ? -LARGEST : low > LARGEST ? LARGEST : (T)low;
  return (STRICT ? (f64)a <= low : (f64)a < low) ? value_of(key_of(a == 0 ? (T)0 : a) + 1) : a; /* from +0 up */
}
DEVICE T most_kept(f64 high)
{
  const T b = high < -LARGEST ? -LARGEST : high > LARGEST ? LARGEST : (T)high;
  return (STRICT ? (f64)b >= high : (f64)b > high) ? value_of(key_of(b == 0 ? -(T)0 : b) - 1) : b; /* from -0 down */
}

/* work-item 0: bounds from the median and std; the next sums are of what they keep */
DEVICE void clip(LOCAL f64 *d, LOCAL i64 *m, f64 sigma, i32 maxiters)
{
  if (maxiters >= 0 && m[CLIPS] >= maxiters) {
    m[PASS] = DONE;
    return;
  }
  const f64 low = d[MEDIAN] - sigma * d[STD], high = d[MEDIAN] + sigma * d[STD];
  d[LOW] = low;
  d[HIGH] = high;
  m[CLIPS]++;
  d[KEEP_LOW] = larger(d[KEEP_LOW], (f64)least_kept(low));
  d[KEEP_HIGH] = smaller(d[KEEP_HIGH], (f64)most_kept(high));
  d[CENTER] = d[MEDIAN];
  m[PASS] = SUM;
}

/* work-item 0: take the sums of a pass in; done where the clip changed nothing, or would leave nothing */
DEVICE void accept(LOCAL f64 *d, LOCAL i64 *m)
{
  const f64 n = d[SUMS + 2], off = d[SUMS] / n;
  if (n == 0 || (m[PASS] == SUM && n == (f64)m[COUNT])) {
    m[PASS] = DONE;
    return;
  }
  m[COUNT] = (i64)n;
  m[BELOW] = (i64)d[SUMS + 3];
  m[FOUND] = 0;
  d[MEAN] = d[SUMS + 4] + off;
  const f64 variance = d[SUMS + 1] / n - off * off;
  /* no number where squares overflow, as on the processor */
  d[STD] = variance < AS_F64(0x7ff0000000000000) ? sqrt(larger(variance, 0.0)) : variance - variance;
  const i32 far = m[PASS] == FIRST && larger(off, -off) > FAR * d[STD];
  if (far) d[CENTER] = d[MEAN];
  m[PASS] = far ? AGAIN : SUM;
}

/* work-item 0: which level tells most about the next middle pixel; RANK is -1 where nothing is to be looked up */
DEVICE void choose(LOCAL i64 *m)
{
  m[RANK] = -1;
  if (m[PASS] == DONE || m[PASS] == REFINE || m[PASS] == AGAIN || m[FOUND] == 2) return;
  const i64 n = m[COUNT], rank = m[BELOW] + (m[FOUND] ? n / 2 : (n - 1) / 2);
  i32 l = LEVELS - 1;
  while (l > 0 && !(m[LEVEL_OF(l)] && rank >= m[LEVEL_OF(l) + UNDER] && rank < m[LEVEL_OF(l) + UNDER] + m[LEVEL_OF(l) + INSIDE])) l--;
  const i64 shift = m[LEVEL_OF(l) + SHIFT];
  m[LEVEL] = l;
  m[RANK] = rank - m[LEVEL_OF(l) + UNDER];
  m[WINDOW] = l == 0 ? NEAR : shift < BIN_BITS ? 1 << (BIN_BITS - shift) : 1;
}

/* work-item 0: the middle pixel itself where bins are single values, else a finer level to be counted next */
DEVICE void descend(LOCAL i64 *m, LOCAL const i64 *answer)
{
  const i64 l = m[LEVEL], shift = m[LEVEL_OF(l) + SHIFT];
  const KEY base = (KEY)m[LEVEL_OF(l) + BASE];
  if (shift == 0) {
    const i32 both = m[FOUND] == 0 && (m[COUNT] % 2 || (l > 0 && m[RANK] + 1 < m[LEVEL_OF(l) + INSIDE]));
    m[KEYS + m[FOUND]] = (i64)(base + (KEY)answer[0]);
    if (both) m[KEYS + 1] = (i64)(base + (KEY)answer[m[COUNT] % 2 ? 0 : 4]);
    m[FOUND] = both ? 2 : m[FOUND] + 1;
    return;
  }
  LOCAL i64 *next = m + LEVEL_OF(l + 1);
  for (i64 deeper = l + 1; deeper < LEVELS; deeper++) m[LEVEL_OF(deeper)] = 0;
  next[BASE] = (i64)(base + ((KEY)answer[1] << shift));
  next[SHIFT] = l == 0 ? shift - (BIN_BITS - 7) : shift > BIN_BITS ? shift - BIN_BITS : 0;
  next[UNDER] = m[LEVEL_OF(l) + UNDER] + answer[2];
  next[INSIDE] = answer[3] - answer[2];
  m[LEVEL] = l + 1;
  m[PASS] = REFINE;
}

/* work-item 0: the median, once its two pixels are known */
DEVICE void take_median(LOCAL f64 *d, LOCAL const i64 *m)
{
  const T a = value_of((KEY)m[KEYS]), b = value_of((KEY)m[KEYS + 1]);
  d[MEDIAN] = a == b ? (f64)a : 0.5 * ((f64)a + (f64)b);
}

/* look the middle pixels up, as far as the histograms tell */
DEVICE void look_up(volatile GLOBAL u32 *bins, LOCAL f64 *fold, LOCAL i64 *m)
{
  LOCAL i64 *answer = m + SIZE;
  for (i32 middle_pixel = 0; middle_pixel < 2; middle_pixel++) {
    if (LID(0) == 0) choose(m);
    BARRIER();
    WHEN(m[RANK] >= 0) find_bin(bins + m[LEVEL] * BINS, m[RANK], (i32)m[WINDOW], (LOCAL i64 *)fold, answer);
    if (LID(0) == 0 && m[RANK] >= 0) descend(m, answer);
    BARRIER();
  }
}
