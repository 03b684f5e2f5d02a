/* Stages of a transform of M complex numbers in place, in on-chip memory `line`, decimation in frequency: forward ones leave the spectrum
   in reversed digit order, and those back take it from there in mirrored order, so that nothing is ever reordered. dft.h comes before.

   Constants: M, STAGES, R1 .. R5 (radices, product M, 1 where unused), RS (the last), NT work-items a line, of which one is ME, HALF (the
   upper half of the line is zero). Table: twiddle[j] = exp(-pi i j / M) for j < M. */
#define N (2 * M)
#define Q (M / RS)
#define SIZE (AT(M - 1) + 1)
/* 16 steps of 8 bytes fill all banks: one spare number after each 16 and after each block of the first digit keeps strides apart */
#define AT(a) ((i32)((u32)(a) + ((u32)(a) >> 4) + (u32)(a) / (M / R1)))
/* AT(base + q * step), the way that costs one sum where the step is a multiple of 16 */
#define FROM(base, q, step) \
  ((step) % 16 == 0 ? AT(base) + (q) * ((step) + (step) / 16 + ((step) == M / R1)) : AT((base) + (q) * (step)))
#define NEXT(base, q) (16 % RS == 0 ? AT(base) + (q) : AT((base) + (q)))

/* what the odd radices turn by */
CONSTANT f32 COS3[3] = {1.0f, -0.5f, -0.5f}, SIN3[3] = {0.0f, 0.86602540378443864676f, -0.86602540378443864676f};
CONSTANT f32 COS5[5] = {1.0f, 0.30901699437494742410f, -0.80901699437494742410f, -0.80901699437494742410f, 0.30901699437494742410f};
CONSTANT f32 SIN5[5] = {0.0f, 0.95105651629515357212f, 0.58778525229247312917f, -0.58778525229247312917f, -0.95105651629515357212f};
CONSTANT f32 COS7[7] = {1.0f, 0.62348980185873353053f, -0.22252093395631440429f, -0.90096886790241912624f,
                        -0.90096886790241912624f, -0.22252093395631440429f, 0.62348980185873353053f};
CONSTANT f32 SIN7[7] = {0.0f, 0.78183148246802980871f, 0.97492791218182360702f, 0.43388373911755812048f,
                        -0.43388373911755812048f, -0.97492791218182360702f, -0.78183148246802980871f};
CONSTANT f32 COS9[9] = {1.0f, 0.76604444311897803520f, 0.17364817766693034885f, -0.5f, -0.93969262078590838405f,
                        -0.93969262078590838405f, -0.5f, 0.17364817766693034885f, 0.76604444311897803520f};
CONSTANT f32 SIN9[9] = {0.0f, 0.64278760968653932632f, 0.98480775301220805937f, 0.86602540378443864676f, 0.34202014332566873304f,
                        -0.34202014332566873304f, -0.86602540378443864676f, -0.98480775301220805937f, -0.64278760968653932632f};
/* odd R: the sums and differences of x_m and x_(R-m) give the pair of outputs q and R - q */
#define ODD(R) \
  DEVICE void dft##R(f32x2 *x) \
  { \
    f32x2 s[R], d[R], y[R]; \
    y[0] = x[0]; \
    UNROLL for (i32 m = 1; m <= R / 2; m++) { \
      s[m] = add(x[m], x[R - m]); \
      d[m] = sub(x[m], x[R - m]); \
      y[0] = add(y[0], s[m]); \
    } \
    UNROLL for (i32 q = 1; q <= R / 2; q++) { \
      f32x2 a = x[0], b = MAKE2(f32x2, 0.0f, 0.0f); \
      UNROLL for (i32 m = 1; m <= R / 2; m++) { \
        const f32 c = COS##R[q * m % R], g = SIN##R[q * m % R]; \
        a = MAKE2(f32x2, FMA(s[m].x, c, a.x), FMA(s[m].y, c, a.y)); \
        b = MAKE2(f32x2, FMA(d[m].y, g, b.x), FMA(-d[m].x, g, b.y)); \
      } \
      y[q] = add(a, b); \
      y[R - q] = sub(a, b); \
    } \
    UNROLL for (i32 q = 0; q < R; q++) x[q] = y[q]; \
  }
ODD(3)
ODD(5)
ODD(7)
ODD(9)

/* w[q] = w1^q, by products of few factors */
#define POWERS(R, w, w1) \
  f32x2 w[R]; \
  w[0] = MAKE2(f32x2, 1.0f, 0.0f); \
  w[1] = (w1); \
  UNROLL for (i32 q = 2; q < (R); q++) w[q] = mul(w[q / 2], w[q - q / 2]);

/* the stage of the first digit, of what SOURCE(j) gives for each number */
#define FIRST(R, SOURCE) \
  for (i32 t = ME; t < M / (R); t += NT) { \
    f32x2 x[R]; \
    UNROLL for (i32 m = 0; m < (R); m++) \
      x[m] = HALF && (R) % 2 == 0 && m >= (R) / 2 ? MAKE2(f32x2, 0.0f, 0.0f) : SOURCE(t + m * (M / (R))); \
    DFT(R)(x); \
    POWERS(R, w, twiddle[2 * t]) \
    line[AT(t)] = x[0]; \
    UNROLL for (i32 q = 1; q < (R); q++) line[FROM(t, q, M / (R))] = mul(x[q], w[q]); \
  } \
  BARRIER();

/* a stage of radix R on blocks of L numbers, forward or back */
#define MIDDLE(R, L, FORWARD) \
  for (i32 t = ME; t < M / (R); t += NT) { \
    const i32 k = t % ((L) / (R)), base = t / ((L) / (R)) * (L) + k; \
    f32x2 x[R]; \
    POWERS(R, w, twiddle[2 * k * (M / (L))]) \
    UNROLL for (i32 q = 0; q < (R); q++) { \
      x[q] = line[FROM(base, q, (L) / (R))]; \
      if (!(FORWARD) && q) x[q] = mul(x[q], w[q]); \
    } \
    DFT(R)(x); \
    UNROLL for (i32 q = 0; q < (R); q++) line[FROM(base, q, (L) / (R))] = (FORWARD) && q ? mul(x[q], w[q]) : x[q]; \
  } \
  BARRIER();

/* all of the middle ones, forward or back */
#if STAGES > 2
#define SECOND(FORWARD) MIDDLE(R2, M / R1, FORWARD)
#else
#define SECOND(FORWARD)
#endif
#if STAGES > 3
#define THIRD(FORWARD) MIDDLE(R3, M / R1 / R2, FORWARD)
#else
#define THIRD(FORWARD)
#endif
#if STAGES > 4
#define FOURTH(FORWARD) MIDDLE(R4, M / R1 / R2 / R3, FORWARD)
#else
#define FOURTH(FORWARD)
#endif
#if STAGES > 5
#define FIFTH(FORWARD) MIDDLE(R5, M / R1 / R2 / R3 / R4, FORWARD)
#else
#define FIFTH(FORWARD)
#endif
#define FORTH SECOND(1) THIRD(1) FOURTH(1) FIFTH(1)
#define BACK FIFTH(0) FOURTH(0) THIRD(0) SECOND(0)

/* where the butterfly of the frequencies f + q Q lies: the digits of f in reversed order */
DEVICE i32 place(i32 f)
{
  i32 at = 0, width = M;
#define DIGIT(R) { width /= (R); at += f % (R) * width; f /= (R); }
  DIGIT(R1)
#if STAGES > 2
  DIGIT(R2)
#endif
#if STAGES > 3
  DIGIT(R3)
#endif
#if STAGES > 4
  DIGIT(R4)
#endif
#if STAGES > 5
  DIGIT(R5)
#endif
  return at;
}
