// GET as a client's own kernel: what the kernel `get` of Weft does, as bytecode that the client brings along.
//   clang-14 -target bpf -mcpu=v2 -O2 -ffreestanding -I PREFIX/include -c get.c
#include "weft/kernel.h"
#include "weft/shipped_kernels.h"

struct get {
  uint64_t key, address;  // of what is left of the value
  uint32_t left;
  uint32_t is_found;
};

static inline enum weft_kernel_next read_on(struct weft_kernel_step* s, const struct get* g) {
  if (g->left == 0) return WEFT_KERNEL_DONE;
  return weft_kernel_read(s, g->address, g->left < WEFT_KERNEL_MOST_READ ? g->left : WEFT_KERNEL_MOST_READ);
}

WEFT_KERNEL_CODE("get")
enum weft_kernel_next get(struct weft_kernel_step* s) {
  struct get* g = (struct get*)(void*)s->state;
  if (s->event == WEFT_KERNEL_CALL) {
    const struct weft_get_call* call = (const struct weft_get_call*)(const void*)s->input;
    if (s->input_bytes != sizeof *call || call->key == 0) return WEFT_KERNEL_FAILED;
    g->key = call->key;
    return weft_kernel_read(s, call->entry, sizeof(struct weft_get_entry));
  }
  if (s->event != WEFT_KERNEL_DATA) return WEFT_KERNEL_FAILED;
  if (g->is_found) {
    if (!weft_kernel_reply(s, s->input, s->input_bytes)) return WEFT_KERNEL_FAILED;
    g->address += s->input_bytes;
    g->left -= s->input_bytes;
    return read_on(s, g);
  }
  const struct weft_get_entry* entry = (const struct weft_get_entry*)(const void*)s->input;
  uint64_t value = 0;
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    if (entry->keys[i] == g->key) {
      value = entry->values[i];
      g->is_found = 1;
    }
  }
  if (g->is_found) {
    g->address = value & (~(uint64_t)0 >> 16);
    g->left = (uint32_t)(value >> 48);
    return read_on(s, g);
  }
  return entry->next == 0 ? WEFT_KERNEL_DONE : weft_kernel_read(s, entry->next, sizeof *entry);
}
