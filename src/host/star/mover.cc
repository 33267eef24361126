#include "host/star/mover.h"

#include <algorithm>

namespace weft::host {
namespace {

using wire::MoveTarget;

MoveTarget::Asker asker_as(StarRole role) {
  if (role == StarRole::none) return MoveTarget::Asker::neither;
  return role == StarRole::stateless ? MoveTarget::Asker::stateless : MoveTarget::Asker::stateful;
}

// Of two that ask at once, the one with the lower number; on two hosts they may be the same.
bool wins_ties(const QueuePair& qp, const wire::Address& own) {
  const nic::Context& c = qp.context();
  if (qp.qpn() != c.peer_qpn) return qp.qpn().raw() < c.peer_qpn.raw();
  return own.bytes < c.peer.bytes;
}

bool is_so_already(const QueuePair& qp, nic::Dialect dialect, StarRole role) {
  return qp.context().dialect == dialect && qp.options().role == role;
}

}  // namespace

StarRole Mover::role_in(const MoveTarget& target, bool is_asker) {
  if (target.asker == MoveTarget::Asker::neither) return StarRole::none;
  const bool is_stateless = (target.asker == MoveTarget::Asker::stateless) == is_asker;
  return is_stateless ? StarRole::stateless : StarRole::stateful;
}

// Who waits for a silent peer for longer than usual, or for ever, does so here, too.
Move& Mover::part_of(QueuePair& qp) {
  if (qp.move() != nullptr) return *qp.move();
  const nic::Context& c = qp.context();
  MoveTimes times = times_;
  times.patience = c.ack_timeout == 0
                       ? kNever
                       : std::max(times.patience,
                                  nic::star_patience(device_.card().config.ack_timeout(c.ack_timeout), c.retry_count));
  return qp.begin_moves(times, wins_ties(qp, device_.config().gids[c.gid_index]));
}

Move::Own Mover::own(const QueuePair& qp, StarRole role) {
  return {.is_willing = qp.may_move_to(role),
          .is_quiet = qp.is_quiet() && world_.is_prepared(role),
          .numbers = qp.move_numbers()};
}

bool Mover::begin(Time now, QueuePair& qp, nic::Dialect dialect, StarRole role) {
  if (!qp.may_move_to(role) || is_so_already(qp, dialect, role)) return false;
  Move& move = part_of(qp);
  if (move.phase() != Move::Phase::idle) return false;
  carry_out(qp, move.begin(now, {dialect, asker_as(role)}));
  return true;
}

void Mover::hear(Time now, QueuePair& qp, const wire::MoveMad& m) {
  Move& move = part_of(qp);
  const bool asks = m.kind == wire::MoveMad::Kind::ask;
  const StarRole role = role_in(asks ? m.target : move.target(), !asks && move.has_asked());
  Move::Own facts = own(qp, role);
  if (asks) {
    facts.is_willing = facts.is_willing && !is_so_already(qp, m.target.dialect, role) && world_.agrees(qp, m);
  }
  carry_out(qp, move.hear(now, facts, m));
}

void Mover::on_time(Time now) {
  if (now < next_) return;
  const std::vector<wire::Qpn> all = under_way_;
  for (const wire::Qpn qpn : all) {
    QueuePair* const qp = device_.find_qp(qpn);
    if (qp == nullptr || qp->move() == nullptr) continue;
    Move& move = *qp->move();
    carry_out(*qp, move.on_time(now, own(*qp, role_in(move.target(), move.has_asked()))));
  }
  std::erase_if(under_way_, [&](wire::Qpn qpn) {
    const QueuePair* const qp = device_.find_qp(qpn);
    return qp == nullptr || qp->move() == nullptr || qp->move()->phase() == Move::Phase::idle;
  });
  next_ = kNever;
  for (const wire::Qpn qpn : under_way_) next_ = std::min(next_, device_.find_qp(qpn)->move()->next_deadline());
}

void Mover::carry_out(QueuePair& qp, const Move::Orders& orders) {
  const Move& move = *qp.move();
  const bool runs = qp.state() == nic::QpState::rts || qp.state() == nic::QpState::sqd;
  if (orders.holds) {
    qp.hold();
    world_.prepare(role_in(move.target(), move.has_asked()));
  }
  if (orders.changes && runs) {
    qp.change(move.target().dialect, role_in(move.target(), move.has_asked()), move.peer_numbers(), move.generation());
    world_.moved(qp);
  }
  if (orders.releases) qp.release();
  if (orders.breaks) {
    qp.release();
    if (runs) world_.lost_peer(qp);
  }
  if (orders.says) world_.say(qp, *orders.says);
  if (orders.refused) world_.refused(qp);
  watch(qp);
}

void Mover::watch(const QueuePair& qp) {
  const Move* const move = qp.move();
  if (move == nullptr || move->phase() == Move::Phase::idle) return;
  if (std::find(under_way_.begin(), under_way_.end(), qp.qpn()) == under_way_.end()) under_way_.push_back(qp.qpn());
  next_ = std::min(next_, move->next_deadline());
}

}  // namespace weft::host
