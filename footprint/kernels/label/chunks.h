/* For every pixel i of each 256 of a chunk c that are flagged; n chunks. Constants: CHUNK pixels. */
#define WORDS (CHUNK / 32)
#define FLAGGED_CHUNKS(flags, body) \
  for (i32 c = GID(0); c < n; c += GROUPS(0)) { \
    u32 left = (flags)[c]; \
    for (i32 p = LID(0); left; p += 256, left >>= 1) { \
      const i32 i = c * CHUNK + p; \
      if (left & 1 && i < size) { body } \
    } \
  }
/* For every pixel i of a chunk c of n that is not 0 in labels, which says so for good, whoever writes there: each 32 work-items take a
   chunk and look at 256 of its pixels at once, and only where any of them is set. Of most of a sky no more than the flag is read. */
#define SET_PIXELS(flags, n, labels, size, body) \
  for (i32 c = GID(0) * (LID_COUNT / 32) + LID(0) / 32; c < n; c += GROUPS(0) * (LID_COUNT / 32)) { \
    u32 left = (flags)[c]; \
    for (i32 from = c * CHUNK + LID(0) % 32; left; from += 256, left >>= 1) { \
      u32 set = 0; \
      if (left & 1) UNROLL for (i32 k = 0; k < 8; k++) set |= (u32)(from + 32 * k < size && labels[from + 32 * k] != 0) << k; \
      for (; set; set &= set - 1) { \
        const i32 i = from + 32 * (31 - CLZ(set & (0 - set))); \
        body \
      } \
    } \
  }
#define LID_COUNT 256 /* work-items of a group */
/* those where anything is set */
#define SET_CHUNKS(body) FLAGGED_CHUNKS(chunks + n, body)
