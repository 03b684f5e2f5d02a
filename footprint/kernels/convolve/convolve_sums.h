/* Levels of sums, so that float32 keeps its digits under masks of any size; contract.py says how much.
   LEVELS 0: one chain of products     1: chains in acc, added up in total     2: what that rounds away begins the next chain */
#if LEVELS == 0
#define ADD_UP
#define SUMS(RY, RX) T acc[RY][RX]; UNROLL for (int rr = 0; rr < RY; rr++) UNROLL for (int c = 0; c < RX; c++) acc[rr][c] = 0
#define SUM_UP
#else
#define SUMS(RY, RX) \
  T acc[RY][RX], total[RY][RX]; \
  UNROLL for (int rr = 0; rr < RY; rr++) UNROLL for (int c = 0; c < RX; c++) acc[rr][c] = total[rr][c] = 0
#define SUM_UP UNROLL for (int rr = 0; rr < RY; rr++) UNROLL for (int c = 0; c < RX; c++) acc[rr][c] += total[rr][c]
#if LEVELS == 1
#define ADD_UP \
  UNROLL for (int rr = 0; rr < RY; rr++) UNROLL for (int c = 0; c < RX; c++) total[rr][c] += acc[rr][c], acc[rr][c] = 0
#else
/* Where sums are infinite, what they lost is no number. */
#define ADD_UP \
  UNROLL for (int rr = 0; rr < RY; rr++) UNROLL for (int c = 0; c < RX; c++) { \
    const T both = total[rr][c] + acc[rr][c], lost = acc[rr][c] - (both - total[rr][c]); \
    total[rr][c] = both; \
    acc[rr][c] = lost == lost ? lost : 0; \
  }
#endif
#endif
