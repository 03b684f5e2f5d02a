/* The dialect of the kernel texts on a processor, for tests: work-items of a group are fibers, one after another from barrier to barrier.
   Lanes of 32 meet where they hand numbers on, or multiply matrices. */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
#include <vector>
typedef int8_t i8;
typedef uint8_t u8;
typedef int16_t i16;
typedef uint16_t u16;
typedef int32_t i32;
typedef uint32_t u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
struct alignas(8) f32x2 { f32 x, y; };
struct alignas(16) f32x4 { f32 x, y, z, w; };
static f32x2 make_f32x2(f32 a, f32 b) { return {a, b}; }
static f32x4 make_f32x4(f32 a, f32 b, f32 c, f32 d) { return {a, b, c, d}; }

enum State { RUNS, AT_LANES, AT_GROUP, ENDED };
struct Fiber { ucontext_t context; std::vector<char> stack; State state; int lid, turn; };
static std::vector<Fiber> fibers;
static ucontext_t scheduler;
static Fiber *now;
static i32 gid[3], grid[3];
static void (*work)();
/* What lanes hand each other, twice: who comes first to the next hand-over does not overwrite what the last one still reads. */
static u32 handed[2][1024][8];
static char *chip_bytes;

static void wait_at(State state) {
  now->state = state;
  swapcontext(&now->context, &scheduler);
}
static u32 (*hand(const u32 *words, int n))[8] {
  u32(*slots)[8] = handed[now->turn++ & 1];
  memcpy(slots[now->lid], words, 4 * n);
  wait_at(AT_LANES);
  return slots + now->lid / 32 * 32;
}
static void fiber() {
  work();
  now->state = ENDED;
  swapcontext(&now->context, &scheduler);
}
static void run_group(int items) {
  fibers.resize(items);
  for (int i = 0; i < items; i++) {
    Fiber &one = fibers[i];
    one.stack.resize(128 << 10);
    one.state = RUNS, one.lid = i, one.turn = 0;
    getcontext(&one.context);
    one.context.uc_stack.ss_sp = one.stack.data(), one.context.uc_stack.ss_size = one.stack.size();
    makecontext(&one.context, fiber, 0);
  }
  for (bool left = true; left;) {
    left = false;
    for (int first = 0; first < items; first += 32) for (;;) {
      int counts[4] = {0, 0, 0, 0};
      for (int i = first; i < first + 32 && i < items; i++) {
        now = &fibers[i];
        if (now->state == RUNS) swapcontext(&scheduler, &now->context);
        counts[fibers[i].state]++;
      }
      if (counts[AT_LANES] == 0) {
        left |= counts[AT_GROUP] > 0;
        break;
      }
      if (counts[AT_GROUP] > 0) fprintf(stderr, "lanes wait for others at a barrier\n"), abort();
      for (int i = first; i < first + 32 && i < items; i++) if (fibers[i].state == AT_LANES) fibers[i].state = RUNS;
    }
    for (Fiber &one : fibers) if (one.state == AT_GROUP) one.state = RUNS;
  }
}

#define KERNEL(x, y, z) static void
#define DEVICE static inline
#define GLOBAL
#define LOCAL
#define RESTRICT
#define SHARED(T, name, n) static T name[n]
#define SHARED_BIG(T, name, n) T *const name = (T *)chip_bytes
#define GID(d) gid[d]
#define GROUPS(d) grid[d]
#define LID(d) ((d) == 0 ? now->lid : 0)
#define BARRIER() wait_at(AT_GROUP)
#define COPY(to, from) (*(to) = *(from))
#define COPIES_BEGUN()
#define COPIES_DONE()
#define STORE_ONCE(p, v) (*(p) = (v))
#define UNROLL
#define NO_UNROLL
#define MAKE2(T, ...) MAKE_NAMED(T, __VA_ARGS__)
#define MAKE4(T, ...) MAKE_NAMED(T, __VA_ARGS__)
#define MAKE_NAMED(T, ...) make_##T(__VA_ARGS__)
#define FMA(a, b, c) fmaf(a, b, c)
template <class To, class From> static To bits_of(From v) { To to; memcpy(&to, &v, 4); return to; }
#define AS_I32(x) bits_of<i32>((f32)(x))
#define AS_U32(x) bits_of<u32>((f32)(x))
#define AS_F32(x) bits_of<f32>((u32)(x))
#define SHUFFLE_FROM(x, lane) from_lane(x, lane)
#define SHUFFLE_XOR(x, n) from_lane(x, now->lid % 32 ^ (n))
template <class X> static X from_lane(X x, int lane) {
  u32 word;
  memcpy(&word, &x, 4);
  word = hand(&word, 1)[lane][0];
  memcpy(&x, &word, 4);
  return x;
}
static int __any_sync(u32, int is) {
  const u32 word = is != 0;
  u32(*const all)[8] = hand(&word, 1);
  int any = 0;
  for (int i = 0; i < 32; i++) any |= (int)all[i][0];
  return any;
}
static u32 __byte_perm(u32 a, u32 b, u32 which) {
  const u64 both = (u64)b << 32 | a;
  u32 found = 0;
  for (int i = 0; i < 4; i++) found |= (u32)(both >> (which >> 4 * i & 7) * 8 & 0xff) << 8 * i;
  return found;
}
static f32 half_to_float(u16 h) { _Float16 f; memcpy(&f, &h, 2); return (f32)f; }
static u16 float_to_half(f32 v) { const _Float16 f = (_Float16)v; u16 h; memcpy(&h, &f, 2); return h; }
static u32 add_halves(u32 a, u32 b) {
  u32 sum = 0;
  for (int h = 0; h < 32; h += 16) sum |= (u32)float_to_half(half_to_float((u16)(a >> h)) + half_to_float((u16)(b >> h))) << h;
  return sum;
}
template <class X> static X read_more(const X *p) { return *p; }
static u32 halves(f32 a, f32 b) { return float_to_half(a) | (u32)float_to_half(b) << 16; }
static f32 most_of(f32 a, f32 v) { return std::isnan(a) || std::isnan(v) ? NAN : fmaxf(a, fabsf(v)); }
/* Of words that lanes hold of two matrices, `deep` rows of numbers each, what `number` reads. */
template <class Number> static void products(f32 *d, const u32 *a, u32 b0, u32 b1, int deep, Number number) {
  const u32 words[6] = {a[0], a[1], a[2], a[3], b0, b1};
  u32(*const all)[8] = hand(words, 6);
  const int lane = now->lid % 32, each = deep / 8;
  for (int k = 0; k < 4; k++) {
    const int row = lane / 4 + k / 2 * 8, column = lane % 4 * 2 + k % 2;
    double sum = d[k];
    for (int i = 0; i < deep; i++) {
      const int word = i / each % 4, half = i / (deep / 2), part = i % each;
      sum += (double)number(all[row % 8 * 4 + word][row / 8 + 2 * half], part) * number(all[column * 4 + word][4 + half], part);
    }
    d[k] = (f32)sum;
  }
}
static void multiply(f32 *d, const u32 *a, u32 b0, u32 b1) {
  products(d, a, b0, b1, 8, [](u32 word, int) { return AS_F32(word & 0xffffe000u); });
}
static void multiply_halves(f32 *d, const u32 *a, u32 b0, u32 b1) {
  products(d, a, b0, b1, 16, [](u32 word, int part) { return half_to_float((u16)(word >> 16 * part)); });
}
/* Columns on the chip: of every 8, the first 8 numbers of each, then the others. */
static u64 on_chip(const f32x4 *numbers) { return (u64)numbers / 16; }
static void multiply_columns(f32 *d, const u32 *a, u64 place, int columns, int more) {
  u32(*const all)[8] = hand(a, 4);
  const int lane = now->lid % 32;
  const u16 *const chip = (const u16 *)(place * 16);
  for (int k = 0; k < columns / 2; k++) {
    const int row = k / 2 % 2, column = k / 4 * 8 + lane % 4 * 2 + k % 2;
    double sum = more ? d[k] : 0;
    for (int i = 0; i < 16; i++) {
      const u32 word = all[lane / 4 * 4 + i % 8 / 2][row + i / 8 * 2];
      sum += (double)half_to_float((u16)(word >> i % 2 * 16)) * half_to_float(chip[(column / 8 * 2 + i / 8) * 64 + column % 8 * 8 + i % 8]);
    }
    d[k] = (f32)sum;
  }
}
#define SHOWN()
#define BEGIN_PRODUCTS()
#define END_PRODUCTS()
#define WAIT_FORMER_PRODUCTS()
#define WAIT_PRODUCTS()
#define HAVE_SUM(v)
/* A pointer of whatever type an entry asks for. */
struct Pointer { void *p; template <class X> operator X *() const { return (X *)p; } };
static void run(int x, int y, int z, int items, void (*entry)()) {
  work = entry;
  grid[0] = x, grid[1] = y, grid[2] = z;
  for (gid[2] = 0; gid[2] < z; gid[2]++) for (gid[1] = 0; gid[1] < y; gid[1]++) for (gid[0] = 0; gid[0] < x; gid[0]++) run_group(items);
}
