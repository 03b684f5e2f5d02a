/* Index in [0, n) of the sample that stands at any place i of a line of n; -1 for what is outside. Codes: borders.CODES. Most are one side
   away, and no remainder is taken for them. `bordered_of_few` is for lines of less than 2^30. */
#define BORDERED(name, I) \
  DEVICE I name(I i, const I n, const int code) { \
    if (i >= 0 && i < n) return i; \
    if (code == 1) return i < 0 ? 0 : n - 1; \
    if (code == 2) { \
      if (i < 0) i = -1 - i; \
      if (i >= 2 * n) i %= 2 * n; \
      return i < n ? i : 2 * n - 1 - i; \
    } \
    if (code == 3) { \
      if (n == 1) return 0; \
      if (i < 0) i = -i; \
      if (i >= 2 * n - 2) i %= 2 * n - 2; \
      return i < n ? i : 2 * n - 2 - i; \
    } \
    if (code == 4) { \
      i += i < 0 ? n : -n; \
      if (i >= 0 && i < n) return i; \
      i %= n; \
      return i < 0 ? i + n : i; \
    } \
    return -1; \
  }
BORDERED(bordered, i64)
BORDERED(bordered_of_few, i32)
