/* Basins: a row of whole numbers each, and two of f64, its summit's value and the height of its pass. Some columns serve twice.
   Constants: PARTS (the image comes in parts of rows; AT, FIRST and PLACE are places in all of it, and with PIXELS may be over 2^31). */
#define AT 0       /* where its summit is */
#define FIRST 1    /* and the first of its PIXELS */
#define PIXELS 2
#define TOP 3      /* of a component's best pass: the ordered bits of its height, high and low word, */
#define LOW 4
#define PLACE 5    /* its lower pixel, */
#define WAY 6      /* which way the other lies, */
#define LOWER 7    /* and the basins of both; of a component that was hooked they stay */
#define HIGHER 8
#define PART 9     /* the component of the forest */
#define TO 10      /* what that was hooked to, or itself */
#define TREE 3     /* when the forest has grown: towards the highest basin of its tree, */
#define OWNER 4    /* towards the source it belongs to, */
#define MANY 10    /* and whether its tree holds several */
#define NUMBER 9   /* of a source */
#define LABEL 6    /* of the source it belongs to */
#if PARTS
#define LINK 11       /* the basin it is a piece of, across the edges of parts, or towards it */
#define LIVE 12       /* of a component: the first row of the last part that it reaches into */
#define OLD_PLACE 13  /* the pass that the forest of earlier parts has in this row */
#define OLD_WAY 14
#define OLD_LOWER 15
#define OLD_HIGHER 16
#define COLUMNS 17
#else
#define COLUMNS 11
#endif
#define BASIN(k, column) basins[(i64)(k) * COLUMNS + (column)]
#define NOWHERE 0x7fffffff
#define EVERY(k, count) for (i32 k = GID(0) * 256 + LID(0); k < (count); k += GROUPS(0) * 256)

/* the end of a chain; the way there is halved, which others may do meanwhile: whatever they leave leads to the same end */
DEVICE i32 end_of(volatile GLOBAL i32 *basins, i32 column, i32 k)
{
  i32 up = BASIN(k, column);
  while (up != k) {
    const i32 next = BASIN(up, column);
    if (next != up) BASIN(k, column) = next;
    k = next;
    up = BASIN(k, column);
  }
  return k;
}
