// Which dialect each reliable connection speaks: when a queue pair learns who its peer is, the peer's card is asked.
#include "world/real/broker/gsi.h"
#include "world/real/lane/engine.h"
#include "world/real/os/clock.h"

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

}  // namespace

void Lane::Engine::deliver_doorbells(Time now) {
  device_.take_doorbells([&](std::uint32_t slot) { hear_doorbell(now, slot); });
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
      outcome = negotiation_.learn(now, peer, answer->local_peer.versions).outcome;
    } else {
      const std::uint64_t secret = random_.next() >> 8;
      const auto broker = answer ? Negotiation::Broker::does_not_know : Negotiation::Broker::is_late;
      outcome = negotiation_.ask(now, connection, std::uint64_t{port_.lane_number()} << 56 | secret, broker);
      negotiate(now);
      port_.flush();
    }
  }
  if (outcome != Outcome::waiting) qp->decide(dialect_of(outcome));
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
  settle_dialect(negotiation_.learn(clock_now(), peer, about.versions));
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
    if (!awaits_dialect(c) || c.peer.bytes != settled.peer.address) return;
    if (settled.all_lanes || wire::lane_number(c.peer_qpn) == settled.peer.lane_number) waiting.push_back(qp.qpn());
  });
  for (const wire::Qpn qpn : waiting) device_.find_qp(qpn)->decide(dialect_of(settled.outcome));
}

// A management datagram for the card and not for the program: an answer, or the question of a peer, which says what the
// peer speaks. Our broker has answered that already.
bool Lane::Engine::heard_about_dialect(const wire::Flow& flow, std::span<const std::byte> mad) {
  wire::VendorMad m;
  if (wire::parse_vendor(mad, m) != Refusal::none) return false;
  const Time now = clock_now();
  if (m.is_answer) {
    settle_dialect(negotiation_.on_answer(now, flow.source, m));
  } else if (settings_.transport == TransportChoice::automatic && is_credible(flow, m)) {
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
