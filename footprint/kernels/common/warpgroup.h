/* Units that multiply matrices of halves for a group's 128 work-items together (compute capability 9.0a): 64 lines of 16 numbers, 16 lines
   a warp, which work-items hold as they hold the first matrix of `multiply_halves` in units.h; by columns of 16 numbers on the chip. For
   every 8 columns they hold sums as there. All of them begin products, and wait for them,
   or for all but those begun last, before they look at sums or change numbers. */
#define BEGIN_PRODUCTS() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define END_PRODUCTS() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT_FORMER_PRODUCTS() asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory")
#define WAIT_PRODUCTS() asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory")
/* A sum that has been waited for. */
#define HAVE_SUM(v) asm volatile("" : "+f"(v)::"memory")
/* What is written to the chip, before units read it. */
#define SHOWN() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define SUM4(d, k) "+f"((d)[k]), "+f"((d)[k + 1]), "+f"((d)[k + 2]), "+f"((d)[k + 3])
#define SUM16(d, k) SUM4(d, k), SUM4(d, k + 4), SUM4(d, k + 8), SUM4(d, k + 12)
#define SUMS_8(d) SUM4(d, 0), SUM4(d, 4)
#define SUMS_16(d) SUM16(d, 0)
#define SUMS_24(d) SUM16(d, 0), SUM4(d, 16), SUM4(d, 20)
#define SUMS_32(d) SUM16(d, 0), SUM16(d, 16)
#define NAMES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define NAMES_16 NAMES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define NAMES_24 NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define NAMES_32 NAMES_24 ", %24, %25, %26, %27, %28, %29, %30, %31"
/* Operands behind the sums of a work-item: four words of the first matrix, where the other one lies, and whether sums are added to. */
#define MULTIPLY(columns, sums, words, place, add) \
  DEVICE void multiply_##columns(f32 *d, const u32 *a, const u64 numbers, const int more) { \
    asm volatile("{.reg .pred p; setp.ne.b32 p, " add ", 0; wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32.f16.f16 " \
                 "{" NAMES_##sums "}, {" words "}, " place ", p, 1, 1, 0;}" \
                 : SUMS_##sums(d) \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(numbers), "r"(more)); \
  }
MULTIPLY(16, 8, "%8, %9, %10, %11", "%12", "%13")
MULTIPLY(32, 16, "%16, %17, %18, %19", "%20", "%21")
MULTIPLY(48, 24, "%24, %25, %26, %27", "%28", "%29")
MULTIPLY(64, 32, "%32, %33, %34, %35", "%36", "%37")
/* Where columns lie. Of every 8 the first 8 numbers of each lie one after another, then the others: 16 places. */
DEVICE u64 on_chip(LOCAL const f32x4 *numbers) {
  /* in units of 16 bytes: where they begin, how far on the others lie, and the next 8 columns */
  return (u64)(((u32)__cvta_generic_to_shared(numbers) & 0x3ffff) >> 4 | 8 << 16) | (u64)16 << 32;
}
/* 16, 32, 48 or 64 columns, and what is in `d` where there is `more`. */
DEVICE void multiply_columns(f32 *d, const u32 *a, const u64 place, const int columns, const int more) {
  if (columns == 16) multiply_16(d, a, place, more);
  else if (columns == 32) multiply_32(d, a, place, more);
  else if (columns == 48) multiply_48(d, a, place, more);
  else multiply_64(d, a, place, more);
}
