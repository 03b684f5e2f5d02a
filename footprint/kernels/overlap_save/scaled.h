/* Real numbers T two by two in complex ones Z: brought to the size of 1 by a power of two, what is not finite kept apart, and results
   that are added up block by block of a mask. After dft.h. WIDE 1 where T is f64. */
#if WIDE
#define BIAS 1022
#define MAGNITUDE(x) ((i32)(AS_I64(x) >> 32) & 0x7fffffff)
#define EXPONENT(magnitude) ((magnitude) >> 20)
#define POWER(n) AS_F64((i64)((n) + 1023) << 52)
#else
#define BIAS 126
#define MAGNITUDE(x) (AS_I32(x) & 0x7fffffff)
#define EXPONENT(magnitude) ((magnitude) >> 23)
#define POWER(n) AS_F32(((n) + 127) << 23)
#endif
/* Exponents from here on are those of infinities and NaN. */
#define SPECIAL (2 * BIAS + 3)

DEVICE int finite(T x) { return EXPONENT(MAGNITUDE(x)) < SPECIAL; }

DEVICE Z swapped(Z a) { return MAKE2(Z, a.y, a.x); }

DEVICE i32 larger(i32 a, i32 b) { return a > b ? a : b; }

DEVICE i32 smaller(i64 a, i32 b) { return a < b ? (i32)a : b; }

/* The power of two that brings what has such an exponent to about 1. */
DEVICE i32 size_of(i32 exponent) {
  const i32 n = exponent - BIAS;
  return n > BIAS ? BIAS : n < -BIAS ? -BIAS : n;
}

/* The largest of a group's numbers, which are not negative, to seen. */
DEVICE void gather(LOCAL i32 *seen, i32 found) {
#ifdef SHUFFLE_XOR
  for (i32 n = 16; n; n /= 2) found = larger(found, SHUFFLE_XOR(found, n));
  if (LID(0) % 32 == 0)
#endif
  ATOMIC_MAX_L(seen, found);
}

/* A result, added to what earlier blocks of the mask made; what additions round away is kept in lost, and added at the end. */
DEVICE void settle(GLOBAL T *out, GLOBAL T *lost, i64 at, T value, int more, int keep, int end) {
  if (!keep) {
    out[at] = more ? out[at] + value : value;
    return;
  }
  const T old = more ? out[at] : (T)0, both = old + value, got = both - old;
  const T rest = (more ? lost[at] : (T)0) + ((old - (both - got)) + (value - got));
  lost[at] = rest;
  out[at] = end && finite(rest) ? both + rest : both;
}
