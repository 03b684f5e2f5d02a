/* -log of the clipped share; NaN stays. */
DEVICE f32 line_integral(f32 share, f32 lowest, f32 highest) {
  return share == share ? -log(fmin(fmax(share, lowest), highest)) : share;
}
