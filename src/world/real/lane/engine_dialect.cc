// Which dialect each reliable connection speaks: when a queue pair learns who its peer is, the peer's card is asked.
// One that plays a role of StaR asks whether the peer plays the other, and breaks if it does not.
#include <fmt/format.h>

#include "world/real/broker/gsi.h"
#include "world/real/lane/device_config.h"
#include "world/real/lane/engine.h"
#include "world/real/os/clock.h"
#include "world/real/settings/address_text.h"

namespace weft::real {
namespace {

using Outcome = Negotiation::Outcome;

nic::Dialect dialect_of(Outcome outcome) {
  return outcome == Outcome::srnic ? nic::Dialect::srnic : nic::Dialect::roce;
}

// It knows its peer's address and number, and has not been told what to speak.
bool awaits_dialect(const nic::Context& c) {
  return c.dialect == nic::Dialect::undecided && c.state != nic::QpState::reset && c.state != nic::QpState::init &&
         c.state != nic::QpState::error;
}

// It knows who its peer is, and has heard nothing of it in StaR.
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
    journal_.note_state(effects_.look_at_clock(), slot, c.qpn, c.state);
  if (c.dialect == nic::Dialect::undecided) [[unlikely]]
    consult(effects_.look_at_clock(), slot);
  if (c.dialect == nic::Dialect::star) [[unlikely]]
    look_for_partner(effects_.look_at_clock(), c);
}

void Lane::Engine::learn_of(const nic::StatelessBlock& block) {
  const nic::Context& c = block.context;
  if (c.qpn.raw() == 0) return;  // destroyed before it was heard
  const std::uint32_t slot = device_.card().contexts.size() + c.timer;
  const Time now = effects_.look_at_clock();
  if (!journal_.has_seen(slot, c.state)) journal_.note_state(now, slot, c.qpn, c.state);
  look_for_partner(now, c);
}

// Nothing waits for the answer: if the peer is what it should be, it has heard of us when the answer comes.
void Lane::Engine::look_for_partner(Time now, const nic::Context& c) {
  host::QueuePair* const qp = device_.find_qp(c.qpn);
  if (qp == nullptr || !port_.is_open() || !awaits_partner(*qp)) return;
  const Negotiation::Connection connection{
      .own_address = device_.config().gids[c.gid_index], .peer_address = c.peer, .own = c.qpn, .peer = c.peer_qpn};
  const Negotiation::Peer peer = Negotiation::peer_of(connection);
  if (negotiation_.is_asking(peer) || suits(qp->options().role, negotiation_.roles_of(now, peer))) return;
  const auto answer = ask_broker(peer);
  if (answer && answer->code == 0) {
    const LocalPeerInfo& about = answer->local_peer;
    return judge_partner(*qp, negotiation_.learn(now, peer, about.versions, about.roles).roles);
  }
  begin_to_ask(now, connection, answer.has_value());
}

// It does not play the other role: this is known before anybody waits for it.
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

void Lane::Engine::decide(host::QueuePair& qp, Outcome outcome) {
  if (outcome != Outcome::stateful) return qp.decide(dialect_of(outcome));
  qp.become_stateful();
  follow();
}

// The broker need not have answered for packets to be sent: what comes back before it has is said again.
void Lane::Engine::follow() {
  if (roles_.has(wire::StarRoles::kStateful)) return;
  Message m(Topic::play);
  m.roles = roles_of(host::StarRole::stateful);
  if (!broker_.say_at_once(m, {})) return;  // with the next connection
  roles_.bits |= m.roles.bits;
  negotiation_.set_roles(roles_);
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
  const Negotiation::Connection connection{
      .own_address = device_.config().gids[c.gid_index], .peer_address = c.peer, .own = c.qpn, .peer = c.peer_qpn};
  const Negotiation::Peer peer = Negotiation::peer_of(connection);
  Outcome outcome = negotiation_.find(now, peer);
  if (outcome == Outcome::unknown) {
    const auto answer = ask_broker(peer);
    if (answer && answer->code == 0) {
      outcome = negotiation_.learn(now, peer, answer->local_peer.versions, answer->local_peer.roles).outcome;
    } else {
      outcome = begin_to_ask(now, connection, answer.has_value());
    }
  }
  if (outcome != Outcome::waiting) decide(*qp, outcome);
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
  settle_dialect(negotiation_.learn(clock_now(), peer, about.versions, about.roles));
  if (device_.doorbells_waiting()) rang();
}

void Lane::Engine::negotiate(Time now) {
  port_.set_now(now);
  const auto send = [&](const Negotiation::Question& q) {
    std::array<std::byte, wire::kMadBytes> mad{};
    wire::encode_vendor(q.mad, mad);
    const wire::Flow flow{.source = q.from, .destination = q.to, .source_port = wire::kRocePort};
    this->send(flow, build_gsi(flow, static_cast<std::uint32_t>(random_.next()), mad));
  };
  negotiation_.on_time(now, send, [&](const Negotiation::Settled& s) { settle_dialect(s); });
}

void Lane::Engine::settle_dialect(const Negotiation::Settled& settled) {
  if (settled.outcome == Outcome::unknown) return;
  std::vector<wire::Qpn> waiting;
  device_.for_each_qp([&](const host::QueuePair& qp) {
    const nic::Context& c = qp.context();
    if (!(awaits_dialect(c) || awaits_partner(qp)) || c.peer.bytes != settled.peer.address) return;
    if (settled.all_lanes || wire::lane_number(c.peer_qpn) == settled.peer.lane_number) waiting.push_back(qp.qpn());
  });
  for (const wire::Qpn qpn : waiting) {
    host::QueuePair& qp = *device_.find_qp(qpn);
    decide(qp, settled.outcome);
    if (awaits_partner(qp)) judge_partner(qp, settled.roles);
  }
}

// A management datagram for the card and not for the program: an answer, or the question of a peer, which says what the
// peer speaks. Our broker has answered that already.
bool Lane::Engine::heard_about_dialect(const wire::Flow& flow, std::span<const std::byte> mad) {
  wire::VendorMad m;
  if (wire::parse_vendor(mad, m) != Refusal::none) return false;
  const Time now = clock_now();
  if (m.is_answer) {
    settle_dialect(negotiation_.on_answer(now, flow.source, m));
  } else if ((settings_.transport == TransportChoice::automatic || roles_.any()) && is_credible(flow, m)) {
    settle_dialect(negotiation_.on_question(now, flow.source, m));
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
