#include "cm/manager.h"

#include <cassert>

namespace weft::cm {

// --- listening -------------------------------------------------------------------------------------------------------

ListenerId Manager::listen(std::uint64_t service_id, const wire::Address& address, int backlog, ServiceKind kind) {
  const bool sensible = backlog > 0 && static_cast<std::uint32_t>(backlog) <= settings_.max_backlog;
  listeners_[++last_listener_] = {.service_id = service_id,
                                  .address = address,
                                  .kind = kind,
                                  .backlog = sensible ? static_cast<std::uint32_t>(backlog) : settings_.max_backlog};
  return last_listener_;
}

void Manager::stop_listening(ListenerId listener) { listeners_.erase(listener); }

void Manager::noticed(Id id) {
  if (Connection* c = mine(id)) stop_waiting(*c);
}

ListenerId Manager::listener_for(ServiceKind kind, std::uint64_t service_id, const wire::Address& to,
                                 const wire::Address& named) const {
  ListenerId found = 0;
  for (const auto& [id, listener] : listeners_) {
    if (listener.service_id != service_id || listener.kind != kind) continue;
    // The address in the private data may be one that only the peer's routing knows as this machine's: 127.0.0.1.
    if (listener.address == to || listener.address == named) return id;
    if (listener.address == wire::Address{}) found = id;
  }
  return found;
}

void Manager::stop_waiting(Connection& c) {
  if (!c.waiting) return;
  c.waiting = false;
  if (const auto found = listeners_.find(c.listener); found != listeners_.end()) --found->second.waiting;
}

// --- finding and keeping ---------------------------------------------------------------------------------------------

const Connection* Manager::find(Id id) const {
  const auto found = connections_.find(id);
  return found == connections_.end() ? nullptr : &found->second;
}

Connection* Manager::mine(Id id) {
  const auto found = connections_.find(id);
  return found == connections_.end() || !found->second.owned ? nullptr : &found->second;
}

Refused Manager::theirs(const Arrival& arrival, Id id, Id peer_id, Connection*& found) {
  const auto place = connections_.find(id);
  if (place == connections_.end()) return Refused::no_such_connection;
  Connection& c = place->second;
  const bool same_peer = c.path.remote == arrival.from && c.path.local == arrival.to;
  const bool same_id = peer_id == 0 || c.peer_id == 0 || c.peer_id == peer_id;
  if (!same_peer || !same_id) return Refused::wrong_peer;
  found = &c;
  return Refused::none;
}

Connection* Manager::make(State state, const Path& path) {
  if (connections_.size() >= settings_.max_connections) return nullptr;
  constexpr int kTries = 64;  // with 2^24 ids and at most 2^16 in use, the second try all but always succeeds
  for (int i = 0; i < kTries; ++i) {
    const Id id = Id{settings_.id_prefix} << 24 | static_cast<Id>(chance_.next() & 0xFF'FFFF);
    if ((id & 0xFF'FFFF) == 0 || connections_.contains(id)) continue;
    Connection& c = connections_[id];
    c.id = id;
    c.state = state;
    c.path = path;
    c.max_retries = settings_.max_retries;
    c.wait = ticks_of(settings_.response_timeout);
    return &c;
  }
  return nullptr;
}

void Manager::erase_index(std::map<PeerKey, Id>& from, const PeerKey& number, Id id) {
  const auto found = from.find(number);
  if (found != from.end() && found->second == id) from.erase(found);
}

void Manager::forget_qpn(Connection& c) { erase_index(peers_, key(c.path.remote, c.peer_qpn.raw()), c.id); }

void Manager::forget_peer(Connection& c) {
  erase_index(requests_, key(c.path.remote, c.peer_id), c.id);
  erase_index(services_, key(c.path.remote, c.peer_id), c.id);
  forget_qpn(c);
}

void Manager::set_deadline(Connection& c, Time when) {
  if (c.deadline != kNever) timers_.erase({c.deadline, c.id});
  c.deadline = when;
  if (when != kNever) timers_.insert({when, c.id});
}

void Manager::end(Connection& c) {
  set_deadline(c, kNever);
  stop_waiting(c);
  forget_peer(c);
  c.state = State::over;
  if (!c.owned) connections_.erase(c.id);
}

void Manager::enter_timewait(Connection& c, Time now) {
  c.state = State::timewait;
  // As long as a packet may still be under way, for all the peer says; but 68 s at most, or one who connects again and
  // again would have all places of the table for hours.
  set_deadline(c, now + ticks_of(std::min<std::uint8_t>(c.path.ack_timeout, 24)));
}

// Nobody listens: is it too early to believe it? Then the question will soon be asked again.
bool Manager::is_patient(Connection& c, Time now) {
  if (now - c.began >= settings_.listener_patience) return false;
  c.retries_left = c.max_retries;
  set_deadline(c, now + settings_.listener_patience / 8);
  return true;
}

// --- speaking --------------------------------------------------------------------------------------------------------

void Manager::say(Connection& c, const wire::CmBody& body, ManagerEffects& out) {
  wire::encode_cm({.transaction = c.transaction, .body = body}, c.last);
  say_again(c, out);
}

void Manager::ask(Connection& c, const wire::CmBody& body, Time now, ManagerEffects& out) {
  c.began = now;
  c.retries_left = c.max_retries;
  say(c, body, out);
  set_deadline(c, now + c.wait);
}

void Manager::say_again(const Connection& c, ManagerEffects& out) const {
  out.datagrams.push_back({.from = c.path.local, .to = c.path.remote, .bytes = c.last});
}

void Manager::say_once(const Connection& c, const wire::CmBody& body, ManagerEffects& out) const {
  Datagram& datagram = out.datagrams.emplace_back();
  datagram.from = c.path.local;
  datagram.to = c.path.remote;
  wire::encode_cm({.transaction = c.transaction, .body = body}, datagram.bytes);
}

void Manager::reply(const Arrival& arrival, const wire::CmBody& body, ManagerEffects& out) {
  Datagram& datagram = out.datagrams.emplace_back();
  datagram.from = arrival.to;
  datagram.to = arrival.from;
  wire::encode_cm({.transaction = arrival.transaction, .body = body}, datagram.bytes);
}

void Manager::tell(const Connection& c, Happening what, std::uint16_t why, ManagerEffects& out) const {
  tell(c, CmEvent{.what = what, .reason = why}, out);
}

void Manager::tell(const Connection& c, CmEvent event, ManagerEffects& out) {
  if (!c.owned) return;
  event.id = c.id;
  event.listener = c.listener;
  event.path = c.path;
  out.events.push_back(event);
}

// The question came again while the user thinks. If it was asked but now, that is a repetition on its way and no
// impatience: an MRA would only make the other side slow to notice what is lost next.
void Manager::say_wait(const Connection& c, wire::CmAbout about, Time now, ManagerEffects& out) const {
  if (now - c.began < ticks_of(settings_.response_timeout) / 4) return;
  const wire::CmMra mra{
      .local_id = c.id, .remote_id = c.peer_id, .about = about, .service_timeout = settings_.service_timeout};
  say_once(c, mra, out);
}

wire::CmRej Manager::refusal(const Connection& c, wire::CmAbout about, std::uint16_t why) {
  return {.local_id = c.id, .remote_id = c.peer_id, .about = about, .reason = why};
}

// --- the world -------------------------------------------------------------------------------------------------------

Refused Manager::on_datagram(const wire::Address& from, const wire::Address& to, std::span<const std::byte> bytes,
                             Time now, ManagerEffects& out) {
  Refused refused = Refused::malformed;
  wire::CmMessage message;
  if (wire::parse_cm(bytes, message) == weft::Refusal::none) {
    const Arrival arrival{.from = from, .to = to, .transaction = message.transaction, .now = now};
    refused = std::visit([&](const auto& body) { return on(arrival, body, out); }, message.body);
  }
  ++counters_[static_cast<std::size_t>(refused)];
  return refused;
}

void Manager::on_time(Time now, ManagerEffects& out) {
  while (!timers_.empty() && timers_.begin()->first <= now) {
    Connection& c = connections_.at(timers_.begin()->second);
    const bool unanswered = c.state == State::request_sent || c.state == State::response_sent ||
                            c.state == State::disconnect_sent || c.state == State::service_asked;
    if (unanswered && c.retries_left > 0) {
      --c.retries_left;
      say_again(c, out);
      set_deadline(c, now + c.wait);
    } else {
      time_out(c, now, out);
    }
  }
}

void Manager::time_out(Connection& c, Time now, ManagerEffects& out) {
  switch (c.state) {
    case State::request_sent:
      // Whoever once said "wait" is told that nobody does any more.
      if (c.peer_id != 0) say_once(c, refusal(c, wire::CmAbout::req, reason::kTimeout), out);
      tell(c, Happening::unreachable, reason::kTimeout, out);
      return end(c);
    case State::response_sent:
      say_once(c, refusal(c, wire::CmAbout::rep, reason::kTimeout), out);
      tell(c, Happening::unreachable, reason::kTimeout, out);
      return end(c);
    case State::service_asked: tell(c, Happening::unreachable, reason::kTimeout, out); return end(c);
    case State::disconnect_sent: tell(c, Happening::disconnected, reason::kTimeout, out); return enter_timewait(c, now);
    case State::timewait: tell(c, Happening::timewait_over, 0, out); return end(c);
    case State::rejected:
    case State::service_answered: return end(c);
    case State::response_received:
    case State::request_received:
    case State::established:
    case State::service_received:
    case State::over: break;  // these have no deadline
  }
  assert(false);
}

}  // namespace weft::cm
