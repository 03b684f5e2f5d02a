/* Transforms of tiles of TILE x TILE complex numbers, EACH of which a work-item has in registers. Such a tile is one of TILE x 2 TILE real
   samples: column c and column c + TILE are the parts of a number, turned by the c-th power of exp(2 pi i / (4 TILE)). The transform is
   then that of the samples at places where the polynomial X^(2 TILE) is -1, so that what products carry beyond the last column comes back
   to the first with its sign turned, and half a tile is never mixed up with another tile's. A line of TILE = R1 * R2 goes through a
   transform of R1, turns, and one of R2, and its frequencies stay in the order that leaves; the mask's went the same way, and the
   way back undoes it. S is the type of the image's samples. After borders.h, dft.h and scaled.h. */
#define NT (TILE * TILE / EACH)
#define SPAN (TILE / EACH)
/* Where column k lies in its row, and the columns k R2 + t of one t, and (u + SPAN d) R2 + n of one u: with the length of a row,
   PITCH, neighbours and every R2-th are in different banks. */
#define AT(k) ((k) + (k) / 16)
#define BESIDE(k, t) (AT((k) * R2) + (t))
#define APART(u, d, n) ((SPAN * R2 % 16 ? AT(((u) + SPAN * (d)) * R2) : AT((u) * R2) + AT(SPAN * (d) * R2)) + (n))
/* Rows of a warp, which are taken in another order where neighbours are read. */
#define LINES (32 / SPAN)
#define LINE(id) ((id) / SPAN)
#define OTHER_LINE(id) ((id) / 32 * LINES + LINE(id) % (LINES / 2) * 2 + LINE(id) % LINES / (LINES / 2))
/* What a sample is that no output of the tile needs: 0, whatever lies there. */
#define NEEDLESS -2
/* Row of register d * R1 + j of work-item u of a column's, as samples are taken and results come. */
#define ROW_OF(u, d, j) ((u) + SPAN * (d) + R2 * (j))

/* Roots of unity of lines, and what columns are turned by. */
DEVICE void roots(LOCAL Z *w, LOCAL Z *fold) {
  for (i32 k = LID(0); k < TILE; k += NT) {
    w[k] = MAKE2(Z, COSPI((T)(2 * k) / (T)TILE), -SINPI((T)(2 * k) / (T)TILE));
    fold[k] = MAKE2(Z, COSPI((T)k / (T)(2 * TILE)), SINPI((T)k / (T)(2 * TILE)));
  }
}

/* Work-item u of those that have one column c takes rows t + R2 j for t = u, u + SPAN, ... and then frequencies k R2 + n, which stay
   in registers. */
DEVICE void columns_in(Z *x, LOCAL Z *tile, const LOCAL Z *w) {
  const i32 c = LID(0) % TILE, u = LID(0) / TILE;
  LOCAL Z *at = tile + AT(c);
  UNROLL for (i32 d = 0; d < EACH / R1; d++) {
    const i32 t = u + SPAN * d;
    DFT(R1)(x + d * R1);
    UNROLL for (i32 k = 0; k < R1; k++) at[(k * R2 + t) * PITCH] = k ? mul(x[d * R1 + k], w[t * k]) : x[d * R1];
  }
  BARRIER();
  UNROLL for (i32 d = 0; d < EACH / R2; d++) {
    const i32 k = u + SPAN * d;
    UNROLL for (i32 n = 0; n < R2; n++) x[d * R2 + n] = at[(k * R2 + n) * PITCH];
    DFT(R2)(x + d * R2);
  }
}

DEVICE void columns_forward(Z *x, LOCAL Z *tile, const LOCAL Z *w) {
  const i32 c = LID(0) % TILE, u = LID(0) / TILE;
  columns_in(x, tile, w);
  LOCAL Z *at = tile + AT(c);
  UNROLL for (i32 d = 0; d < EACH / R2; d++)
    UNROLL for (i32 n = 0; n < R2; n++) at[((u + SPAN * d) * R2 + n) * PITCH] = x[d * R2 + n];
  BARRIER();
}

/* The same along rows, from the tile to registers. */
DEVICE void rows_forward(Z *x, LOCAL Z *tile, const LOCAL Z *w) {
  const i32 u = LID(0) % SPAN;
  LOCAL Z *near = tile + OTHER_LINE(LID(0)) * PITCH, *far = tile + LINE(LID(0)) * PITCH;
  UNROLL for (i32 d = 0; d < EACH / R1; d++)
    UNROLL for (i32 k = 0; k < R1; k++) x[d * R1 + k] = near[BESIDE(k, u + SPAN * d)];
  BARRIER32();
  UNROLL for (i32 d = 0; d < EACH / R1; d++) {
    const i32 t = u + SPAN * d;
    DFT(R1)(x + d * R1);
    UNROLL for (i32 k = 0; k < R1; k++) near[BESIDE(k, t)] = k ? mul(x[d * R1 + k], w[t * k]) : x[d * R1];
  }
  BARRIER32();
  UNROLL for (i32 d = 0; d < EACH / R2; d++) {
    UNROLL for (i32 n = 0; n < R2; n++) x[d * R2 + n] = far[APART(u, d, n)];
    DFT(R2)(x + d * R2);
  }
}

/* What rows_forward did, undone for numbers whose parts are swapped. */
DEVICE void rows_back(Z *x, LOCAL Z *tile, const LOCAL Z *w) {
  const i32 u = LID(0) % SPAN;
  LOCAL Z *near = tile + OTHER_LINE(LID(0)) * PITCH, *far = tile + LINE(LID(0)) * PITCH;
  UNROLL for (i32 d = 0; d < EACH / R2; d++) {
    const i32 k = u + SPAN * d;
    DFT(R2)(x + d * R2);
    UNROLL for (i32 n = 0; n < R2; n++) far[APART(u, d, n)] = n ? mul(x[d * R2 + n], w[k * n]) : x[d * R2];
  }
  BARRIER32();
  UNROLL for (i32 d = 0; d < EACH / R1; d++) {
    UNROLL for (i32 k = 0; k < R1; k++) x[d * R1 + k] = near[BESIDE(k, u + SPAN * d)];
    DFT(R1)(x + d * R1);
  }
  BARRIER32();
  UNROLL for (i32 d = 0; d < EACH / R1; d++)
    UNROLL for (i32 k = 0; k < R1; k++) near[BESIDE(k, u + SPAN * d)] = x[d * R1 + k];
  BARRIER();
}

/* What columns_in did, undone. */
DEVICE void columns_out(Z *x, LOCAL Z *tile, const LOCAL Z *w) {
  const i32 c = LID(0) % TILE, u = LID(0) / TILE;
  LOCAL Z *at = tile + AT(c);
  UNROLL for (i32 d = 0; d < EACH / R2; d++) {
    const i32 k = u + SPAN * d;
    DFT(R2)(x + d * R2);
    UNROLL for (i32 n = 0; n < R2; n++) at[(k * R2 + n) * PITCH] = n ? mul(x[d * R2 + n], w[k * n]) : x[d * R2];
  }
  BARRIER();
  UNROLL for (i32 d = 0; d < EACH / R1; d++) {
    UNROLL for (i32 k = 0; k < R1; k++) x[d * R1 + k] = at[(k * R2 + u + SPAN * d) * PITCH];
    DFT(R1)(x + d * R1);
  }
}

DEVICE void columns_back(Z *x, LOCAL Z *tile, const LOCAL Z *w) {
  const i32 c = LID(0) % TILE, u = LID(0) / TILE;
  LOCAL Z *at = tile + AT(c);
  UNROLL for (i32 d = 0; d < EACH / R2; d++)
    UNROLL for (i32 n = 0; n < R2; n++) x[d * R2 + n] = at[((u + SPAN * d) * R2 + n) * PITCH];
  columns_out(x, tile, w);
}

/* The sample at a place whose row begins at an element of the image. */
DEVICE T sample(GLOBAL const S *RESTRICT image, i64 row, i64 column, T cval) {
  if (row >= 0 && column >= 0) return (T)image[row + column];
  return row == NEEDLESS || column == NEEDLESS ? (T)0 : cval;
}

/* What a group knows of its tile: kept in memory, as registers hold numbers while they are transformed. */
#define LARGEST 0 /* exponent */
#define ODD 1     /* 1 where the tile has what is not finite, 2 where infinities were found */
#define COUNT 2   /* columns of outputs */
#define DEEP 3    /* rows of outputs */
#define TAPS 4    /* rows and columns of the block of the mask */
#define SPAN_X 5
#define KNOWN 6

/* Samples to registers, the tile brought to the size of 1 and folded: so nothing overflows, and what rounding loses is in proportion to
   the tile's values. */
DEVICE void take_tile(Z *x, GLOBAL const S *RESTRICT image, const LOCAL i64 *begins, const LOCAL i64 *sides, T cval, const LOCAL Z *fold,
                      LOCAL i32 *known) {
  const i32 c = LID(0) % TILE, u = LID(0) / TILE;
  const i64 x1 = sides[c], x2 = sides[TILE + c];
  i32 most = 0, odd = 0;
  UNROLL for (i32 d = 0; d < EACH / R1; d++) UNROLL for (i32 j = 0; j < R1; j++) {
    const i64 begin = begins[ROW_OF(u, d, j)];
    const T one = sample(image, begin, x1, cval), other = sample(image, begin, x2, cval);
    /* What is not finite stays out of the transform, which would spread it over the tile. */
    x[d * R1 + j] = MAKE2(Z, finite(one) ? one : 0, finite(other) ? other : 0);
    most = larger(most, larger(MAGNITUDE(x[d * R1 + j].x), MAGNITUDE(x[d * R1 + j].y)));
    odd |= !finite(one) | !finite(other);
  }
  gather(&known[LARGEST], EXPONENT(most));
  if (odd) known[ODD] = 1;
  BARRIER();
  const T factor = POWER(-size_of(known[LARGEST]));
  const Z turn = fold[c];
  UNROLL for (i32 e = 0; e < EACH; e++) x[e] = mul(MAKE2(Z, x[e].x * factor, x[e].y * factor), turn);
}

/* Results of register order to where the tile's outputs begin: v.y those of the first columns, v.x of those from TILE on. */
DEVICE void settle_tile(const Z *x, GLOBAL T *out, GLOBAL T *lost, i64 to, i64 columns, const LOCAL Z *fold, LOCAL i32 *known, i32 size,
                        int more, int keep, int end) {
  const i32 c = LID(0) % TILE, u = LID(0) / TILE, deep = known[DEEP], count = known[COUNT];
  const T part = POWER(size / 2), rest = POWER(size - size / 2);
  const Z turn = MAKE2(Z, fold[c].x * part, fold[c].y * part);
  UNROLL for (i32 d = 0; d < EACH / R1; d++) UNROLL for (i32 j = 0; j < R1; j++) {
    const i32 r = ROW_OF(u, d, j);
    const i64 at = to + c + r * columns;
    const Z v = mul(x[d * R1 + j], turn);
    if (r < deep && c < count) settle(out, lost, at, v.y * rest, more, keep, end);
    if (r < deep && c + TILE < count) settle(out, lost, at + TILE, v.x * rest, more, keep, end);
  }
}

#if WIDE
#define ENDLESS AS_F64(0x7ff0000000000000)
#else
#define ENDLESS AS_F32(0x7f800000)
#endif
/* Samples are told apart by: */
#define IS_NAN 1
#define IS_MORE 2 /* infinity */
#define IS_LESS 3

/* Add what is not finite in a tile to the outputs it reaches: infinities tap by tap, NaN wherever the mask lies on it. */
DEVICE void spoil(LOCAL i8 *odd, GLOBAL const S *RESTRICT image, const LOCAL i64 *begins, const LOCAL i64 *sides, T cval,
                  GLOBAL const T *RESTRICT weights, i64 stride, LOCAL i32 *known, GLOBAL T *out, i64 columns) {
  const i32 width = 2 * TILE;
  LOCAL i8 *spread = odd + TILE * width;
  const i32 taps = known[TAPS], wide = known[SPAN_X], count = known[COUNT];
  BARRIER();
  NO_UNROLL for (i32 i = LID(0); i < TILE * width; i += NT) {
    const T value = sample(image, begins[i / width], sides[i % width], cval);
    odd[i] = finite(value) ? 0 : value != value ? IS_NAN : value > 0 ? IS_MORE : IS_LESS;
    if (odd[i] > IS_NAN) known[ODD] = 2;
  }
  BARRIER();
  NO_UNROLL for (i32 i = LID(0); i < TILE * width; i += NT) {
    i8 found = 0;
    if (i % width < count) for (i32 k = 0; k < wide; k++) if (odd[i + k] == IS_NAN) found = 1;
    spread[i] = found;
  }
  BARRIER();
  NO_UNROLL for (i32 i = LID(0); i < known[DEEP] * width; i += NT) {
    if (i % width >= count) continue;
    T sum = 0;
    NO_UNROLL for (i32 k = 0; k < taps; k++) if (spread[i + k * width]) sum = ENDLESS - ENDLESS;
    if (known[ODD] > 1) NO_UNROLL for (i32 k = 0; k < taps; k++) NO_UNROLL for (i32 l = 0; l < wide; l++) {
      const i32 what = odd[i + k * width + l];
      if (what > IS_NAN) sum += weights[k * stride + l] * (what == IS_MORE ? ENDLESS : -ENDLESS);
    }
    if (sum != 0) out[i / width * columns + i % width] += sum;
  }
  BARRIER();
}
