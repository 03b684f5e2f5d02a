/* Complex numbers Z of parts T (WIDE 1: f64), and transforms of 2, 4, 8, 16 and 32 of them, forward and in place: dft2 ... dft32.
   swap(DFT(swap(z))) is the inverse transform of z, where swap exchanges the parts of every number. */
#if WIDE
#define NUMBER(x) x
#else
#define NUMBER(x) x##f
#endif

DEVICE Z add(Z a, Z b) { return MAKE2(Z, a.x + b.x, a.y + b.y); }
DEVICE Z sub(Z a, Z b) { return MAKE2(Z, a.x - b.x, a.y - b.y); }
DEVICE Z mul(Z a, Z b) { return MAKE2(Z, FMA(a.x, b.x, -a.y * b.y), FMA(a.x, b.y, a.y * b.x)); }

/* exp(-2 pi i k / 32) */
CONSTANT T COS32[32] = {
  NUMBER(1.0), NUMBER(0.98078528040323044913), NUMBER(0.92387953251128675613), NUMBER(0.83146961230254523708),
  NUMBER(0.70710678118654752440), NUMBER(0.55557023301960222474), NUMBER(0.38268343236508977173), NUMBER(0.19509032201612826785),
  NUMBER(0.0), NUMBER(-0.19509032201612826785), NUMBER(-0.38268343236508977173), NUMBER(-0.55557023301960222474),
  NUMBER(-0.70710678118654752440), NUMBER(-0.83146961230254523708), NUMBER(-0.92387953251128675613), NUMBER(-0.98078528040323044913),
  NUMBER(-1.0), NUMBER(-0.98078528040323044913), NUMBER(-0.92387953251128675613), NUMBER(-0.83146961230254523708),
  NUMBER(-0.70710678118654752440), NUMBER(-0.55557023301960222474), NUMBER(-0.38268343236508977173), NUMBER(-0.19509032201612826785),
  NUMBER(0.0), NUMBER(0.19509032201612826785), NUMBER(0.38268343236508977173), NUMBER(0.55557023301960222474),
  NUMBER(0.70710678118654752440), NUMBER(0.83146961230254523708), NUMBER(0.92387953251128675613), NUMBER(0.98078528040323044913)};
#define TURN32(k) MAKE2(Z, COS32[(k) & 31], COS32[((k) + 8) & 31])

DEVICE void dft2(Z *x) { const Z a = x[0]; x[0] = add(a, x[1]); x[1] = sub(a, x[1]); }
DEVICE void dft4(Z *x)
{
  const Z a = add(x[0], x[2]), b = sub(x[0], x[2]), c = add(x[1], x[3]), d = sub(x[1], x[3]);
  x[0] = add(a, c);
  x[1] = MAKE2(Z, b.x + d.y, b.y - d.x);
  x[2] = sub(a, c);
  x[3] = MAKE2(Z, b.x - d.y, b.y + d.x);
}
/* R = S * Q, a DFT of S over each residue mod Q, a turn, a DFT of Q; R divides 32, and a quarter of a turn takes no product */
#define COMPOSITE(R, S, Q) \
  DEVICE void dft##R(Z *x) \
  { \
    Z y[R]; \
    UNROLL for (i32 q = 0; q < Q; q++) { \
      Z v[S]; \
      UNROLL for (i32 s = 0; s < S; s++) v[s] = x[q + Q * s]; \
      dft##S(v); \
      UNROLL for (i32 s = 0; s < S; s++) { \
        if (s * q == 0) y[s * Q + q] = v[s]; \
        else if (4 * s * q == R) y[s * Q + q] = MAKE2(Z, v[s].y, -v[s].x); \
        else y[s * Q + q] = mul(v[s], TURN32(s * q * (32 / R))); \
      } \
    } \
    UNROLL for (i32 s = 0; s < S; s++) { \
      dft##Q(y + s * Q); \
      UNROLL for (i32 q = 0; q < Q; q++) x[s + S * q] = y[s * Q + q]; \
    } \
  }
COMPOSITE(8, 2, 4)
COMPOSITE(16, 4, 4)
COMPOSITE(32, 4, 8)
#define DFT_(R) dft##R
#define DFT(R) DFT_(R)
