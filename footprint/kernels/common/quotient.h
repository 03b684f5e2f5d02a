/* Quotients of what is near, from 0 on: upper halves of products with the inverse of what divides, which is no 1. */
#define INVERSE(n) (0xffffffffu / (n) + 1)
#define QUOTIENT(n, inverse) ((int)((u64)(u32)(n) * (inverse) >> 32))
