// What verbs programs hold: a public struct, and what is ours. Programs may write anything into the public part: what
// we look things up by stands in ours, and the numbers in the public struct are for the program alone.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include <infiniband/verbs.h>

#include "host/device.h"
#include "verbs/ibverbs/signal_fd.h"

namespace weft::verbs {

class Context;
struct Builder;

struct ThreadDomain : ibv_td {
  std::uint32_t users = 0;
};

// A protection domain, or a parent domain: another name for a protection domain, with a thread domain.
struct Domain : ibv_pd {
  host::Domain number = 0;
  Domain* below = nullptr;  // parent domains
  ThreadDomain* thread = nullptr;
  std::uint32_t users = 0;  // objects made with it
};

struct DeviceMemory : ibv_dm {
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  [[nodiscard]] std::byte* at(std::uint64_t offset) const { return &lines[0].bytes[0] + offset; }

  std::unique_ptr<Line[]> lines;
  std::uint64_t size = 0;   // bytes
  std::uint32_t users = 0;  // regions
};

struct Region : ibv_mr {
  wire::Key key{};
  void* memory = nullptr;
  std::size_t bytes = 0;
  unsigned access = 0;
  DeviceMemory* device_memory = nullptr;
};

struct Window : ibv_mw {
  wire::Key key{};  // after the bindings that have been posted
  bool is_type_2 = false;
};

struct AddressHandle : ibv_ah {
  nic::AddressVector to;
  std::uint8_t hop_limit = 64, service_level = 0;
};

struct CompletionChannel : ibv_comp_channel {
  std::uint32_t number = 0;
  int queues = 0;  // that it has events of
  SignalFd signal;
};

// Events of an object that a program has fetched. Destroying the object waits until all are acknowledged.
struct EventCount {
  std::uint32_t fetched = 0, acknowledged = 0;
};

struct CompletionQueue : ibv_cq_ex {
  Context* owner = nullptr;
  host::CompletionQueue* queue = nullptr;
  EventCount completion_events, async_events;
  nic::Completion current;  // what start_poll and next_poll stand at
  std::mutex polling;       // from start_poll to end_poll
  bool single_threaded = false;
};

struct SharedReceiveQueue : ibv_srq {
  Context* owner = nullptr;
  host::SharedReceiveQueue* queue = nullptr;
  EventCount async_events;
};

// All that posting to a queue pair needs. With thousands of them, posting to the next one waits for its cache lines. So
// this stands before the public struct, and in one line with the first word of that: the inline functions of verbs.h
// find us by it.
struct PostingPart {
  Context* owner = nullptr;
  host::QueuePair* queue = nullptr;
  host::Poster poster{};  // leads straight to the context: every step in between costs
  std::uint32_t slot = 0;
  bool is_datagram = false;
};

struct alignas(64) QueuePair : PostingPart, ibv_qp_ex {
  QueuePair();
  ~QueuePair();

  EventCount async_events;
  std::unique_ptr<Builder> builder;  // with ibv_wr_* only
};
static_assert(sizeof(PostingPart) + sizeof(ibv_context*) <= 64);

// From the public struct to ours. The public structs of queue pairs and completion queues have a short and a long form
// with the same beginning; ours are always long.
inline Domain& ours(ibv_pd* p) { return *static_cast<Domain*>(p); }
inline ThreadDomain& ours(ibv_td* p) { return *static_cast<ThreadDomain*>(p); }
inline DeviceMemory& ours(ibv_dm* p) { return *static_cast<DeviceMemory*>(p); }
inline Region& ours(ibv_mr* p) { return *static_cast<Region*>(p); }
inline Window& ours(ibv_mw* p) { return *static_cast<Window*>(p); }
inline AddressHandle& ours(ibv_ah* p) { return *static_cast<AddressHandle*>(p); }
inline CompletionChannel& ours(ibv_comp_channel* p) { return *static_cast<CompletionChannel*>(p); }
inline SharedReceiveQueue& ours(ibv_srq* p) { return *static_cast<SharedReceiveQueue*>(p); }
inline CompletionQueue& ours(ibv_cq_ex* p) { return *static_cast<CompletionQueue*>(p); }
inline CompletionQueue& ours(ibv_cq* p) { return ours(static_cast<ibv_cq_ex*>(static_cast<void*>(p))); }
inline QueuePair& ours(ibv_qp_ex* p) { return *static_cast<QueuePair*>(p); }
inline QueuePair& ours(ibv_qp* p) { return ours(static_cast<ibv_qp_ex*>(static_cast<void*>(p))); }

inline ibv_cq* public_of(CompletionQueue& cq) { return ibv_cq_ex_to_cq(&cq); }
inline ibv_qp* public_of(QueuePair& qp) { return &qp.qp_base; }

}  // namespace weft::verbs
