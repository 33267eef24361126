// Which dialect each reliable connection speaks: when a queue pair learns who its peer is, the peer's card is asked.
// One that plays a role of StaR asks whether the peer plays the other, and breaks if it does not. One that may choose
// takes a role by what the peer is (role_choice.h); if it becomes stateless it offers the state to its peer, with each
// of the packets that move it: the peer's queue pair may speak something else until then, and its lane may have no
// socket for StaR yet.
#include <fmt/format.h>

#include "world/real/broker/gsi.h"
#include "world/real/lane/device_config.h"
#include "world/real/lane/engine.h"
#include "world/real/lane/role_choice.h"
#include "world/real/os/clock.h"
#include "world/real/settings/address_text.h"

namespace weft::real {
namespace {

using Outcome = Negotiation::Outcome;

nic::Dialect dialect_of(Outcome outcome) {
  return outcome == Outcome::srnic ? nic::Dialect::srnic : nic::Dialect::roce;
}

// Who shares our broker is a Weft card of our version.
Negotiation::Facts facts_of(const LocalPeerInfo& about) { return {about.roles, about.connections, wire::kCallVersion}; }

// Does the queue pair know its peer's address and number, and has not been told what to speak?
bool awaits_dialect(const nic::Context& c) {
  return c.dialect == nic::Dialect::undecided && c.state != nic::QpState::reset && c.state != nic::QpState::init &&
         c.state != nic::QpState::error;
}

// Does the queue pair know who its peer is, and has heard nothing of it in StaR?
bool awaits_partner(const host::QueuePair& qp) {
  const nic::QpState s = qp.state();
  return qp.options().role != host::StarRole::none && s != nic::QpState::reset && s != nic::QpState::init &&
         s != nic::QpState::error && !qp.knows_partner();
}

// Is that a partner for this role?
bool suits(host::StarRole role, wire::StarRoles peers) {
  return role == host::StarRole::stateless ? peers.suits_stateless() : peers.suits_stateful();
}

host::StarRole other(host::StarRole role) {
  return role == host::StarRole::stateless ? host::StarRole::stateful : host::StarRole::stateless;
}
std::string_view name_of(host::StarRole role) { return role == host::StarRole::stateless ? "stateless" : "stateful"; }

}  // namespace

void Lane::Engine::deliver_doorbells(Time now) {
  device_.take_doorbells([&](std::uint32_t slot) { hear_doorbell(now, slot); });
  if (device_.stateless() != nullptr && device_.stateless()->waiting()) [[unlikely]]
    hear_posts(*device_.stateless());
}

void Lane::Engine::hear_doorbell(Time now, std::uint32_t slot) {
  learn_of(slot);
  card_.on_doorbell(now, slot);
}

// Before the card hears of it: what state it is in, and whom it talks to.
void Lane::Engine::learn_of(std::uint32_t slot) {
  const nic::Context& c = device_.card().contexts[slot];
  if (!journal_.has_seen(slot, c.state)) [[unlikely]]
    note_state(effects_.look_at_clock(), slot, c);
  if (c.dialect == nic::Dialect::undecided) [[unlikely]]
    consult(effects_.look_at_clock(), slot);
  if (c.dialect == nic::Dialect::star) [[unlikely]]
    look_for_partner(effects_.look_at_clock(), c);
}

void Lane::Engine::learn_of(const nic::StatelessBlock& block) {
  const nic::Context& c = block.context;
  if (c.qpn.raw() == 0) return;  // destroyed before it was heard
  const Time now = effects_.look_at_clock();
  if (!journal_.has_seen(block.slot, c.state)) note_state(now, block.slot, c);
  if (block.room == 0) look_for_partner(now, c);  // it has not heard of it
}

// Whoever asks about us hears how many connections we have.
void Lane::Engine::note_state(Time now, std::uint32_t slot, const nic::Context& c) {
  journal_.note_state(now, slot, c.qpn, c.state);
  if (!port_.is_open()) return;
  shared_status_->connections.store(device_.connections(), std::memory_order_relaxed);
  moves_.note(now);
  ask_about_kernels(now, c);
}

Negotiation::Connection Lane::Engine::connection_of(const nic::Context& c) const {
  return {.own_address = device_.config().gids[c.gid_index], .peer_address = c.peer, .own = c.qpn, .peer = c.peer_qpn};
}

// Nothing waits for the answer: if the peer is what it should be, it has heard of us when the answer comes.
void Lane::Engine::look_for_partner(Time now, const nic::Context& c) {
  host::QueuePair* const qp = device_.find_qp(c.qpn);
  if (qp == nullptr || !port_.is_open() || !awaits_partner(*qp)) return;
  const Negotiation::Connection connection = connection_of(c);
  const Negotiation::Peer peer = Negotiation::peer_of(connection);
  if (negotiation_.is_asking(peer) || suits(qp->options().role, negotiation_.facts_of(now, peer).roles)) return;
  const auto answer = ask_broker(peer);
  if (answer && answer->code == 0) {
    const LocalPeerInfo& about = answer->local_peer;
    return judge_partner(*qp, negotiation_.learn(now, peer, about.versions, facts_of(about)).roles);
  }
  begin_to_ask(now, connection, answer.has_value());
}

// Whether the peer's kernels may be called. Nothing but calls waits for the answer.
void Lane::Engine::ask_about_kernels(Time now, const nic::Context& c) {
  host::QueuePair* const qp = device_.find_qp(c.qpn);
  if (qp == nullptr || !qp->awaits_kernels()) return;
  const Negotiation::Connection connection = connection_of(c);
  const Negotiation::Peer peer = Negotiation::peer_of(connection);
  if (negotiation_.facts_of(now, peer).calls != 0) return qp->learn_of_kernels(true);
  if (negotiation_.is_asking(peer)) return;
  const auto answer = ask_broker(peer);
  if (!answer || answer->code != 0) return void(begin_to_ask(now, connection, answer.has_value()));
  const LocalPeerInfo& about = answer->local_peer;
  settle_dialect(negotiation_.learn(now, peer, about.versions, facts_of(about)));
}

// Breaks a queue pair whose peer does not play the other role, before anybody waits for it.
void Lane::Engine::judge_partner(host::QueuePair& qp, wire::StarRoles peers) {
  const nic::Context& c = qp.context();
  const host::StarRole role = qp.options().role;
  if (!awaits_partner(qp) || suits(role, peers)) return;
  fmt::print(stderr,
             "weft: queue pair 0x{:06x} is {} in StaR, and its peer, 0x{:06x} at {}, is not {}{}: run the peer with "
             "--transport star --role {}\n",
             qp.qpn().raw(), name_of(role), c.peer_qpn.raw(), text_of(c.peer), name_of(other(role)),
             peers.any() ? "" : ", or no Weft card that speaks it", name_of(other(role)));
  if (qp.block() == nullptr) return card_.on_no_partner(effects_.look_at_clock(), qp.slot());
  device_.card().counters.add(Refusal::star_no_partner);
  effects_.notify({nic::EventKind::qp_fatal, qp.qpn().raw()});
  device_.stateless()->break_off(device_.stateless()->of(c), nic::Status::retry_exceeded, Refusal::star_no_partner);
}

void Lane::Engine::decide(host::QueuePair& qp, Outcome outcome, const Negotiation::Facts& peer) {
  if (qp.context().dialect != nic::Dialect::undecided) return;
  const Load load{.own = device_.connections(), .peers = peer.connections, .beyond = settings_.stateless_beyond};
  const host::StarRole role = choose_role(roles_, peer.roles, load);
  if (role == host::StarRole::stateful) return become_stateful(qp);
  if (role == host::StarRole::stateless && qp.may_be_stateless()) return become_stateless(qp);
  qp.decide(dialect_of(outcome));
  if (!peer.roles.asks_for_stateless()) return;
  fmt::print(
      stderr,
      "weft: the peer of queue pair 0x{:06x} is stateful in StaR and speaks nothing else, and this one cannot be "
      "stateless: it has a shared receive queue, or too many elements or inline bytes in an entry\n",
      qp.qpn().raw());
}

void Lane::Engine::become_stateful(host::QueuePair& qp) {
  qp.become_stateful();
  play_from_now(host::StarRole::stateful);
}

void Lane::Engine::become_stateless(host::QueuePair& qp) {
  play_from_now(host::StarRole::stateless);
  qp.become_stateless();
  owner_.on_moved(qp);
}

// The broker need not have answered for packets to be sent: what comes back before it has is said again.
void Lane::Engine::play_from_now(host::StarRole role) {
  Message m(Topic::play);
  m.roles = roles_of(role);
  if (roles_.has(m.roles.bits) || !broker_.say_at_once(m, {})) return;  // if it is not heard: with the next connection
  roles_.bits |= m.roles.bits;
  negotiation_.set_roles(roles_);
}

// The state of this connection waits for the peer to take it.
void Lane::Engine::offer(Time now, const nic::StatelessBlock& block) {
  const nic::Context& c = block.context;
  if (!block.offered || !block.wants_migration || block.room != 0 || !port_.is_open()) return;
  if (c.state != nic::QpState::rtr && c.state != nic::QpState::rts) return;
  wire::StarRoles roles = roles_;
  roles.bits |= wire::StarRoles::kOffers;
  port_.set_now(now);
  say({.from = device_.config().gids[c.gid_index],
       .to = c.peer,
       .mad = {.transaction = std::uint64_t{port_.lane_number()} << 56 | random_.next() >> 8,
               .versions = versions_of(settings_),
               .roles = roles,
               .asker = c.qpn,
               .about = c.peer_qpn}});
  port_.flush();
}

// The peer is stateless, and our queue pair has heard nothing of it in anything else. If both offer, each because it
// believed that it is much busier than the other, the one with the lower number takes the state.
void Lane::Engine::on_offer(const wire::VendorMad& m) {
  host::QueuePair* qp = device_.find_qp(m.about);
  if (qp == nullptr || !roles_.has(wire::StarRoles::kChooses)) return;
  if (qp->is_offered() && qp->qpn().raw() < m.asker.raw()) {
    qp->take_back();
    owner_.on_moved(*qp);
  }
  if (qp->may_choose_role()) become_stateful(*qp);
}

// Over the wire, while our broker has or has not said that it does not know the peer.
Outcome Lane::Engine::begin_to_ask(Time now, const Negotiation::Connection& connection, bool broker_has_said) {
  const std::uint64_t secret = random_.next() >> 8;
  const auto broker = broker_has_said ? Negotiation::Broker::does_not_know : Negotiation::Broker::is_late;
  const Outcome outcome = negotiation_.ask(now, connection, std::uint64_t{port_.lane_number()} << 56 | secret, broker);
  negotiate(now);
  port_.flush();
  return outcome;
}

void Lane::Engine::consult(Time now, std::uint32_t slot) {
  const nic::Context& c = device_.card().contexts[slot];
  host::QueuePair* qp = device_.find_qp(c.qpn);
  if (!awaits_dialect(c) || qp == nullptr || !port_.is_open()) return;
  const Negotiation::Connection connection = connection_of(c);
  const Negotiation::Peer peer = Negotiation::peer_of(connection);
  Outcome outcome = negotiation_.find(now, peer);
  if (outcome == Outcome::unknown) {
    const auto answer = ask_broker(peer);
    if (answer && answer->code == 0) {
      outcome = negotiation_.learn(now, peer, answer->local_peer.versions, facts_of(answer->local_peer)).outcome;
    } else {
      outcome = begin_to_ask(now, connection, answer.has_value());
    }
  }
  if (outcome == Outcome::waiting) return;
  decide(*qp, outcome, negotiation_.facts_of(now, peer));
  if (qp->block() != nullptr) hear_posts(*device_.stateless());
}

// A lane on this host is the broker's to tell of, at once and without the wire. The lane's lock is held meanwhile: a
// broker that is late is not waited for. Its answer is heard when it comes.
std::optional<Message> Lane::Engine::ask_broker(const Negotiation::Peer& peer) {
  Message question(Topic::consult);
  question.local_peer = {.address = {peer.address}, .lane_number = peer.lane_number};
  const auto in = broker_.call_at_a_glance(question, Topic::consulted);
  return in ? std::optional(in->message) : std::nullopt;
}

void Lane::Engine::on_consulted(const Message& late) {
  const LocalPeerInfo& about = late.local_peer;
  const Negotiation::Peer peer{about.address.bytes, static_cast<std::uint8_t>(about.lane_number)};
  if (late.code != 0) return negotiation_.broker_does_not_know(clock_now(), peer);
  settle_dialect(negotiation_.learn(clock_now(), peer, about.versions, facts_of(about)));
  if (device_.doorbells_waiting()) rang();
}

void Lane::Engine::negotiate(Time now) {
  port_.set_now(now);
  negotiation_.on_time(
      now, [&](const Negotiation::Question& q) { say(q); }, [&](const Negotiation::Settled& s) { settle_dialect(s); });
}

void Lane::Engine::say(Negotiation::Question q) {
  q.mad.connections = device_.connections();
  std::array<std::byte, wire::kMadBytes> mad{};
  wire::encode_vendor(q.mad, mad);
  const wire::Flow flow{.source = q.from, .destination = q.to, .source_port = wire::kRocePort};
  send(flow, build_gsi(flow, static_cast<std::uint32_t>(random_.next()), mad));
}

void Lane::Engine::settle_dialect(const Negotiation::Settled& settled) {
  if (settled.outcome == Outcome::unknown) return;
  std::vector<wire::Qpn> waiting;
  device_.for_each_qp([&](const host::QueuePair& qp) {
    const nic::Context& c = qp.context();
    if (!(awaits_dialect(c) || awaits_partner(qp) || qp.awaits_kernels()) || c.peer.bytes != settled.peer.address)
      return;
    if (settled.all_lanes || wire::lane_number(c.peer_qpn) == settled.peer.lane_number) waiting.push_back(qp.qpn());
  });
  for (const wire::Qpn qpn : waiting) {
    host::QueuePair& qp = *device_.find_qp(qpn);
    if (qp.awaits_kernels()) qp.learn_of_kernels(settled.calls != 0);
    decide(qp, settled.outcome, {settled.roles, settled.connections, settled.calls});
    if (awaits_partner(qp)) judge_partner(qp, settled.roles);
  }
}

// A management datagram for the card and not for the program: an answer, or the question of a peer, which says what the
// peer speaks. Our broker has answered that already.
bool Lane::Engine::heard_about_dialect(const wire::Flow& flow, std::span<const std::byte> mad) {
  wire::VendorMad m;
  const Time now = clock_now();
  if (wire::MoveMad move; wire::parse_move(mad, move) == Refusal::none) {
    hear_move(flow, move);
    if (device_.doorbells_waiting()) rang();
    return true;
  }
  if (wire::parse_vendor(mad, m) != Refusal::none) return false;
  if (m.is_answer) {
    settle_dialect(negotiation_.on_answer(now, flow.source, m));
  } else if ((settings_.transport == TransportChoice::automatic || roles_.any()) && is_credible(flow, m)) {
    settle_dialect(negotiation_.on_question(now, flow.source, m));
    if (m.roles.has(wire::StarRoles::kOffers)) on_offer(m);
  }
  if (device_.doorbells_waiting()) rang();
  return true;
}

// Who asks must know the number of a queue pair of ours, which nobody can guess, and be its peer, if it has one yet.
bool Lane::Engine::is_credible(const wire::Flow& flow, const wire::VendorMad& question) {
  const host::QueuePair* qp = device_.find_qp(question.about);
  if (qp == nullptr) return false;
  const nic::Context& c = qp->context();
  const bool has_peer = c.state != nic::QpState::reset && c.state != nic::QpState::init;
  return !has_peer || (c.peer == flow.source && c.peer_qpn == question.asker);
}

}  // namespace weft::real
