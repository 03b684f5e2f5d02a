/* Where `count` rows of a plane begin, from row `begin` on: listed on the chip once for a strip, so that whoever goes down it does not
   ask at every row whether the image ends there. The `last` of those asked for stands once more for all beyond it; -1 is a row
   beyond a constant border. Before and after goes a BARRIER(). */
DEVICE void list_rows(LOCAL i64 *places, int count, i64 begin, int last, i64 height, i64 width, const int code) {
  for (int i = LID(0); i < count; i += NT) {
    const i64 y = bordered(begin + (i < last ? i : last - 1), height, code);
    places[i] = y < 0 ? -1 : y * width;
  }
}
