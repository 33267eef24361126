// Kernels that come with Weft (docs/kernels.md), and their parameters. For C and C++, with weft/dv.h or weft/device.h.
//
//   struct weft_kernel kernel;
//   weft_shipped_kernel("get", &kernel);  // then, if wanted, another opcode, most_steps, instances
//   weftdv_deploy_kernel(context, &kernel);
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weft/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

// "traverse", "get" or "consistent", with its own op-code. False: there is none of this name.
bool weft_shipped_kernel(const char* name, struct weft_kernel* kernel);

// ---- traverse: from an element of a structure to the next, until a key matches; then the value that belongs to it

enum { WEFT_TRAVERSE_ELEMENT_BYTES = 64 };

enum weft_traverse_predicate {  // the key sought, and the one there
  WEFT_TRAVERSE_EQUAL,
  WEFT_TRAVERSE_LESS_THAN,
  WEFT_TRAVERSE_GREATER_THAN,
  WEFT_TRAVERSE_NOT_EQUAL,
};

// Positions are in words of 4 bytes in an element of 64 bytes. The answer: the value, or nothing if there is no such
// key.
struct weft_traverse_call {
  uint64_t address;  // of the first element
  uint64_t key;
  uint32_t value_bytes;
  uint16_t key_mask;       // where there are keys, of 8 bytes: bit i is word i
  uint8_t predicate;       // enum weft_traverse_predicate
  uint8_t value_position;  // of the pointer to the value: in the element,
  bool is_relative;        //   or from the key that matches
  bool has_next;
  uint8_t next_position;  // of the pointer to the next element, if no key matches; 0 there ends it
  // Trees: so often what belongs to a key that matches is another element, and not the value. The last time keys are
  // compared by `last_predicate`.
  uint8_t levels;
  uint8_t last_predicate;
  uint8_t unused[7];
};

// ---- get: GET of a hash table whose entries have three buckets, and a chain for keys that found no room

struct weft_get_entry {
  uint64_t keys[3];    // 0: nobody's
  uint64_t values[3];  // where the value is, in the lower 48 bits; its length in the upper 16
  uint64_t next;       // the entry that goes on, or 0
  uint64_t unused;
};

// The answer: the value, and nothing for a key that is not there.
struct weft_get_call {
  uint64_t entry;  // where the caller's hash of the key leads
  uint64_t key;    // not 0
};

// ---- consistent: an object that its owner may be changing is read until its checksum is right

// The checksum is in the object's last eight bytes. The answer: the object without it.
struct weft_consistent_call {
  uint64_t address;
  uint32_t bytes;  // of the object and its checksum: at most 16 KB
  uint32_t tries;  // then the call fails
};
// CRC-64 (ECMA-182, reflected).
uint64_t weft_checksum(const void* bytes, size_t count);

#ifdef __cplusplus
}
#endif
