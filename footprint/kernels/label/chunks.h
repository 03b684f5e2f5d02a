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
/* For every pixel i of a chunk c of n that is not 0 in labels, which says so for good, whoever writes there: each 32 work-items of a
   group of 256 take a chunk, or 256 of its pixels where groups are enough for that, and look at 256 at once, if any is set. Of most of a
   sky no more than the flag is read. */
#define SET_PIXELS(flags, n, labels, size, body) \
  const i32 parted = GROUPS(0) >= (n) ? PIECE_BITS : 0; \
  for (i32 own = GID(0) * 8 + LID(0) / 32; own < (n) << parted; own += GROUPS(0) * 8) { \
    const i32 c = own >> parted, part = own - (c << parted); \
    u32 left = (flags)[c] >> part; \
    for (i32 from = c * CHUNK + part * 256 + LID(0) % 32; left; from += 256 << parted, left = parted ? 0 : left >> 1) { \
      u32 set = 0; \
      if (left & 1) UNROLL for (i32 k = 0; k < 8; k++) set |= (u32)(from + 32 * k < size && labels[from + 32 * k] != 0) << k; \
      for (; set; set &= set - 1) { \
        const i32 i = from + 32 * (31 - CLZ(set & (0 - set))); \
        body \
      } \
    } \
  }
#define PIECE_BITS 3
#if CHUNK != 256 << PIECE_BITS
#error "CHUNK and PIECE_BITS go together"
#endif
/* those where anything is set */
#define SET_CHUNKS(body) FLAGGED_CHUNKS(chunks + n, body)
