/* Pixels beside a pixel, and what is known of a component's best pass. Constants: T, WIDE (T is f64). */

/* the pixel one way from i: rows before, of and after it, from left to right, are 0 to 8, and 4 is i; -1 beyond the image, and where
   a corner is no neighbour: without reach one of the two pixels beside it has to be set */
DEVICE i32 towards(volatile GLOBAL const i32 *nodes, i32 i, i32 x, i32 way, i32 reach, i32 size, i32 width)
{
  const i32 dx = way % 3 - 1;
  const i64 to = (i64)i + (i64)(way / 3 - 1) * width + dx;
  if (way == 4 || x + dx < 0 || x + dx >= width || to < 0 || to >= size) return -1;
  return reach || way % 2 || nodes[i + dx] || nodes[to - dx] ? (i32)to : -1;
}

/* the same where it is higher than i, of another basin, else -1 */
DEVICE i32 over(GLOBAL const T *pixels, GLOBAL const i32 *nodes, i32 i, i32 x, i32 way, i32 reach, i32 size, i32 width)
{
  const i32 to = towards(nodes, i, x, way, reach, size, width);
  if (to < 0 || nodes[to] == 0 || nodes[to] == nodes[i]) return -1;
  return pixels[to] > pixels[i] || (pixels[to] == pixels[i] && way < 4) ? to : -1;
}

/* most have nothing to add to what is known */
DEVICE void raise(volatile GLOBAL i32 *basins, i32 k, i32 column, u32 key)
{
  if ((u32)BASIN(k, column) < key) ATOMIC_MAX_G((GLOBAL u32 *)&BASIN(k, column), key);
}

#if WIDE
DEVICE void raise_low(GLOBAL i32 *basins, i32 k, u64 key)
{
  if ((u32)BASIN(k, TOP) == HIGH_WORD(key)) raise(basins, k, LOW, (u32)key);
}
#define IS_BEST(k, key) ((u32)BASIN(k, TOP) == HIGH_WORD(key) && (u32)BASIN(k, LOW) == (u32)(key))
#else
#define IS_BEST(k, key) ((u32)BASIN(k, TOP) == (key))
#endif
