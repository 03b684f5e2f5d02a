/* What one group does after a pass of sigma_clip.knl, and a step over the list. */
/* the two pixels in the middle, among those gathered from their bins */
DEVICE void pick_middle(volatile GLOBAL const T *gathered, i32 n, LOCAL f64 *fold, LOCAL const f64 *d, LOCAL i64 *m)
{
  LOCAL KEY *keys = (LOCAL KEY *)fold;
  const KEY outer = ~(KEY)0; /* that of a NaN */
  for (i32 i = LID(0); i < n; i += NT) keys[i] = gathered[i] >= d[CORE_LOW] && gathered[i] <= d[CORE_HIGH] ? key_of(gathered[i]) : outer;
  BARRIER();
  const i64 first = m[RANK_A], second = first + 1 - m[COUNT] % 2;
  for (i32 i = LID(0); i < n; i += NT) {
    const KEY own = keys[i];
    i32 less = 0, same = 0;
    if (own != outer) for (i32 j = 0; j < n; j++) {
      less += keys[j] < own;
      same += keys[j] == own;
    }
    if (less <= first && first < less + same) m[KEYS] = (i64)own;
    if (less <= second && second < less + same) m[KEYS + 1] = (i64)own;
  }
  BARRIER();
}

/* what the bounds keep: the core, what a step found, and those of the gathered pixels that lie between the bounds and the core */
DEVICE void add_gathered(volatile GLOBAL const T *gathered, i32 n, LOCAL f64 *fold, LOCAL f64 *d, LOCAL const i64 *step)
{
  i64 sum = 0, squares = 0, inside = 0, under = 0;
  for (i32 i = LID(0); i < n; i += NT) {
    const f64 v = (f64)gathered[i], off = (v - d[CORE_CENTER]) * d[PER_UNIT];
    const i32 in = (v < d[CORE_LOW] || v > d[CORE_HIGH]) && v >= d[KEEP_LOW] && v <= d[KEEP_HIGH];
    inside += in;
    under += v < d[KEEP_LOW];
    sum += in ? (i64)(off * d[FIXED]) : 0;
    squares += in ? (i64)(off * off * d[FIXED]) : 0;
  }
  group_whole(sum, squares, inside, under, (LOCAL i64 *)fold);
  if (LID(0) == 0) {
    LOCAL const i64 *own = (LOCAL const i64 *)fold;
    const f64 unit = d[UNIT] / d[FIXED];
    d[SUMS] = d[CORE_SUMS] + (f64)(step[0] + SUM_OF(own, 0)) * unit;
    d[SUMS + 1] = d[CORE_SUMS + 1] + (f64)(step[1] + SUM_OF(own, 1)) * unit * d[UNIT];
    d[SUMS + 2] = d[CORE_SUMS + 2] + (f64)(step[2] + SUM_OF(own, 2));
    d[SUMS + 3] = d[CORE_SUMS + 3] + (f64)(step[3] + SUM_OF(own, 3));
    d[SUMS + 4] = d[CORE_CENTER];
  }
  BARRIER();
}

/* after a pass or a step where pixels are listed */
DEVICE void conclude_list(volatile GLOBAL u32 *bins, volatile GLOBAL T *gathered, volatile GLOBAL const u32 *listed, i32 met, i32 groups,
                          i64 room, f64 sigma, i32 maxiters, LOCAL f64 *fold, LOCAL f64 *d, LOCAL i64 *m)
{
  const i32 t = LID(0), pass = (i32)m[PASS];
  LOCAL i64 *answer = m + SIZE, *totals = (LOCAL i64 *)fold;
  i64 on_list = 0, too_many = 0;
  if (pass == LIST) for (i32 g = t; g < groups; g += NT) {
    on_list += listed[g];
    too_many += listed[g] > room;
  }
  if (pass == LIST) {
    group_whole(on_list, too_many, 0, 0, totals);
    if (t == 0) {
      m[ON_LIST] = SUM_OF(totals, 0);
      m[WINDOW] = SUM_OF(totals, 1);
      for (i32 i = 0; i < 4; i++) d[CORE_SUMS + i] = d[SUMS + i];
      m[PASS] = SUM;
    }
  } else if (pass == STEP) {
    if (t == 0) {
      for (i32 i = 0; i < 4; i++) answer[i] = AS_I64(d[SUMS + i]);
      m[WINDOW] = met > GATHERED;
      m[PASS] = SUM;
    }
    BARRIER();
    if (met <= GATHERED) {
      if (!m[BY_KEY]) pick_middle(gathered, met, fold, d, m);
      if (t == 0) {
        take_median(d, m);
        clip(d, m, sigma, maxiters);
      }
      BARRIER();
      if (m[PASS] == SUM) add_gathered(gathered, met, fold, d, answer);
      if (t == 0 && m[PASS] == SUM) accept(d, m);
    }
  } else if (t == 0) {
    m[WINDOW] = 0;
    if (pass == FIRST) {
      m[UNDER_BINS] = (i64)d[SUMS + 3];
      d[SUMS + 3] = 0;
    }
    accept(d, m);
  }
  BARRIER();
  if (m[PASS] != SUM) return;
  if (m[WINDOW]) {
    if (t == 0) leave_list(d, m);
    BARRIER();
    return;
  }
  if (pass == LIST || pass == STEP) {
    if (t == 0) {
      m[RANK_A] = m[BELOW] + (m[COUNT] - 1) / 2 - m[UNDER_MIDDLE];
      m[WINDOW] = m[RANK_A] >= 0 && m[BELOW] + m[COUNT] / 2 - m[UNDER_MIDDLE] < m[IN_MIDDLE];
    }
    BARRIER();
    const i32 in_middle = (i32)m[WINDOW];
    if (in_middle) find_bin(bins + BINS, m[RANK_A], 1, totals, answer);
    if (t == 0) {
      m[WINDOW] = in_middle && plan_step(d, m, answer, sigma, maxiters);
      if (pass == LIST && !m[WINDOW]) leave_list(d, m);
    }
    BARRIER();
    if (pass == LIST || m[WINDOW]) return;
  }
  lay_out(bins, totals, m);
  if ((pass == FIRST || pass == AGAIN) && m[BIN_A] >= 0 && m[IN_BIN] > MANY * m[COUNT]) find_tie(gathered, fold + 3 * NT, d, m);
  if (t == 0) {
    if (pass == FIRST || pass == AGAIN) m[OVER_BINS] = m[COUNT] - m[UNDER_BINS] - totals[NT - 1];
    m[WINDOW] = plan_list(totals, d, m, sigma, maxiters, ROOM_USED * (f64)groups * (f64)room);
    if (!m[WINDOW]) leave_list(d, m);
  }
  BARRIER();
  if (m[WINDOW]) count_middle(bins, fold, m);
}

/* after a pass where pixels are not listed */
DEVICE void conclude_keys(volatile GLOBAL u32 *bins, volatile GLOBAL T *gathered, f64 sigma, i32 maxiters, LOCAL f64 *fold, LOCAL f64 *d,
                          LOCAL i64 *m)
{
  const i32 t = LID(0), pass = (i32)m[PASS];
  if (t == 0) {
    if (pass != SUM && pass != AGAIN) m[LEVEL_OF(m[LEVEL])] = 1;
    if (pass == REFINE) m[PASS] = SUM;
    else accept(d, m);
  }
#if LISTS
  BARRIER();
  if (pass == FIRST && m[PASS] != DONE && !m[TRIED]) {
    tell_scale(gathered, fold, d, m);
    if (t == 0) m[TRIED] = 1;
    if (t == 0 && m[LISTED]) m[PASS] = FIRST;
    BARRIER();
    if (m[LISTED]) return;
  }
#endif
  look_up(bins, fold, m);
  if (t == 0 && m[PASS] == SUM && m[FOUND] == 2) {
    take_median(d, m);
    clip(d, m, sigma, maxiters);
  }
}

/* what one group does between two passes */
DEVICE void conclude(volatile GLOBAL f64 *numbers, volatile GLOBAL i64 *marks, volatile GLOBAL f64 *partial, volatile GLOBAL u32 *bins,
                     volatile GLOBAL u32 *ticket, volatile GLOBAL T *gathered, volatile GLOBAL const u32 *listed, i32 partials, i32 groups,
                     i64 room, f64 sigma, i32 maxiters, LOCAL f64 *fold, LOCAL f64 *d, LOCAL i64 *m)
{
  const i32 t = LID(0);
  for (i32 i = t; i < NUMBERS; i += NT) d[i] = numbers[i];
  for (i32 i = t; i < SIZE; i += NT) m[i] = marks[i];
  BARRIER();
  if (LISTS && m[PASS] == STEP) {
    all_steps((volatile GLOBAL i64 *)partial, partials, (LOCAL i64 *)fold);
    if (t < 4) d[SUMS + t] = AS_F64(SUM_OF(((LOCAL i64 *)fold), t));
  } else {
    all_groups(partial, partials, fold);
    if (t < 4) d[SUMS + t] = SUM_OF(fold, t);
  }
  if (t == 0) d[SUMS + 4] = d[CENTER];
  BARRIER();
#if LISTS
  if (m[LISTED]) conclude_list(bins, gathered, listed, (i32)ticket[2], groups, room, sigma, maxiters, fold, d, m);
  else
#endif
    conclude_keys(bins, gathered, sigma, maxiters, fold, d, m);
  BARRIER();
  if (m[PASS] == REFINE || m[PASS] == FIRST || m[PASS] == LIST) for (i32 i = t; i < BINS; i += NT) bins[m[LEVEL] * BINS + i] = 0;
  if (m[PASS] == FIRST) for (i32 i = t; i < SAMPLED; i += NT) gathered[i] = INF;
  if (t == 0) {
    m[NOW_BASE] = m[LEVEL_OF(m[LEVEL]) + BASE];
    m[NOW_SHIFT] = m[LEVEL_OF(m[LEVEL]) + SHIFT];
  }
  for (i32 i = t; i < NUMBERS; i += NT) numbers[i] = d[i];
  BARRIER();
  for (i32 i = t; i < SIZE; i += NT) marks[i] = m[i];
  if (t == 0) ticket[2] = 0;
  BARRIER();
}

#if LISTS
/* One step over the list, or over what it has from one group: the outer pixels that the coming bounds surely keep are added up, and those
   that only the very median decides on, and those in its bins, are gathered. Each list is gone through by ``lanes`` of this group's
   work-items. */
DEVICE void step_over(LOCAL const f64 *d, LOCAL const i64 *m, GLOBAL f64 *partial, GLOBAL u32 *ticket, GLOBAL T *gathered,
                      GLOBAL const T *list, GLOBAL const u32 *listed, i64 room, i32 from, i32 to, i32 lanes, LOCAL f64 *fold)
{
  const T core_low = (T)d[CORE_LOW], core_high = (T)d[CORE_HIGH], sure_low = (T)d[SURE_LOW], sure_high = (T)d[SURE_HIGH],
          maybe_low = (T)d[MAYBE_LOW], maybe_high = (T)d[MAYBE_HIGH], base = (T)d[FINE_BASE], scale = (T)d[FINE_SCALE];
  const f64 center = d[CORE_CENTER], unit = d[PER_UNIT], fixed = d[FIXED];
  const i32 t = LID(0), by_key = m[BY_KEY] != 0, bin_a = (i32)m[BIN_A], bin_b = (i32)m[BIN_B];
  i64 sum = 0, squares = 0, inside = 0, under = 0;
  for (i32 group = from + t / lanes; group < to; group += NT / lanes) {
    const i32 n = (i32)listed[group];
    GLOBAL const T *own = list + room * group;
    for (i32 at = t % lanes * WIDTH; at < n; at += 2 * lanes * WIDTH) {
      T v[2 * WIDTH];
      UNROLL for (i32 k = 0; k < 2; k++) { /* room is whole vectors */
        const i32 i = at + k * lanes * WIDTH;
        if (i < n) {
          const VECTOR x = *(GLOBAL const VECTOR *)(own + i);
          v[k * WIDTH] = x.x;
          v[k * WIDTH + 1] = x.y;
#if !WIDE
          v[k * WIDTH + 2] = x.z;
          v[k * WIDTH + 3] = x.w;
#endif
        }
        UNROLL for (i32 j = 0; j < WIDTH; j++) if (i + j >= n) v[k * WIDTH + j] = INF;
      }
      UNROLL for (i32 k = 0; k < 2 * WIDTH; k++) {
        i32 wanted = 0;
        if (v[k] < core_low || v[k] > core_high) {
          const i32 in = v[k] >= sure_low && v[k] <= sure_high;
          const f64 off = in ? ((f64)v[k] - center) * unit : 0.0;
          inside += in;
          under += v[k] < maybe_low;
          sum += (i64)(off * fixed);
          squares += (i64)(off * off * fixed);
          wanted = !in && v[k] >= maybe_low && v[k] <= maybe_high;
        } else if (!by_key) {
          const i32 bin = fine_bin(v[k], 0, base, scale);
          wanted = bin == bin_a || bin == bin_b;
        }
        if (wanted) {
          const u32 place = ATOMIC_ADD_G(&ticket[2], (u32)1);
          if (place < GATHERED) gathered[place] = v[k];
        }
      }
    }
  }
  group_whole(sum, squares, inside, under, (LOCAL i64 *)fold);
  if (t < 4) ((GLOBAL i64 *)partial)[4 * from + t] = SUM_OF(((LOCAL i64 *)fold), t);
}
#endif
