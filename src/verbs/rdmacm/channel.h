// An event channel: what has happened and not been fetched, and a descriptor that is readable while there is any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <thread>

#include <rdma/rdma_cma.h>

#include "cm/event.h"
#include "verbs/ibverbs/signal_fd.h"

namespace weft::rdmacm {

class CmAgent;
class Identifier;

// Something that has happened to an identifier, before the program fetches it. A request has happened to the listener.
struct Occurrence {
  enum class Kind : std::uint8_t { manager, address_resolved, address_error, route_resolved };
  Kind kind = Kind::manager;
  Identifier* owner = nullptr;
  int status = 0;
  cm::CmEvent event{};  // of the manager
};

// What a program gets from rdma_get_cm_event, until it acknowledges it.
struct FetchedEvent : rdma_cm_event {
  Identifier* owner = nullptr;
  std::array<std::byte, cm::kMaxPrivateData> private_bytes{};
};

class EventChannel : public rdma_event_channel {
 public:
  explicit EventChannel(CmAgent& its) : rdma_event_channel{}, agent(its) { rdma_event_channel::fd = signal.fd(); }
  ~EventChannel() = default;
  EventChannel(const EventChannel&) = delete;
  EventChannel& operator=(const EventChannel&) = delete;

  // -- with the agent's lock held --
  void push(const Occurrence& occurrence);
  [[nodiscard]] Occurrence pop();
  // Takes out everything that happened to `owner`.
  [[nodiscard]] std::deque<Occurrence> take_all_of(const Identifier* owner);

  CmAgent& agent;  // of the process that made it: in the child of a fork it is lost, and so is this
  std::deque<Occurrence> occurrences;
  verbs::SignalFd signal;
  unsigned readers = 0;         // threads in rdma_get_cm_event
  std::thread::id last_reader;  // the last one that was there
};

inline EventChannel& channel_of(rdma_event_channel* channel) { return *static_cast<EventChannel*>(channel); }

}  // namespace weft::rdmacm
