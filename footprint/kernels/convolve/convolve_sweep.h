/* One pass of convolve.knl over the rows of the mask for its columns k0 to k0 + COLS; included once a COLS. RY rows of
   inputs slide through v, whose slots rotate as the inner loop is written out: nothing moves between registers, and the
   code stays within the instruction cache however tall the mask (all taps written out: 31 x 31 is 240 KB of code).
   Chains end after every FLUSH rows of the mask, counted from its first, whatever RY: outputs are summed in one order. */
#define SPAN ((SHIFT + RX + COLS - 1 + VEC - 1) / VEC)
#if LEVELS && !LINE
#define CHAIN_ENDS(i) if ((i) % FLUSH == 0) ADD_UP
#else
#define CHAIN_ENDS(i)
#endif
{
  T v[RY][SPAN * VEC];
  UNROLL for (int r = 0; r < RY - 1; r++) UNROLL for (int q = 0; q < SPAN; q++) FETCH(v[r], q, r);
  NO_UNROLL for (int i0 = 0; i0 + RY <= KH; i0 += RY) UNROLL for (int u = 0; u < RY; u++) {
    UNROLL for (int q = 0; q < SPAN; q++) FETCH(v[(u + RY - 1) % RY], q, i0 + u + RY - 1);
    UNROLL for (int j = 0; j < COLS; j++) {
      const T w = weights[(i0 + u) * KW + k0 + j];
      UNROLL for (int rr = 0; rr < RY; rr++) UNROLL for (int c = 0; c < RX; c++) acc[rr][c] =
          FMA(w, v[(u + rr) % RY][SHIFT + c + j], acc[rr][c]);
    }
    CHAIN_ENDS((RY % FLUSH ? i0 : 0) + u + 1);
  }
  UNROLL for (int u = 0; u < KH % RY; u++) {
    const int i = KH / RY * RY + u;
    UNROLL for (int q = 0; q < SPAN; q++) FETCH(v[(u + RY - 1) % RY], q, i + RY - 1);
    UNROLL for (int j = 0; j < COLS; j++) {
      const T w = weights[i * KW + k0 + j];
      UNROLL for (int rr = 0; rr < RY; rr++) UNROLL for (int c = 0; c < RX; c++) acc[rr][c] =
          FMA(w, v[(u + rr) % RY][SHIFT + c + j], acc[rr][c]);
    }
    CHAIN_ENDS(i + 1);
  }
#if LEVELS && !LINE
  if (KH % FLUSH) ADD_UP;
#elif LEVELS
  if (k0 / KC % FLUSH == FLUSH - 1) ADD_UP;
#endif
}
#undef CHAIN_ENDS
#undef SPAN
