// Connections that run change their roles when the lane has got many more of them, or has lost them: what moves
// (role_moves.h) need of the lane. What both sides say about it are datagrams to QP1, which brokers hand on.
#include "world/real/broker/gsi.h"
#include "world/real/lane/engine.h"
#include "world/real/lane/role_choice.h"

namespace weft::real {

void Lane::Engine::say(const host::QueuePair& qp, const wire::MoveMad& m) {
  const nic::Context& c = qp.context();
  wire::MoveMad said = m;
  said.from = qp.qpn();
  said.about = c.peer_qpn;
  send_move(device_.config().gids[c.gid_index], c.peer, said);
}

void Lane::Engine::send_move(const wire::Address& from, const wire::Address& to, const wire::MoveMad& m) {
  if (!port_.is_open()) return;
  wire::MoveMad said = m;
  said.connections = device_.connections();
  std::array<std::byte, wire::kMadBytes> mad{};
  wire::encode_move(said, random_.next(), mad);
  const wire::Flow flow{.source = from, .destination = to, .source_port = wire::kRocePort};
  port_.set_now(effects_.look_at_clock());
  send(flow, build_gsi(flow, static_cast<std::uint32_t>(random_.next()), mad));
  port_.flush();
}

// Whoever asks to be stateless has decided so by its own count. That it is much busier than we are is ours to judge,
// who know our count. Whoever is stateless may have no reason to be that any more, and is not asked for one.
bool Lane::Engine::agrees(const host::QueuePair& qp, const wire::MoveMad& asked) {
  if (!roles_.has(wire::StarRoles::kChooses)) return false;
  switch (asked.target.asker) {
    case wire::MoveTarget::Asker::stateless:
      return is_much_busier({.own = asked.connections, .peers = device_.connections(), .beyond = 1});
    case wire::MoveTarget::Asker::stateful: return false;
    case wire::MoveTarget::Asker::neither: break;
  }
  return asked.target.dialect == nic::Dialect::srnic && qp.options().role == host::StarRole::stateful;
}

void Lane::Engine::moved(host::QueuePair& qp) {
  moves_.count_made();
  owner_.on_moved(qp);
}

void Lane::Engine::lost_peer(host::QueuePair& qp) {
  if (qp.block() == nullptr) return card_.on_no_partner(effects_.look_at_clock(), qp.slot(), Refusal::retry_exceeded);
  device_.card().counters.add(Refusal::retry_exceeded);
  device_.stateless()->break_off(device_.stateless()->of(qp.context()), nic::Status::retry_exceeded,
                                 Refusal::retry_exceeded);
}

// Only the peer of a queue pair moves it. Whoever asks about one that there is not, or that has no peer any more, is
// told so.
void Lane::Engine::hear_move(const wire::Flow& flow, const wire::MoveMad& m) {
  host::QueuePair* const qp = device_.find_qp(m.about);
  const bool is_peer = qp != nullptr && qp->context().peer == flow.source && qp->context().peer_qpn == m.from &&
                       qp->state() != nic::QpState::reset && qp->state() != nic::QpState::init;
  if (is_peer) return moves_.hear(effects_.look_at_clock(), *qp, m);
  if (const auto says = host::said_for_nobody(m)) send_move(flow.destination, flow.source, *says);
}

}  // namespace weft::real
