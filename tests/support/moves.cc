#include "support/moves.h"

namespace weft::test {

Moves::Moves(sim::World& world, std::deque<Node>& nodes, const BedSpec& spec)
    : world_(world), usual_(spec.dialect), link_(spec.link), random_(spec.seed * 7 + 1) {
  for (Node& node : nodes) all_.emplace_back(*this, node);
}

bool Moves::begin(Node& node, host::QueuePair& qp, host::StarRole role) {
  At& at = all_[node.host.index()];
  const bool begins =
      at.mover.begin(world_.now(), qp, role == host::StarRole::none ? usual_ : nic::Dialect::star, role);
  arm(at);
  return begins;
}

void Moves::say(const At& from, const host::QueuePair& qp, wire::MoveMad m) {
  m.from = qp.qpn();
  m.about = qp.context().peer_qpn;
  for (At& to : all_) {
    if (to.node.host.address() == qp.context().peer) send(from, to, m);
  }
}

void Moves::send(const At& from, At& to, const wire::MoveMad& m) {
  Bytes mad;
  wire::encode_move(m, random_.next(), mad);
  for (const Time delay : fate_of(m)) world_.tasks().spawn(deliver(from.node.host.index(), to, mad, delay));
}

std::vector<Time> Moves::fate_of(const wire::MoveMad& m) {
  if (fate) return fate(m);
  const sim::FaultPlan& f = link_.faults;
  const Time way = 2 * link_.delay + 1;
  if (random_.chance(f.loss) || random_.chance(f.corruption)) return {};
  std::vector<Time> out{way};
  if (random_.chance(f.duplication)) out.push_back(way + static_cast<Time>(random_.below(milliseconds(3))));
  if (random_.chance(f.reordering)) out[0] += f.hold;
  if (random_.chance(f.jitter)) out[0] += static_cast<Time>(random_.below(static_cast<std::uint64_t>(f.jitter_max)));
  return out;
}

sim::Task<> Moves::deliver(std::size_t from, At& to, Bytes mad, Time delay) {
  co_await world_.tasks().sleep(delay);
  wire::MoveMad m;
  if (wire::parse_move(mad, m) != Refusal::none) co_return;
  host::QueuePair* const qp = to.node.device().find_qp(m.about);
  if (qp == nullptr || qp->context().peer_qpn != m.from) {
    if (const auto says = host::said_for_nobody(m)) send(to, all_[from], *says);
    co_return;
  }
  to.mover.hear(world_.now(), *qp, m);
  to.node.host.ring_doorbells();
  arm(to);
}

void Moves::arm(At& at) {
  const Time next = at.mover.next_deadline();
  if (next >= at.armed) return;
  at.armed = next;
  world_.tasks().spawn(wake(at, next));
}

sim::Task<> Moves::wake(At& at, Time when) {
  co_await world_.tasks().sleep_until(std::max(when, world_.now()));
  if (at.armed == when) at.armed = kNever;
  at.mover.on_time(world_.now());
  at.node.host.ring_doorbells();
  arm(at);
}

}  // namespace weft::test
