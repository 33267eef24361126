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

// "traverse", "get", "consistent", "update", "filter", "distinct", "checksum" or "shuffle", with its own op-code.
// False: there is none of this name.
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

// ---- update: a record of many words becomes another one if it begins as the caller expects, in one step

// Behind it come `compared` bytes as they are expected, and `bytes` as they are to be.
struct weft_update_call {
  uint64_t address;
  uint32_t compared;  // of the record, from its begin: at most `bytes`
  uint32_t bytes;
};
// Behind it come the `compared` bytes that were there before.
struct weft_update_answer {
  uint32_t is_updated;
  uint32_t bytes;  // that follow
};

// ---- kernels that take a stream: a call that begins it, RPC WRITEs of its op-code, and calls that ask for the result

enum weft_stream_ask {
  WEFT_STREAM_BEGIN,   // the answer is empty
  WEFT_STREAM_RESULT,  // the answer, and the stream goes on
  WEFT_STREAM_FINISH,  // the answer, and that was all
};

// Where bytes go that a stream leaves behind: memory of the kernel's own card, which the call's key opens, or, in local
// calls (weft/dv.h), memory of a peer.
struct weft_outlet {
  uint64_t address, room_bytes;
  uint32_t sends;  // 1: a peer's,
  uint32_t key;    //   by this key of the peer's,
  uint32_t qpn;    //   and this queue pair of ours; 0: the one that the call was posted to
  uint32_t unused;
};

// ---- filter: records whose field lies in a range are counted, and another field of theirs is added up

// Fields are unsigned, of eight bytes, at any place in a record.
struct weft_filter_call {
  uint32_t ask;                // enum weft_stream_ask; of the others only the first has all that follows
  uint32_t record_bytes;       // 8 ... 256
  uint32_t field, value;       // where the one is that decides, and the one that is added up
  uint64_t least, most;        // that the first may be
  struct weft_outlet matches;  // for records that count, one behind the other; address 0: they are not written
};
struct weft_filter_answer {
  uint64_t records, count, sum;
  uint64_t least, most;  // values of those that count
  uint64_t odd_bytes;    // at the end, that are no record
};

// ---- distinct: how many different values of eight bytes a stream has, about (HyperLogLog, 0.81 %)

enum { WEFT_SKETCH_BYTES = 16384 };

struct weft_distinct_call {
  uint32_t ask;
  uint32_t unused;
  struct weft_outlet stream;     // begin: where the stream goes as it passes; address 0: nowhere
  uint64_t merge_from, save_to;  // result, finish: registers to be merged before, or written; 0: none
};
struct weft_distinct_answer {
  uint64_t values;     // of the stream
  double distinct;     // of all that is merged
  uint64_t odd_bytes;  // at the end, that are no value
};

// ---- checksum: the CRC-64 of a stream, as of weft_checksum()

struct weft_checksum_call {
  uint32_t ask;
  uint32_t unused;
  struct weft_outlet stream;  // begin: where the stream goes as it passes; address 0: nowhere
};
struct weft_checksum_answer {
  uint64_t checksum, bytes;  // of the stream so far
};

// ---- shuffle: values of eight bytes are spread over partitions by some of their bits

struct weft_partition {
  uint64_t address, room_bytes;
};
struct weft_shuffle_call {
  uint32_t ask;
  uint32_t partitions;     // begin: a power of two, at most 1024
  uint32_t shift;          // begin: the partition is the value's bits from this one on
  uint32_t sends;          // begin: 1: partitions are weft_outlets, and may be peers' (local calls)
  uint64_t partitions_at;  // begin: a weft_partition, or a weft_outlet, for each, in memory that the call's key opens
  uint64_t counts_to;      // result, finish: the number of each one's values, eight bytes; 0: nowhere
};
struct weft_shuffle_answer {
  uint64_t values;     // all of them are written
  uint64_t odd_bytes;  // at the end, that are no value
};

#ifdef __cplusplus
}
#endif
