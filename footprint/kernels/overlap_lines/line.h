/* Transforms of a line of LEN = R1 * R2 * 256 complex numbers by UNITS = LEN / 16 work-items, each with 16 of them in registers: by
   R1 (1: not at all), R2 (the same), 16 and 16 numbers that lie far apart, nearer, and side by side. Every pass puts back what it
   took, so frequencies end in an order of their own: a mask's transform has the same, and the way back undoes it. After dft.h.

   line      LINE_SIZE numbers on the chip, through which work-items hand on what they have
   w, turns  roots of unity of the passes by R1 and R2, in memory of kind ROOTS, and of the last by 16, on the chip
   near      whether a line's work-items are neighbours: groups of 16 do not part, nor do those of a line of at most 32
   folded    whether number n is turned by the n-th power of exp(2 pi i / (4 LEN)) before, and back after: what products carry beyond the
             last number then comes back to the first times i, so that LEN numbers are 2 LEN real samples, n and n + LEN its parts.
             Most of that is in the roots of the first pass

   SAMPLE(u, d, j) is where register d * R0 + j of work-item u lies in the line before the first pass (TAKE_SAMPLES takes them from the
   chip); after the last register j is number 16 u + j, which is frequency FREQUENCY(u) + UNITS * j where R2 is 1. */
#define UNITS (LEN / 16)
#define AT(i) ((i) + (i) / 16)
#define LINE_SIZE (LEN + LEN / 16)
#if R1 > 1
#define R0 R1
#else
#define R0 16
#endif
#define SAMPLE(u, d, j) ((u) + UNITS * (d) + LEN / R0 * (j))
#if R1 > 1
#define TAKE_SAMPLES(x, line, u) take_first(x, line, u)
#else
#define TAKE_SAMPLES(x, line, u) take_third(x, line, u)
#endif
#define FREQUENCY(u) ((u) / 16 + R1 * ((u) % 16))

/* exp(-2 pi i n / total), both powers of two or products of few bits, so that their ratio is exact. */
DEVICE Z unit(i32 n, i32 total) {
  const T turn = (T)(2 * n) / (T)total;
  return MAKE2(Z, COSPI(turn), -SINPI(turn));
}

/* exp(2 pi i k / 64) for k < 16 */
CONSTANT T COS64[17] = {
  NUMBER(1.0), NUMBER(0.99518472667219688624), NUMBER(0.98078528040323044913), NUMBER(0.95694033573220886494),
  NUMBER(0.92387953251128675613), NUMBER(0.88192126434835502971), NUMBER(0.83146961230254523708), NUMBER(0.77301045336273696081),
  NUMBER(0.70710678118654752440), NUMBER(0.63439328416364549822), NUMBER(0.55557023301960222474), NUMBER(0.47139673682599764856),
  NUMBER(0.38268343236508977173), NUMBER(0.29028467725446236764), NUMBER(0.19509032201612826785), NUMBER(0.09801714032956060199),
  NUMBER(0.0)};
#define TURN64(k) MAKE2(Z, COS64[k], COS64[16 - (k)])

/* A pass by R over numbers that lie S apart: butterfly q has those from its FIRST_OF on. A work-item has every UNITS-th butterfly; one
   of UNITS and S divides the other, so they are the same way from each other for all of them, and so are their roots of unity. Written
   so, a place costs no arithmetic. */
#define FIRST_OF(R, S, q) ((q) / (S) * ((R) * (S)) + (q) % (S))
#define APART_BY(S) ((S) % 16 ? (S) : (S) + (S) / 16)
#define ON(R, S, d) ((S) % UNITS ? AT((R) * UNITS * (d)) : AT(UNITS * (d)))
#define ON_ROOTS(S, d) ((S) % UNITS ? 0 : UNITS * (d))
#define PASS(name, R, S, SPACE) \
  DEVICE void take_##name(Z *x, const LOCAL Z *line, i32 u) \
  { \
    UNROLL for (i32 d = 0; d < 16 / R; d++) { \
      const LOCAL Z *at = line + AT(FIRST_OF(R, S, u)) + ON(R, S, d); \
      UNROLL for (i32 j = 0; j < R; j++) x[d * R + j] = at[j * APART_BY(S)]; \
    } \
  } \
  DEVICE void put_##name(const Z *x, LOCAL Z *line, i32 u) \
  { \
    UNROLL for (i32 d = 0; d < 16 / R; d++) { \
      LOCAL Z *at = line + AT(FIRST_OF(R, S, u)) + ON(R, S, d); \
      UNROLL for (i32 j = 0; j < R; j++) at[j * APART_BY(S)] = x[d * R + j]; \
    } \
  } \
  DEVICE void forward_##name(Z *x, LOCAL Z *line, i32 u, SPACE const Z *w, const int folded) \
  { \
    UNROLL for (i32 d = 0; d < 16 / R; d++) { \
      LOCAL Z *at = line + AT(FIRST_OF(R, S, u)) + ON(R, S, d); \
      SPACE const Z *turn = w + u % (S) + ON_ROOTS(S, d); \
      if (folded) UNROLL for (i32 j = 1; j < R; j++) x[d * R + j] = mul(x[d * R + j], TURN64(j * (16 / R))); \
      DFT(R)(x + d * R); \
      UNROLL for (i32 j = 0; j < R; j++) at[j * APART_BY(S)] = j || folded ? mul(x[d * R + j], turn[j * (S)]) : x[d * R]; \
    } \
  } \
  DEVICE void back_##name(Z *x, const LOCAL Z *line, i32 u, SPACE const Z *w, const int folded) \
  { \
    UNROLL for (i32 d = 0; d < 16 / R; d++) { \
      const LOCAL Z *at = line + AT(FIRST_OF(R, S, u)) + ON(R, S, d); \
      SPACE const Z *turn = w + u % (S) + ON_ROOTS(S, d); \
      UNROLL for (i32 j = 0; j < R; j++) { \
        x[d * R + j] = at[j * APART_BY(S)]; \
        if (j || folded) x[d * R + j] = mul(x[d * R + j], turn[j * (S)]); \
      } \
      DFT(R)(x + d * R); \
      if (folded) UNROLL for (i32 j = 1; j < R; j++) x[d * R + j] = mul(x[d * R + j], TURN64(j * (16 / R))); \
    } \
  }
#if R1 > 1
PASS(first, R1, (LEN / R1), ROOTS)
#endif
#if R2 > 1
PASS(second, R2, 256, ROOTS)
#endif
PASS(third, 16, 16, LOCAL)
PASS(fourth, 16, 1, LOCAL)

/* Root number i of those that w and then turns hold; of lines that are folded those of the first pass are turned, too. */
#define ROOT(i, S, total, folded) unit((i) % (S) * (4 * ((i) / (S)) - (folded)), 4 * (total))
DEVICE Z root_first(i32 i, const int folded) { return ROOT(i, LEN / R1, LEN, folded); }
DEVICE Z root_second(i32 i) { return ROOT(i, 256, 256 * R2, 0); }
DEVICE Z root_third(i32 i, const int folded) { return ROOT(i, 16, 256, R1 == 1 && folded); }

/* Between passes: neighbours of 16 hand on numbers in the last two, all of a line in the others. */
#define BETWEEN() if (near) BARRIER32(); else BARRIER()
#define WITHIN() if (near && UNITS <= 32) BARRIER32(); else BARRIER()

/* From registers in the order of SAMPLE to those of frequencies. */
DEVICE void line_forward(Z *x, LOCAL Z *line, i32 u, ROOTS const Z *w, const LOCAL Z *turns, const int near,
                         const int folded) {
#if R1 > 1
  forward_first(x, line, u, w, folded);
  WITHIN();
#if R2 > 1
  take_second(x, line, u);
  forward_second(x, line, u, w + LEN, 0);
  WITHIN();
#endif
  take_third(x, line, u);
#endif
  forward_third(x, line, u, turns, R1 == 1 && folded);
  BETWEEN();
  take_fourth(x, line, u);
  dft16(x);
}

/* What line_forward did, undone for numbers whose parts are swapped. */
DEVICE void line_back(Z *x, LOCAL Z *line, i32 u, ROOTS const Z *w, const LOCAL Z *turns, const int near,
                      const int folded) {
  dft16(x);
  put_fourth(x, line, u);
  BETWEEN();
  back_third(x, line, u, turns, R1 == 1 && folded);
#if R1 > 1
  put_third(x, line, u);
  WITHIN();
#if R2 > 1
  back_second(x, line, u, w + LEN, 0);
  put_second(x, line, u);
  WITHIN();
#endif
  back_first(x, line, u, w, folded);
#endif
}

/* What those of span samples from x on that are not finite add to an output: direct sums are infinite or NaN by them alone. */
DEVICE T spoiled(GLOBAL const S *RESTRICT row, i64 x, i64 width, int border, T cval, GLOBAL const T *RESTRICT weights, i64 span) {
  T sum = 0;
  NO_UNROLL for (i64 k = 0; k < span; k++) {
    const i64 from = bordered(x + k, width, border);
    const T value = from < 0 ? cval : (T)row[from];
    if (!finite(value)) sum += weights[k] * value;
    if (sum != sum) break;
  }
  return sum;
}

DEVICE i64 larger64(i64 a, i64 b) { return a > b ? a : b; }

/* Outputs of either segment of a pair that begins with this many to come. */
DEVICE i64 outputs_of(i64 left, i64 across) { return left < 0 ? 0 : left < across ? left : across; }
