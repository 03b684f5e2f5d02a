/* Units that multiply matrices: 16 x 8 by 8 x 8 numbers, of each of which they read the first 11 bits, or 16 x 16 by 16 x 8 halves, two a
   word; sums are added to what is in `d`. Of a matrix that work-item `lane` of 32 holds a part of: rows lane / 4 and 8 more, in columns
   lane % 4 and 4 more; of the other one rows lane % 4 and 4 more, of column lane / 4; of the sums rows as of the first, in columns
   lane % 4 * 2 and the one after it. Of halves pairs lie where those numbers would. */
DEVICE void multiply(f32 *d, const u32 *a, const u32 b0, const u32 b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
DEVICE void multiply_halves(f32 *d, const u32 *a, const u32 b0, const u32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
DEVICE u32 add_halves(const u32 a, const u32 b) {
  u32 sum;
  asm("add.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
  return sum;
}
/* What stands there, as more of its line of memory is soon asked for: 256 bytes come at once. */
DEVICE u16 read_more(GLOBAL const u16 *p) { u16 v; asm volatile("ld.global.nc.L2::256B.u16 %0, [%1];" : "=h"(v) : "l"(p)); return v; }
DEVICE u32 read_more(GLOBAL const u32 *p) { u32 v; asm volatile("ld.global.nc.L2::256B.u32 %0, [%1];" : "=r"(v) : "l"(p)); return v; }
DEVICE u64 read_more(GLOBAL const u64 *p) { u64 v; asm volatile("ld.global.nc.L2::256B.u64 %0, [%1];" : "=l"(v) : "l"(p)); return v; }
DEVICE f32x2 read_more(GLOBAL const f32x2 *p) {
  f32x2 v;
  asm volatile("ld.global.nc.L2::256B.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "l"(p));
  return v;
}
DEVICE f32x4 read_more(GLOBAL const f32x4 *p) {
  f32x4 v;
  asm volatile("ld.global.nc.L2::256B.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p));
  return v;
}
/* Two numbers rounded to halves, the first in the lower ones. */
DEVICE u32 halves(const f32 a, const f32 b) {
  u32 both;
  asm("cvt.rn.f16x2.f32 %0, %2, %1;" : "=r"(both) : "f"(a), "f"(b));
  return both;
}
/* The larger of a and |v|, NaN where either is. */
DEVICE f32 most_of(const f32 a, const f32 v) {
  f32 most;
  asm("{.reg .f32 t; abs.f32 t, %2; max.NaN.f32 %0, %1, t;}" : "=f"(most) : "f"(a), "f"(v));
  return most;
}
