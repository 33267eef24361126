// Adds up numbers that stream by, of eight bytes each, 32 in a step: what is left of a packet is kept for the next one.
#include "weft/kernel.h"

enum { kAtOnce = 32, kNumbers = WEFT_KERNEL_MOST_READ / 8 };
struct sum {
  uint64_t bytes, total;
  uint32_t left, next;  // of this packet's numbers
};

WEFT_KERNEL_CODE("sum")
enum weft_kernel_next sum(struct weft_kernel_step* s) {
  struct sum* state = (struct sum*)(void*)s->state;
  const uint64_t* numbers = (const uint64_t*)(const void*)s->input;
  if (s->event == WEFT_KERNEL_CALL) {
    struct {
      uint64_t bytes, total;
    } answer = {state->bytes, state->total};
    return weft_kernel_reply(s, &answer, sizeof answer) ? WEFT_KERNEL_DONE : WEFT_KERNEL_FAILED;
  }
  if (s->event == WEFT_KERNEL_PAYLOAD) {
    state->bytes += s->input_bytes;
    state->left = s->input_bytes / 8;
    state->next = 0;
  }
  // A mask says how large a number is at most; DPDK's verifier makes less of a comparison.
  const uint32_t first = state->next & (kNumbers - kAtOnce), left = state->left;
  uint64_t total = 0;
#pragma unroll
  for (uint32_t i = 0; i < kAtOnce; ++i) {
    // All ones if there is such a number, and zeros if not: a branch would double the ways through the program. The
    // compiler is not to see that it is a comparison.
    int64_t behind = (int64_t)i - left;
    __asm__("" : "+r"(behind));
    total += numbers[first + i] & (uint64_t)(behind >> 63);
  }
  state->total += total;
  if (left <= kAtOnce) return WEFT_KERNEL_WAIT;
  state->left = left - kAtOnce;
  state->next = first + kAtOnce;
  return WEFT_KERNEL_AGAIN;
}
