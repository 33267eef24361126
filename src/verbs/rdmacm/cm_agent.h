// The connection manager of this program: one device, one cm::Manager, one thread that gives it datagrams and time.
// Everything stands under one lock; what a program's own threads call works on the manager directly.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include <infiniband/verbs.h>

#include "cm/manager.h"
#include "verbs/cm_port.h"
#include "verbs/rdmacm/channel.h"
#include "verbs/rdmacm/identifier.h"
#include "world/real/os/clock.h"
#include "world/real/os/system_random.h"

namespace weft::rdmacm {

class SystemChance final : public cm::RandomNumbers {
 public:
  std::uint64_t next() override { return source_.next(); }

 private:
  real::SystemRandom source_;
};

class CmAgent final : public verbs::CmReceiver {
 public:
  // The program's; in the child of a fork, the child's.
  static CmAgent& get();

  // The card stays with the parent of a fork: what the child inherited is of no use to it.
  [[nodiscard]] bool lost() const { return lost_.load(std::memory_order_relaxed); }

  // From a thread of the device's.
  void on_mad(const wire::Address& from, const wire::Address& to, std::span<const std::byte> mad) override;

  // -- without the lock; 0 or errno --
  [[nodiscard]] int open_device();  // so that `context` is there
  [[nodiscard]] int join();         // and the way to QP1

  // -- with the lock held --
  // Does what the manager wants: sends, and hands events to their channels.
  void settle(cm::ManagerEffects& effects);
  // The device is this identifier's from now on.
  void give_device(Identifier& id) const;
  [[nodiscard]] int bind(Identifier& id, const CmAddress& wanted);
  void unbind(Identifier& id);
  // Which of the device's addresses this is, if it is one: as somewhere to go to, and as somewhere to be.
  [[nodiscard]] const wire::Address* device_address(const CmAddress& endpoint) const;
  [[nodiscard]] const wire::Address* own_address(const CmAddress& endpoint) const;
  [[nodiscard]] int gid_index(const wire::Address& address) const;
  // Cuts the tie between an identifier and all that could happen to it.
  void forget(Identifier& id);
  [[nodiscard]] Time now() const { return real::clock_now(); }

  std::mutex lock;
  std::condition_variable acknowledged;  // some event was
  std::set<Identifier*> identifiers;
  std::map<cm::Id, Identifier*> by_connection;
  std::map<cm::ListenerId, Identifier*> by_listener;
  std::unique_ptr<cm::Manager> manager;
  SystemChance chance;

  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ibv_mtu mtu = IBV_MTU_1024;
  std::uint8_t max_responder_resources = 0, max_initiator_depth = 0;
  verbs::CmPort* port = nullptr;

 private:
  CmAgent() = default;
  void run();
  [[nodiscard]] int start_thread();
  [[nodiscard]] int describe_device();
  void carry_out(cm::ManagerEffects& effects);
  void hand_out(const cm::CmEvent& event);
  [[nodiscard]] bool is_taken(const Identifier& by, const wire::Address& address, std::uint16_t port_number) const;
  void wake();

  friend void abandon_in_child();

  std::atomic<bool> lost_ = false;
  std::mutex opening_;
  bool joined_ = false;

  // What has arrived and not been looked at. Datagrams may be lost: beyond the limit they are.
  static constexpr std::size_t kMaxInbox = 4'096;
  std::mutex inbox_lock_;
  std::condition_variable inbox_changed_;
  std::vector<cm::Datagram> inbox_;
  bool woken_ = false;
};

// The lock while a call works on its agent; nothing at all, and false, in the child of a fork.
class AgentHold {
 public:
  explicit AgentHold(CmAgent& agent) : lock_(agent.lock, std::defer_lock) {
    if (!agent.lost()) lock_.lock();
  }
  explicit operator bool() const { return lock_.owns_lock(); }
  [[nodiscard]] std::unique_lock<std::mutex>& lock() { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace weft::rdmacm
