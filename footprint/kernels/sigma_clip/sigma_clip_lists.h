/* A clip in two passes over the image. The first one sums all pixels and counts them in bins of equal width about the bulk. A forecast of
   the clips to come, made on those bins, says where their bounds and medians will lie; the second pass sums the core, what all of them
   surely keep, lists the pixels between the core and the next bounds (outer ones) and those about the medians (middle ones), and counts
   the latter in fine bins. Every clip is then a step over the list: the next median lies in a fine bin, so its bounds are known but for a
   few pixels; the step sums what they surely keep and gathers the pixels in that bin and those that only the very median can decide on.
   Sums over the list are whole numbers, as the order in which pixels arrived must not tell. Where clips go beyond what was foreseen a new
   list is made; where no list can be (too many pixels, a middle of equal values) the passes of sigma_clip_steps.h do it.
   Work-item 0 decides, the group counts. */
#define GATHERED 4096
#define SAMPLED 4096
#define LOOKED 512 /* of these, for a value that many share */
#define MANY 0.02 /* of the pixels, in a bin where a middle one has some 0.002 */
#define DEPTH 170.0 /* bins a deviation, some */
#define MARGIN 3.0 /* bins: the core begins so far inside the foreseen bounds */
#define ROUNDING 0.01 /* bins: how far float32 may put a pixel off */
#define FORESEEN 48 /* clips */
#define ROOM_USED 0.7 /* of a list, by a forecast: groups may find more than others */

/* numbers, more of them */
#define CORE_LOW 10
#define CORE_HIGH 11
#define LIST_LOW 12 /* outer pixels lie between these and the core */
#define LIST_HIGH 13
#define SURE_LOW 14 /* what the coming bounds surely keep, and what they may keep */
#define SURE_HIGH 15
#define MAYBE_LOW 16
#define MAYBE_HIGH 17
#define FINE_BASE 18
#define FINE_SCALE 19
#define CORE_SUMS 20 /* as SUMS: to 23 */
#define UNIT 24 /* a power of two near the std; whole numbers are sums in it times FIXED */
#define FIXED 25
#define CORE_CENTER 26
#define PER_UNIT 27
#define FINE_WIDTH 28
/* marks, more of them */
#define UNDER_BINS 44 /* finite pixels below the first bin, and beyond the last one */
#define OVER_BINS 45
#define MIDDLE_FROM 46 /* plain bins whose pixels are middle ones */
#define MIDDLE_TO 47
#define UNDER_MIDDLE 48
#define IN_MIDDLE 49
#define BY_KEY 50 /* fine bins are single keys, from this one on: no middle pixel need be listed; 0 where bins are of equal width */
#define ON_LIST 51
#define BIN_A 52 /* fine bins of the two pixels in the middle */
#define BIN_B 53
#define RANK_A 54 /* of the first of them, in what is gathered */
#define IN_BIN 55 /* pixels in the plain bin of the first of them */
#define TIE 56 /* key of the value that many of them share, as whole numbers and empty borders do; 0 for none */

/* a fine bin; ascends with the value */
DEVICE i32 fine_bin(T v, i64 by_key, T base, T scale)
{
  if (by_key) {
    const KEY k = key_of(v), first = (KEY)by_key;
    return k < first ? 0 : k - first < BINS ? (i32)(k - first) : BINS - 1;
  }
  const T x = (v - base) * scale;
  return x > 0 ? x < BINS - 1 ? (i32)x : BINS - 1 : 0;
}

/* the middle of nine pixels: a center near the bulk, so that squares about it lose nothing */
DEVICE f64 middle_of_nine(volatile GLOBAL const T *some, LOCAL const u32 *places)
{
  f64 v[9];
  i32 n = 0;
  for (i32 i = 0; i < 9; i++) {
    if (places[i] >= SAMPLED) continue;
    const f64 x = (f64)some[places[i]];
    i32 j = n++;
    for (; j > 0 && v[j - 1] > x; j--) v[j] = v[j - 1];
    v[j] = x;
  }
  return n ? v[n / 2] : 0.0;
}

/* A center, and bins of equal width about it for a bulk of which half lies near that, as SAMPLED pixels tell. Nothing is listed where
   they do not: none is finite, or most are equal. */
DEVICE void tell_scale(volatile GLOBAL const T *some, LOCAL f64 *fold, LOCAL f64 *d, LOCAL i64 *m)
{
  LOCAL u32 *counts = (LOCAL u32 *)fold, *found = (LOCAL u32 *)(fold + 3 * BINS / 8);
  const i32 t = LID(0), each = BINS / 2 / NT, shift = KEY_BITS - BIN_BITS;
  for (i32 i = t; i < BINS / 2; i += NT) counts[i] = 0;
  if (t < 9) found[t] = SAMPLED;
  BARRIER();
  for (i32 i = t; i < SAMPLED; i += NT) if (FINITE(some[i])) ATOMIC_MIN_L(&found[i * 9 / SAMPLED], (u32)i);
  BARRIER();
  if (t == 0) d[CENTER] = middle_of_nine(some, found);
  BARRIER();
  const T center = (T)d[CENTER];
  for (i32 i = t; i < SAMPLED; i += NT)
    if (FINITE(some[i])) {
      const T off = some[i] < center ? center - some[i] : some[i] - center;
      ATOMIC_ADD_L(&counts[(i32)((key_of(off) - TOP) >> shift)], (u32)1);
    }
  BARRIER();
  i64 mine = 0;
  for (i32 i = 0; i < each; i++) mine += counts[t * each + i];
  const i64 stop = running_sum(mine, (LOCAL i64 *)(fold + BINS / 4));
  if (t == NT - 1) m[RANK] = stop / 2;
  if (t == 0) m[WINDOW] = 0;
  BARRIER();
  i64 end = stop - mine;
  for (i32 i = 0; i < each; i++) {
    const i64 before = end;
    end += counts[t * each + i];
    if (m[RANK] >= before && m[RANK] < end) m[WINDOW] = t * each + i;
  }
  BARRIER();
  if (t == 0) {
    const f64 near = (f64)value_of(TOP + ((KEY)m[WINDOW] << shift));
    const T scale = (T)(DEPTH / (1.4826 * near)), offset = (T)(BINS / 2 - d[CENTER] * (f64)scale);
    m[LISTED] = near > 0 && scale > 0 && scale < LARGEST / 8 && offset > -LARGEST / 8 && offset < LARGEST / 8;
    d[SCALE] = m[LISTED] ? (f64)scale : 0.0;
    d[OFFSET] = m[LISTED] ? (f64)offset : 0.0;
  }
  BARRIER();
}

/* work-item 0: by keys and clip by clip, or for one pass, if pixels from all over the image then tell the scale */
DEVICE void begin_by_keys(LOCAL f64 *d, LOCAL i64 *m)
{
  for (i32 l = 0; l < LEVELS; l++) m[LEVEL_OF(l)] = m[LEVEL_OF(l) + UNDER] = 0;
  m[LISTED] = m[LEVEL] = m[COUNT] = m[BELOW] = m[FOUND] = m[CLIPS] = 0;
  m[LEVEL_OF(0) + SHIFT] = KEY_BITS - BIN_BITS;
  m[PASS] = FIRST;
  d[LOW] = -INF;
  d[HIGH] = INF;
  d[KEEP_LOW] = -LARGEST;
  d[KEEP_HIGH] = LARGEST;
}

/* work-item 0: on by keys, from the clip that was made last; or anew, if pixels from all over the image may tell the scale yet */
DEVICE void leave_list(LOCAL f64 *d, LOCAL i64 *m)
{
  if (!m[TRIED]) {
    begin_by_keys(d, m);
    return;
  }
  for (i32 l = 0; l < LEVELS; l++) m[LEVEL_OF(l)] = m[LEVEL_OF(l) + UNDER] = 0;
  m[LISTED] = m[LEVEL] = m[FOUND] = 0;
  m[PASS] = REFINE;
}

/* running totals of the plain bins to the end of each work-item's: pixels, and sums of 2 bin + 1 - BINS and of its square; and the bins of
   the two pixels in the middle, -1 beyond them */
DEVICE void lay_out(volatile GLOBAL u32 *bins, LOCAL i64 *totals, LOCAL i64 *m)
{
  const i32 t = LID(0), first = t * BINS_EACH;
  u32 own[BINS_EACH];
  own_bins(bins, own);
  const i64 a = m[BELOW] + (m[COUNT] - 1) / 2 - m[UNDER_BINS], b = m[BELOW] + m[COUNT] / 2 - m[UNDER_BINS];
  if (t == 0) m[BIN_A] = m[BIN_B] = -1;
  for (i32 power = 0; power < 3; power++) {
    i64 mine = 0;
    UNROLL for (i32 i = 0; i < BINS_EACH; i++) {
      const i64 at = 2 * (first + i) + 1 - BINS, n = own[i];
      mine += power == 0 ? n : power == 1 ? n * at : n * at * at;
    }
    const i64 total = running_sum(mine, totals + 3 * NT);
    totals[power * NT + t] = total;
    i64 end = total - mine;
    if (power == 0) UNROLL for (i32 i = 0; i < BINS_EACH; i++) {
      if (a >= end && a < end + own[i]) {
        m[BIN_A] = first + i;
        m[IN_BIN] = own[i];
      }
      if (b >= end && b < end + own[i]) m[BIN_B] = first + i;
      end += own[i];
    }
    BARRIER();
  }
}

/* a total to the place x, in bins */
DEVICE f64 total_to(LOCAL const i64 *totals, f64 x)
{
  const f64 at = smaller(larger(x, 0.0), BINS) / BINS_EACH;
  const i32 i = (i32)at;
  const f64 before = i ? (f64)totals[i - 1] : 0.0;
  return i == NT ? before : before + (at - i) * ((f64)totals[i] - before);
}
DEVICE i32 holder_of(LOCAL const i64 *totals, i64 rank)
{
  i32 low = 0, high = NT - 1;
  while (low < high) {
    const i32 i = (low + high) / 2;
    if (totals[i] > rank) high = i;
    else low = i + 1;
  }
  return low;
}
DEVICE f64 place_of(LOCAL const i64 *totals, f64 rank)
{
  const i32 i = holder_of(totals, (i64)rank);
  const f64 before = i ? (f64)totals[i - 1] : 0.0, own = (f64)totals[i] - before;
  return (i + (own > 0 ? smaller(larger((rank - before) / own, 0.0), 1.0) : 0.0)) * BINS_EACH;
}
/* work-item 0: what the next bounds surely keep, and may keep, for a median between ``least`` and ``most``; all, if no clip is left */
DEVICE void surround(LOCAL f64 *d, LOCAL const i64 *m, f64 least, f64 most, f64 sigma, i32 maxiters)
{
  if (maxiters >= 0 && m[CLIPS] >= maxiters) {
    d[SURE_LOW] = d[MAYBE_LOW] = d[KEEP_LOW];
    d[SURE_HIGH] = d[MAYBE_HIGH] = d[KEEP_HIGH];
    return;
  }
  const f64 reach = sigma * d[STD];
  d[SURE_LOW] = larger(d[KEEP_LOW], (f64)least_kept(most - reach));
  d[MAYBE_LOW] = larger(d[KEEP_LOW], (f64)least_kept(least - reach));
  d[SURE_HIGH] = smaller(d[KEEP_HIGH], (f64)most_kept(least + reach));
  d[MAYBE_HIGH] = smaller(d[KEEP_HIGH], (f64)most_kept(most + reach));
}

/* work-item 0: where, in bins, the bounds of the clips to come will end, and between what places their medians will lie */
DEVICE void foresee(LOCAL const i64 *totals, LOCAL const f64 *d, LOCAL const i64 *m, f64 sigma, i32 maxiters, f64 *place)
{
  f64 low = d[KEEP_LOW] * d[SCALE] + d[OFFSET], high = d[KEEP_HIGH] * d[SCALE] + d[OFFSET], std = d[STD] * d[SCALE];
  f64 middle = place_of(totals, (f64)(m[BELOW] + m[COUNT] / 2 - m[UNDER_BINS]));
  place[2] = place[3] = middle;
  for (i32 clip = 0; clip < FORESEEN && (maxiters < 0 || m[CLIPS] + clip < maxiters); clip++) {
    const f64 least = larger(low, middle - sigma * std), most = smaller(high, middle + sigma * std);
    if (clip && least - low < 0.02 && high - most < 0.02) break;
    low = least;
    high = most;
    const f64 before = total_to(totals, low), n = total_to(totals, high) - before;
    if (!(n > 1)) break;
    const f64 sum = total_to(totals + NT, high) - total_to(totals + NT, low);
    const f64 squares = total_to(totals + 2 * NT, high) - total_to(totals + 2 * NT, low), mean = sum / n;
    std = 0.5 * sqrt(larger(squares / n - mean * mean, 0.0));
    middle = place_of(totals, before + 0.5 * n);
    place[2] = smaller(place[2], middle);
    place[3] = larger(place[3], middle);
  }
  place[0] = low;
  place[1] = high;
}

/* work-item 0: pixels that a list would have */
DEVICE f64 listed_by(LOCAL const f64 *d, LOCAL const i64 *m, LOCAL const i64 *totals)
{
  const f64 ends[4] = {d[LIST_LOW] * d[SCALE] + d[OFFSET], d[CORE_LOW] * d[SCALE] + d[OFFSET], d[CORE_HIGH] * d[SCALE] + d[OFFSET],
                       d[LIST_HIGH] * d[SCALE] + d[OFFSET]};
  f64 n = total_to(totals, ends[1]) - total_to(totals, ends[0]) + total_to(totals, ends[3]) - total_to(totals, ends[2]);
  if (ends[0] < 0) n += (f64)m[UNDER_BINS];
  if (ends[3] > BINS) n += (f64)m[OVER_BINS];
  return m[BY_KEY] ? n : n + (f64)m[IN_MIDDLE];
}

/* work-item 0: fine bins for the pixels of the plain ones from ``from`` to ``to`` */
DEVICE void set_middle(LOCAL const i64 *totals, LOCAL f64 *d, LOCAL i64 *m, i32 from, i32 to)
{
  m[MIDDLE_FROM] = from;
  m[MIDDLE_TO] = to;
  m[IN_MIDDLE] = (i64)(total_to(totals, to) - total_to(totals, from));
  const T low = (T)((from - 0.05 - d[OFFSET]) / d[SCALE]), high = (T)((to + 0.05 - d[OFFSET]) / d[SCALE]);
  m[BY_KEY] = key_of(high) - key_of(low) < BINS - 2 ? (i64)(key_of(low) - 1) : m[TIE] ? m[TIE] - BINS / 2 : 0;
  d[FINE_BASE] = (f64)low;
  d[FINE_SCALE] = (f64)(T)(0.999 * BINS / ((f64)high - (f64)low));
  d[FINE_WIDTH] = 1.0 / d[FINE_SCALE];
}

/* how many pixels lie under the middle ones, and how many they are */
DEVICE void count_middle(volatile GLOBAL u32 *bins, LOCAL f64 *fold, LOCAL i64 *m)
{
  const i32 t = LID(0), first = t * BINS_EACH;
  u32 own[BINS_EACH];
  own_bins(bins, own);
  i64 under = 0, inside = 0;
  UNROLL for (i32 i = 0; i < BINS_EACH; i++) {
    under += first + i < m[MIDDLE_FROM] ? own[i] : 0;
    inside += first + i >= m[MIDDLE_FROM] && first + i < m[MIDDLE_TO] ? own[i] : 0;
  }
  group_whole(under, inside, 0, 0, (LOCAL i64 *)fold);
  if (t == 0) {
    m[UNDER_MIDDLE] = m[UNDER_BINS] + SUM_OF(((LOCAL i64 *)fold), 0);
    m[IN_MIDDLE] = SUM_OF(((LOCAL i64 *)fold), 1);
  }
  BARRIER();
}

/* the value that most of LOOKED pixels in the bin of the middle one share */
DEVICE void find_tie(volatile GLOBAL const T *some, LOCAL f64 *fold, LOCAL const f64 *d, LOCAL i64 *m)
{
  LOCAL KEY *keys = (LOCAL KEY *)fold;
  LOCAL u32 *most = (LOCAL u32 *)(fold + LOOKED);
  const T scale = (T)d[SCALE], offset = (T)d[OFFSET], from = (T)m[BIN_A], to = from + 1;
  if (LID(0) == 0) *most = 0;
  for (i32 i = LID(0); i < LOOKED; i += NT) {
    const T v = some[i * (SAMPLED / LOOKED)], x = FMA(v, scale, offset);
    keys[i] = x >= from && x < to ? key_of(v) : 0;
  }
  BARRIER();
  for (i32 i = LID(0); i < LOOKED; i += NT) {
    u32 same = 0;
    for (i32 j = 0; j < LOOKED; j++) same += keys[j] == keys[i];
    if (keys[i]) ATOMIC_MAX_L(most, same * LOOKED + i);
  }
  BARRIER();
  if (LID(0) == 0) m[TIE] = *most >= 3 * LOOKED ? (i64)keys[*most % LOOKED] : 0;
  BARRIER();
}

/* work-item 0: what the next pass sums and what it lists; where a list would not fit, as much of it as does */
DEVICE i32 plan_list(LOCAL const i64 *totals, LOCAL f64 *d, LOCAL i64 *m, f64 sigma, i32 maxiters, f64 room)
{
  const i32 a = (i32)m[BIN_A], b = (i32)m[BIN_B];
  if (a < 0 || b < 0 || !(d[STD] > 1e-290)) return 0;
  m[TRIED] = 1; /* the scale is right */
  f64 place[4];
  foresee(totals, d, m, sigma, maxiters, place);
  surround(d, m, (a - ROUNDING - d[OFFSET]) / d[SCALE], (b + 1 + ROUNDING - d[OFFSET]) / d[SCALE], sigma, maxiters);
  const f64 low = (f64)(T)((place[0] + MARGIN - d[OFFSET]) / d[SCALE]), high = (f64)(T)((place[1] - MARGIN - d[OFFSET]) / d[SCALE]);
  const i32 more = maxiters < 0 || m[CLIPS] < maxiters;
  d[LIST_LOW] = d[MAYBE_LOW];
  d[LIST_HIGH] = d[MAYBE_HIGH];
  d[CORE_CENTER] = (f64)(T)((0.5 * (a + b + 1) - d[OFFSET]) / d[SCALE]);
  i32 from = (i32)larger(smaller(place[2] - 1.5, a), 0.0), to = (i32)smaller(larger(place[3] + 2.5, b + 1), BINS);
  f64 share = more ? 1.0 : 0.0; /* of the way from the next bounds to the last ones */
  for (i32 attempt = 0; attempt < 6; attempt++, share *= attempt < 5 ? 0.5 : 0.0) {
    d[CORE_LOW] = share > 0 ? (f64)(T)(d[SURE_LOW] + share * larger(low - d[SURE_LOW], 0.0)) : d[SURE_LOW];
    d[CORE_HIGH] = share > 0 ? (f64)(T)(d[SURE_HIGH] - share * larger(d[SURE_HIGH] - high, 0.0)) : d[SURE_HIGH];
    set_middle(totals, d, m, from, to);
    if (listed_by(d, m, totals) <= room) break;
    from = a;
    to = b + 1;
  }
  const f64 least = (from - 0.1 - d[OFFSET]) / d[SCALE], most = (to + 0.1 - d[OFFSET]) / d[SCALE];
  if (listed_by(d, m, totals) > room || !(d[CORE_LOW] <= least && d[CORE_HIGH] >= most)) return 0;
  if (!(d[FINE_SCALE] > 0 && d[FINE_SCALE] < LARGEST / 8)) return 0;
  d[CENTER] = d[CORE_CENTER];
  m[LEVEL] = 1;
  m[PASS] = LIST;
  return 1;
}

/* work-item 0: the bounds of the next step, from the fine bins of the middle; 0 where the list has not what they need */
DEVICE i32 plan_step(LOCAL f64 *d, LOCAL i64 *m, LOCAL const i64 *answer, f64 sigma, i32 maxiters)
{
  m[BIN_A] = answer[0];
  m[BIN_B] = m[COUNT] % 2 ? answer[0] : answer[4];
  m[RANK_A] -= answer[2];
  if (m[BY_KEY]) {
    if (m[BIN_A] == 0 || m[BIN_B] == BINS - 1) return 0; /* where others than that key's are, too */
    m[KEYS] = m[BY_KEY] + m[BIN_A];
    m[KEYS + 1] = m[BY_KEY] + m[BIN_B];
    take_median(d, m);
    surround(d, m, d[MEDIAN], d[MEDIAN], sigma, maxiters);
  } else {
    const f64 middle = 0.5 * (m[BIN_A] + m[BIN_B]);
    surround(d, m, d[FINE_BASE] + (middle - ROUNDING) * d[FINE_WIDTH], d[FINE_BASE] + (middle + 1 + ROUNDING) * d[FINE_WIDTH], sigma, maxiters);
  }
  if (!(d[SURE_LOW] <= d[CORE_LOW] && d[SURE_HIGH] >= d[CORE_HIGH])) return 0;
  d[MAYBE_LOW] = larger(d[MAYBE_LOW], d[LIST_LOW]); /* the bins of the plain histogram held the median, too */
  d[MAYBE_HIGH] = smaller(d[MAYBE_HIGH], d[LIST_HIGH]);
  d[UNIT] = AS_F64(AS_I64(d[STD]) & 0x7ff0000000000000);
  d[PER_UNIT] = AS_F64(((i64)2046 << 52) - AS_I64(d[UNIT]));
  const f64 reach = larger(d[CORE_CENTER] - d[MAYBE_LOW], d[MAYBE_HIGH] - d[CORE_CENTER]) * d[PER_UNIT] + 1;
  const f64 most = ((f64)m[ON_LIST] + 1) * reach * reach;
  const i32 last = maxiters >= 0 && m[CLIPS] >= maxiters;
  if (!last && !(most < 1e11)) return 0; /* too little would be left of the fractions */
  d[FIXED] = last ? 0.0 : AS_F64((1023 + 61 - (((AS_I64(most) >> 52) & 0x7ff) - 1022)) << 52);
  m[PASS] = STEP;
  return 1;
}
