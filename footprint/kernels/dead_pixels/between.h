/* A dead pixel's value between its good neighbours u at before and v at after, by distance. */
DEVICE f32 between(f32 u, f32 v, i64 before, i64 x, i64 after) {
  return u + (v - u) * ((f32)(x - before) / (f32)(after - before));
}
