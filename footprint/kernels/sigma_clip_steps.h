/* The steps between two passes of sigma_clip.knl: state, sums in a fixed order, ranks in histograms, bounds. Work-item 0 decides, the
   group counts. */
#define BINS 8192
#define BIN_BITS 13
#define LEVELS 6
#define LOADS 4 /* of 16 bytes, under way at once */
#define BATCH (LOADS * WIDTH)
#define NEAR 128 /* bins of the coarsest histogram in the second's window */
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
#define SURE_LOW 8 /* what the coming bounds keep wherever in its bin the median lies, and what they may keep */
#define SURE_HIGH 9
#define MAYBE_LOW 10
#define MAYBE_HIGH 11
#define NUMBERS 12
#define SUMS NUMBERS /* on chip only: the four sums of a pass, and their center */
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
#define TWO 40 /* strays of a pass for two */
#define SIZE 41
#define ANSWER 5
/* Barriers under a condition make PoCL copy all that follows; so they stay under it only where groups run together, which PoCL's do not. */
#ifdef TOGETHER
#define WHEN(condition) if (condition)
#else
#define WHEN(condition)
#endif
/* kinds of pass */
#define FIRST 0
#define SUM 1
#define REFINE 2
#define DONE 3
#define BOTH 4 /* REFINE, and SUM for the bounds that follow: all but the STRAYS near them is certain before the median is */
#define STRAYS 256

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
#define TOP ((KEY)1 << (KEY_BITS - 1))

/* bits that ascend with the value, and back */
DEVICE KEY key_of(T x) { const KEY b = BITS(x); return b & TOP ? ~b : b | TOP; }
DEVICE T value_of(KEY k) { return VALUE(k & TOP ? k & ~TOP : ~k); }

DEVICE f64 root(f64 x) { return sqrt(x > 0 ? x : 0.0); }

/* the middle of nine pixels: a center near the bulk, so that squares about it lose nothing */
DEVICE f64 middle(LOCAL const T *some)
{
  f64 v[9];
  i32 n = 0;
  for (i32 i = 0; i < 9; i++) {
    const T x = some[i];
    if (!(x >= -LARGEST && x <= LARGEST)) continue;
    i32 j = n++;
    for (; j > 0 && v[j - 1] > (f64)x; j--) v[j] = v[j - 1];
    v[j] = (f64)x;
  }
  return n ? v[n / 2] : 0.0;
}

/* Add what each work-item holds: the sums, of which SUM_OF(fold, 0 .. 3) are the four. Pairs are always the same. */
#define SUM_OF(fold, a) fold[(a) * NT]
DEVICE void group_sum(f64 sum, f64 squares, i64 n, i64 below, LOCAL f64 *fold)
{
  const i32 t = LID(0);
  BARRIER();
  fold[t] = sum;
  fold[NT + t] = squares;
  fold[2 * NT + t] = (f64)n; /* whole numbers under 2^53: exact */
  fold[3 * NT + t] = (f64)below;
  BARRIER();
  for (i32 far = NT / 2; far > 0; far /= 2) {
    if (t < far) for (i32 a = 0; a < 4; a++) fold[a * NT + t] += fold[a * NT + t + far];
    BARRIER();
  }
}

/* Where the pixel of this rank among a level's lies: answer = its bin, the first bin of the window around it (``wide`` bins), the
   pixels before that window and before its end, the bin of the next rank. */
DEVICE void find_bin(volatile GLOBAL u32 *bins, i64 rank, i32 wide, LOCAL i64 *scan, LOCAL i64 *answer)
{
  const i32 t = LID(0), first = t * BINS_EACH;
  u32 own[BINS_EACH];
  i64 mine = 0;
  if (t == 0) answer[1] = 0;
  UNROLL for (i32 i = 0; i < BINS_EACH; i++) own[i] = bins[first + i];
  UNROLL for (i32 i = 0; i < BINS_EACH; i++) mine += own[i];
  scan[t] = mine;
  BARRIER();
  for (i32 step = 1; step < NT; step *= 2) {
    const i64 left = t >= step ? scan[t - step] : 0;
    BARRIER();
    scan[t] += left;
    BARRIER();
  }
  const i64 start = t ? scan[t - 1] : 0, stop = scan[t];
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
DEVICE f64 larger(f64 a, f64 b) { return a > b ? a : b; }
DEVICE f64 smaller(f64 a, f64 b) { return a < b ? a : b; }

/* work-item 0: bounds from the median and std; the next pass counts what they keep */
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

/* work-item 0: where the window to be counted next holds the median's very value, sum for the bounds it will give in the same pass */
DEVICE void foresee(LOCAL f64 *d, LOCAL i64 *m, f64 sigma, i32 maxiters)
{
  LOCAL const i64 *level = m + LEVEL_OF(m[LEVEL]);
  const i64 n = m[COUNT], first = m[BELOW] + (n - 1) / 2, second = m[BELOW] + n / 2;
  if (m[PASS] != REFINE || m[FOUND] || level[SHIFT] || (maxiters >= 0 && m[CLIPS] >= maxiters)) return;
  if (first < level[UNDER] || second >= level[UNDER] + level[INSIDE]) return;
  const f64 reach = sigma * d[STD], least = (f64)value_of((KEY)level[BASE]), most = (f64)value_of((KEY)level[BASE] + (BINS - 1));
  if (!(least >= -LARGEST && most <= LARGEST)) return;
  d[SURE_LOW] = larger(d[KEEP_LOW], (f64)least_kept(most - reach));
  d[MAYBE_LOW] = larger(d[KEEP_LOW], (f64)least_kept(least - reach));
  d[SURE_HIGH] = smaller(d[KEEP_HIGH], (f64)most_kept(least + reach));
  d[MAYBE_HIGH] = smaller(d[KEEP_HIGH], (f64)most_kept(most + reach));
  if (d[SURE_LOW] > d[SURE_HIGH]) return;
  m[PASS] = BOTH;
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
  d[STD] = root(d[SUMS + 1] / n - off * off);
  if (m[PASS] == FIRST) m[PASS] = SUM;
}

/* work-item 0: which level tells most about the next middle pixel; RANK is -1 where nothing is to be looked up */
DEVICE void choose(LOCAL i64 *m)
{
  m[RANK] = -1;
  if (m[PASS] == DONE || m[PASS] == REFINE || m[FOUND] == 2) return;
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

/* work-item 0: clip at the median of a pass for two; TWO is then how many strays there are, else -1 */
DEVICE void decide(LOCAL f64 *d, LOCAL i64 *m, f64 sigma, i32 maxiters)
{
  if (m[TWO] > STRAYS || m[PASS] != SUM || m[FOUND] < 2) {
    m[TWO] = -1;
    return;
  }
  take_median(d, m);
  clip(d, m, sigma, maxiters);
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

/* after a pass for two: add the strays that the bounds keep after all, sorted, so that their order of arrival does not tell */
DEVICE void add_strays(volatile GLOBAL T *strays, i32 n, LOCAL f64 *fold, LOCAL f64 *d)
{
  LOCAL T *sorted = (LOCAL T *)fold;
  f64 sum = 0, squares = 0;
  i64 inside = 0, under = 0;
  for (i32 i = LID(0); i < n; i += NT) {
    const T v = strays[i];
    const KEY key = key_of(v);
    i32 place = 0;
    for (i32 j = 0; j < n; j++) {
      const KEY other = key_of(strays[j]);
      place += other < key || (other == key && j < i);
    }
    sorted[place] = v;
  }
  BARRIER();
  for (i32 i = LID(0); i < n; i += NT) {
    const f64 v = (f64)sorted[i], off = v - d[SUMS + 4];
    const i32 in = v >= d[KEEP_LOW] && v <= d[KEEP_HIGH];
    inside += in;
    under += v < d[KEEP_LOW];
    sum += in ? off : 0.0;
    squares += in ? off * off : 0.0;
  }
  group_sum(sum, squares, inside, under, fold);
  if (LID(0) < 4) d[SUMS + LID(0)] += SUM_OF(fold, LID(0));
  BARRIER();
}
