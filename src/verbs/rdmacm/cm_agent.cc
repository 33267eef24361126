#include "verbs/rdmacm/cm_agent.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <new>
#include <thread>

#include <endian.h>
#include <pthread.h>

#include "verbs/rdmacm/errors.h"
#include "verbs/rdmacm/fork.h"
#include "world/real/os/time.h"

namespace weft::rdmacm {

CmAgent& CmAgent::get() {
  watch_for_fork();
  EngineSlot& slot = engine_slot();
  const std::lock_guard guard(slot.lock);
  if (slot.agent == nullptr) slot.agent = new CmAgent;  // for the life of the program
  return *slot.agent;
}

int CmAgent::join() {
  if (const int code = open_device(); code != 0) return code;
  const std::lock_guard guard(opening_);
  if (joined_) return 0;
  port = weft_cm_port(context);
  if (port == nullptr) return ENODEV;
  if (const int code = port->open(*this); code != 0) return code;
  if (manager == nullptr) {
    const cm::ManagerSettings settings{.id_prefix = port->lane_number(),
                                       .guid = be64toh(ibv_get_device_guid(context->device)),
                                       .nanosecond = real::nanoseconds(1),
                                       .max_mtu = static_cast<std::uint8_t>(mtu),
                                       .listener_patience = real::milliseconds(250)};
    const std::lock_guard held(lock);
    manager = std::make_unique<cm::Manager>(settings, chance);
  }
  if (const int code = start_thread(); code != 0) {
    port->close();
    return code;
  }
  joined_ = true;
  return 0;
}

// --- the thread ------------------------------------------------------------------------------------------------------

int CmAgent::start_thread() {
  // The program's signals are for the program's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int code = 0;
  try {
    std::thread([this] { run(); }).detach();
  } catch (const std::system_error& e) {
    code = e.code().value();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return code;
}

void CmAgent::on_mad(const wire::Address& from, const wire::Address& to, std::span<const std::byte> mad) {
  if (mad.size() != wire::kMadBytes) return;
  cm::Datagram datagram{.from = from, .to = to};
  cm::fill(datagram.bytes, mad);
  try {
    const std::lock_guard guard(inbox_lock_);
    if (inbox_.size() >= kMaxInbox) return;
    inbox_.push_back(datagram);
  } catch (const std::bad_alloc&) {
    return;  // it is lost, as any datagram may be
  }
  inbox_changed_.notify_one();
}

void CmAgent::wake() {
  {
    const std::lock_guard guard(inbox_lock_);
    woken_ = true;
  }
  inbox_changed_.notify_one();
}

void CmAgent::run() {
  std::vector<cm::Datagram> arrived;
  for (;;) {
    Time deadline = kNever;
    {
      const std::lock_guard guard(lock);
      cm::ManagerEffects effects;
      for (const cm::Datagram& d : arrived) manager->on_datagram(d.from, d.to, d.bytes, now(), effects);
      manager->on_time(now(), effects);
      carry_out(effects);
      deadline = manager->next_deadline();
    }
    arrived.clear();
    std::unique_lock guard(inbox_lock_);
    const auto ready = [this] { return !inbox_.empty() || woken_; };
    if (deadline == kNever) {
      inbox_changed_.wait(guard, ready);
    } else {
      inbox_changed_.wait_for(guard, std::chrono::nanoseconds((deadline - now()) / real::nanoseconds(1) + 1), ready);
    }
    woken_ = false;
    arrived.swap(inbox_);
  }
}

// --- what the manager wants ------------------------------------------------------------------------------------------

void CmAgent::settle(cm::ManagerEffects& effects) {
  carry_out(effects);
  wake();  // there may be a new deadline
}

void CmAgent::carry_out(cm::ManagerEffects& effects) {
  for (const cm::Datagram& d : effects.datagrams) port->send_mad(d.from, d.to, d.bytes);
  // Handing out may have effects of its own: a request whose listener has gone is refused.
  const std::vector<cm::CmEvent> events = std::exchange(effects.events, {});
  effects.datagrams.clear();
  for (const cm::CmEvent& event : events) hand_out(event);
}

void CmAgent::hand_out(const cm::CmEvent& event) {
  Identifier* owner = nullptr;
  if (event.what == cm::Happening::request || event.what == cm::Happening::service_request) {
    const auto found = by_listener.find(event.listener);
    if (found != by_listener.end()) owner = found->second;
  } else if (const auto found = by_connection.find(event.id); found != by_connection.end()) {
    owner = found->second;
  } else if (by_listener.contains(event.listener)) {
    // The request itself is not fetched yet: what happens to it meanwhile the program learns afterwards.
    owner = by_listener.at(event.listener);
  }
  if (owner != nullptr) {
    owner->its_channel().push({.owner = owner, .event = event});
    return;
  }
  cm::ManagerEffects refusal;
  manager->release(event.id, now(), refusal);
  for (const cm::Datagram& d : refusal.datagrams) port->send_mad(d.from, d.to, d.bytes);
}

void CmAgent::forget(Identifier& id) {
  cm::ManagerEffects effects;
  for (const Occurrence& o : id.its_channel().take_all_of(&id)) {
    // A request that nobody has seen dies with its listener.
    const bool unseen = o.event.id != id.connection && !by_connection.contains(o.event.id);
    if (o.kind == Occurrence::Kind::manager && unseen) {
      manager->release(o.event.id, now(), effects);
    }
  }
  if (id.listener != 0) {
    manager->stop_listening(id.listener);
    by_listener.erase(id.listener);
  }
  if (id.connection != 0) {
    by_connection.erase(id.connection);
    manager->release(id.connection, now(), effects);
    id.connection = 0;
  }
  unbind(id);
  identifiers.erase(&id);
  if (manager != nullptr) settle(effects);
}

}  // namespace weft::rdmacm
