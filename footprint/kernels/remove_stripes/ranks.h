/* Floats as numbers that are ordered as they are, and back. */
#define TOP 0x80000000u

DEVICE u32 key_of(const f32 v) {
  const u32 bits = v == 0 ? 0 : AS_U32(v);
  return bits & TOP ? ~bits : bits | TOP;
}
DEVICE f32 value_of(const u32 key) { return AS_F32(key & TOP ? key ^ TOP : ~key); }
