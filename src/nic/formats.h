// What lies in host memory and is read or written by the card over the bus: work queue entries,
// completion queue entries, the responder's saved READs and atomics. Host software and card agree on
// these layouts and on nothing else.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/refusal.h"
#include "wire/types.h"

namespace weft::nic {

// ---- work -----------------------------------------------------------------------------------------

// clang-format off
enum class WorkKind : std::uint8_t {
  send, send_immediate, send_invalidate, write, write_immediate, read, compare_swap, fetch_add,
  local_invalidate, bind_window,
  rpc, rpc_write,            // calls of the peer's kernels (StRoM); their target is a kernel, and no address
  reply, reply_immediate,    // the card's own: what a kernel answers
};
inline constexpr std::size_t kWorkKinds = 14;
// clang-format on

constexpr bool reads_back(WorkKind k) {
  return k == WorkKind::read || k == WorkKind::compare_swap || k == WorkKind::fetch_add;
}
constexpr bool is_atomic(WorkKind k) { return k == WorkKind::compare_swap || k == WorkKind::fetch_add; }
constexpr bool is_local(WorkKind k) { return k == WorkKind::local_invalidate || k == WorkKind::bind_window; }
constexpr bool is_call(WorkKind k) { return k == WorkKind::rpc || k == WorkKind::rpc_write; }
// Which kinds they are, as bits: packets ask often.
constexpr bool is_one_of(std::uint32_t kinds, WorkKind k) { return (kinds >> static_cast<unsigned>(k) & 1) != 0; }
template <class... Kinds>
constexpr std::uint32_t kinds_of(Kinds... kinds) {
  return ((1U << static_cast<unsigned>(kinds)) | ...);
}
// Its packets say where it goes: an address, or a kernel.
constexpr bool has_target(WorkKind k) {
  using enum WorkKind;
  return is_one_of(kinds_of(write, write_immediate, rpc, rpc_write, reply, reply_immediate), k);
}
constexpr bool is_write(WorkKind k) { return k == WorkKind::write || k == WorkKind::write_immediate; }

struct WorkFlags {
  // Numbered as verbs does, so that posting need not translate them.
  static constexpr std::uint8_t fence = 1, signaled = 2, solicited = 4, inline_data = 8;
  // The card's own, in host memory: all responses to it have arrived (srnic); it has been done here.
  static constexpr std::uint8_t answered = 0x40, done = 0x80;
  // The card has made this entry, and nobody waits for its completion.
  static constexpr std::uint8_t by_card = 0x20;
};

struct Sge {  // scatter/gather element, in the region's address space
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  wire::Key key{};
};
static_assert(sizeof(Sge) == 16);

// Where a datagram goes: an address handle's contents, copied into the work entry so that the handle
// may be destroyed while the work is under way.
struct AddressVector {
  wire::Address destination;
  std::uint16_t udp_source_port = 0xC000;
  std::uint8_t traffic_class = 0;
  std::uint8_t gid_index = 0;
};
static_assert(sizeof(AddressVector) == 20);

// The fixed part of a send work entry. Its scatter/gather list, or its inline bytes, follow at once, so
// that work with one element is exactly one cache line.
struct Work {
  std::uint64_t id = 0;
  WorkKind kind{};
  std::uint8_t flags = 0;
  std::uint8_t sges = 0;
  std::uint8_t hop_limit = 64;  // datagrams
  std::uint32_t length = 0;     // of the message, in bytes
  std::uint32_t immediate = 0;  // or the key to invalidate, or a window's new key
  std::uint32_t key = 0;        // remote key; the window to bind; the datagram's destination QPN
  union {
    struct {
      std::uint64_t address, compare_add, swap;
    } remote;
    struct {
      AddressVector to;
      std::uint32_t qkey;
    } datagram;
    struct {
      std::uint64_t address, length;
      std::uint32_t region;  // key of the region below the window
      std::uint16_t rights;
      std::uint16_t unused;
    } bind;
  };

  Work(std::uint64_t i, WorkKind k, std::uint8_t f, std::uint8_t elements, std::uint32_t bytes)
      : id(i), kind(k), flags(f), sges(elements), length(bytes), remote{0, 0, 0} {}
};
static_assert(sizeof(Work) == 48);

struct Receive {  // the fixed part of a receive work entry; its scatter list follows
  std::uint64_t id = 0;
  std::uint32_t sges = 0;
  std::uint32_t length = 0;
};
static_assert(sizeof(Receive) == 16);

template <class Entry>
constexpr std::size_t entry_stride(std::uint32_t max_sges, std::uint32_t max_inline) {
  const std::size_t tail = max_sges * sizeof(Sge) > max_inline ? max_sges * sizeof(Sge) : max_inline;
  const std::size_t unit = sizeof(Entry) + tail <= 32 ? 32 : 64;
  return (sizeof(Entry) + tail + unit - 1) / unit * unit;
}

// ---- completions -----------------------------------------------------------------------------------

// clang-format off
enum class Status : std::uint8_t {
  success, local_length, local_qp_operation, local_protection, flushed, window_bind, bad_response, local_access,
  remote_invalid_request, remote_access, remote_operation, retry_exceeded, rnr_retry_exceeded, remote_aborted, fatal,
};
// clang-format on

// clang-format off
enum class CompletionKind : std::uint8_t {
  send, write, read, compare_swap, fetch_add, bind_window, local_invalidate, receive, receive_write_immediate,
};
// clang-format on

struct Completion {
  std::uint64_t id = 0;
  Status status{};
  CompletionKind kind{};
  bool has_immediate = false, has_invalidated = false, has_grh = false, solicited = false;
  Refusal reason = Refusal::none;  // what verbs calls the vendor error: which rule was broken
  std::uint8_t traffic_class = 0;
  std::uint32_t bytes = 0;
  std::uint32_t immediate = 0;  // or the key that the peer invalidated
  wire::Qpn qpn{}, source_qpn{};
  std::uint32_t shared_entry = kNotShared;  // which entry of a shared receive queue is free again
  std::int64_t when = 0;                    // in ticks of the world

  static constexpr std::uint32_t kNotShared = ~0U;
};
static_assert(sizeof(Completion) <= 64);

// ---- what a responder keeps to answer duplicates ----------------------------------------------------

// One READ or atomic that the peer has asked for: enough to answer again, whole or in part. A ring of
// max_dest_rd_atomic of these lives in host memory.
struct SavedResponse {
  std::uint64_t address = 0;
  std::uint64_t original = 0;  // an atomic's result: replayed, never computed again
  std::uint32_t length = 0;
  wire::Key key{};
  wire::Psn first{};
  std::uint32_t packets = 0;
  wire::Psn next{};       // first response still to be sent
  wire::Psn restart{};    // where the last request for it began: that response is a "first"
  std::uint32_t msn = 0;  // srnic: the requester's work that asked
  bool atomic = false, valid = false, pending = false;
  bool answered = false;  // all of it has been sent once
};
static_assert(sizeof(SavedResponse) <= 48);

}  // namespace weft::nic
