// What verbs programs hold: each object begins with the public struct, and what is ours follows.
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
  unsigned access = 0;
  DeviceMemory* device_memory = nullptr;
};

struct Window : ibv_mw {
  wire::Key key{};  // after the bindings that have been posted
};

struct AddressHandle : ibv_ah {
  nic::AddressVector to;
  std::uint8_t hop_limit = 64, service_level = 0;
};

struct Channel : ibv_comp_channel {
  std::uint32_t number = 0;
  SignalFd signal;
};

struct CompletionQueue : ibv_cq_ex {
  Context* owner = nullptr;
  host::CompletionQueue* queue = nullptr;
  std::uint32_t completion_events = 0, async_events = 0;  // fetched; destroying waits until all are acknowledged
  nic::Completion current;                                // what start_poll and next_poll stand at
  std::mutex polling;                                     // from start_poll to end_poll
  bool single_threaded = false;
};

struct SharedReceiveQueue : ibv_srq {
  Context* owner = nullptr;
  host::SharedReceiveQueue* queue = nullptr;
  std::uint32_t async_events = 0;
};

// With thousands of them, posting to the next one waits for its cache lines: all that posting needs is in the first.
struct alignas(64) QueuePair : ibv_qp_ex {
  QueuePair();
  ~QueuePair();

  Context* owner = nullptr;
  host::QueuePair* queue = nullptr;
  host::Poster poster{};  // leads straight to the context: with thousands of queue pairs every step in between costs
  std::uint32_t async_events = 0;
  std::unique_ptr<Builder> builder;  // with ibv_wr_* only
};

// From the public struct to ours. The public structs of queue pairs and completion queues have a short and a long form
// with the same beginning; ours are always long.
inline Domain& ours(ibv_pd* p) { return *static_cast<Domain*>(p); }
inline ThreadDomain& ours(ibv_td* p) { return *static_cast<ThreadDomain*>(p); }
inline DeviceMemory& ours(ibv_dm* p) { return *static_cast<DeviceMemory*>(p); }
inline Region& ours(ibv_mr* p) { return *static_cast<Region*>(p); }
inline Window& ours(ibv_mw* p) { return *static_cast<Window*>(p); }
inline AddressHandle& ours(ibv_ah* p) { return *static_cast<AddressHandle*>(p); }
inline Channel& ours(ibv_comp_channel* p) { return *static_cast<Channel*>(p); }
inline SharedReceiveQueue& ours(ibv_srq* p) { return *static_cast<SharedReceiveQueue*>(p); }
inline CompletionQueue& ours(ibv_cq_ex* p) { return *static_cast<CompletionQueue*>(p); }
inline CompletionQueue& ours(ibv_cq* p) { return ours(static_cast<ibv_cq_ex*>(static_cast<void*>(p))); }
inline QueuePair& ours(ibv_qp_ex* p) { return *static_cast<QueuePair*>(p); }
inline QueuePair& ours(ibv_qp* p) { return ours(static_cast<ibv_qp_ex*>(static_cast<void*>(p))); }

inline ibv_cq* public_of(CompletionQueue& cq) { return ibv_cq_ex_to_cq(&cq); }
inline ibv_qp* public_of(QueuePair& qp) { return &qp.qp_base; }

}  // namespace weft::verbs
