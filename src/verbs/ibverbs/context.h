// An opened device: one lane, and everything a program has made on it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "host/post_order.h"
#include "verbs/ibverbs/cm_port.h"
#include "verbs/ibverbs/completion.h"
#include "verbs/ibverbs/objects.h"
#include "world/real/lane/lane.h"

namespace weft::verbs {

// An asynchronous event that waits to be fetched, and whom to charge for it until it is acknowledged.
struct AsyncEvent {
  ibv_async_event event;
  std::uint32_t* fetched;
};

class Context final : public verbs_context, public real::LaneOwner {
 public:
  Context(ibv_device& device, const real::Settings& settings);
  ~Context() override;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Joins the network, once; before the first queue pair, and the first of a role of StaR. 0 or errno, and then a
  // sentence on standard error.
  [[nodiscard]] int attach(host::StarRole role = host::StarRole::none);

  // Is there a way to this queue pair; to an address, if there is none? If not, a sentence is on standard error.
  [[nodiscard]] bool reaches(const wire::Address& address, std::optional<wire::Qpn> qpn = std::nullopt);

  // In the child of a fork the card belongs to the parent: nothing here may be touched any more.
  [[nodiscard]] bool lost() const { return lost_.load(std::memory_order_relaxed); }
  void lose() {
    lost_.store(true, std::memory_order_relaxed);
    lane.abandon();
  }

  // -- real::LaneOwner --
  void on_completion_event(std::uint32_t channel) override;
  void on_async_event() override;
  void on_moved(host::QueuePair& queue) override;
  void on_mad(const wire::Address& from, const wire::Address& to, std::span<const std::byte> mad) override;

  // -- with the lane's lock held --
  // What queue pairs owe their peers leaves now. A lane may hold back acknowledgements while its program polls; before
  // a queue pair, or the program, is gone they must be out, or the peer waits for them until it gives up.
  void settle_debts() { lane.flush(); }
  void forget_async_events(const void* element);

  // By the numbers that the device gives them; null where there is none.
  std::vector<CompletionChannel*> channels;
  std::vector<CompletionQueue*> cqs;
  std::vector<SharedReceiveQueue*> srqs;
  std::vector<QueuePair*> qps;  // by slot

  std::deque<AsyncEvent> async_events;
  SignalFd async_signal;
  std::uint64_t device_memory = 0;  // bytes given out
  int completion_vectors = 1;
  RouteHeader route_header{};  // of datagrams to the first address; a port that has both kinds is asked for that one
  CmPortOfContext cm_port;
  real::Lane lane;
  host::Device& device;
  host::PostOrder order{device.card().contexts};

 private:
  [[nodiscard]] bool translate(const nic::HostEvent& event, AsyncEvent& out);

  std::atomic<bool> lost_ = false;
};

// The public struct is the last member of the extended one, which is a base of ours.
inline Context& context_of(ibv_context* c) {
  void* const extended = static_cast<std::byte*>(static_cast<void*>(c)) - offsetof(verbs_context, context);
  return *static_cast<Context*>(static_cast<verbs_context*>(extended));
}
template <class Object>
Context& context_of(Object& object) {
  return context_of(object.context);
}

// Objects of one context mean nothing to another.
template <class Object>
bool is_of(const ibv_context* context, const Object* object) {
  return object != nullptr && object->context == context;
}

// The lane's lock while a call works on its context; nothing at all, and false, in the child of a fork.
class Hold {
 public:
  explicit Hold(Context& context) : lock_(context.lost() ? nullptr : &context.lane.lock()) {
    if (lock_ != nullptr) [[likely]]
      lock_->lock();
  }
  ~Hold() {
    if (lock_ != nullptr) [[likely]]
      lock_->unlock();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  explicit operator bool() const { return lock_ != nullptr; }

 private:
  real::LaneLock* const lock_;
};

// Fills the tables by which the inline functions of verbs.h find us (operations.cc).
void fill_operations(verbs_context& context);
// Is this a context of ours?
[[nodiscard]] bool is_ours(const ibv_context* context);

}  // namespace weft::verbs
