/* Index in [0, n) of the sample that stands at any place i of a line of n; -1 for what is outside. Codes: borders.CODES. */
DEVICE i64 bordered(i64 i, const i64 n, const int code) {
  if (i >= 0 && i < n) return i;
  if (code == 1) return i < 0 ? 0 : n - 1;
  /* most are one side away, and no remainder is taken for them */
  if (code == 2) {
    if (i < 0) i = -1 - i;
    if (i >= 2 * n) i %= 2 * n;
    return i < n ? i : 2 * n - 1 - i;
  }
  if (code == 3) {
    if (n == 1) return 0;
    if (i < 0) i = -i;
    if (i >= 2 * n - 2) i %= 2 * n - 2;
    return i < n ? i : 2 * n - 2 - i;
  }
  if (code == 4) {
    i += i < 0 ? n : -n;
    if (i >= 0 && i < n) return i;
    i %= n;
    return i < 0 ? i + n : i;
  }
  return -1;
}
