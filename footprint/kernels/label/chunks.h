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
/* those where anything is set */
#define SET_CHUNKS(body) FLAGGED_CHUNKS(chunks + n, body)
