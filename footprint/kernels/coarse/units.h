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
