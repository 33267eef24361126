#include "world/real/lane/role_moves.h"

namespace weft::real {

void RoleMoves::note(Time now) {
  watch_.note(now, device_.connections());
  if (now >= looks_at_ || looks_at_ == kNever) looks_at_ = watch_.is_busy() ? now + RoleWatch::kLooks : kNever;
  plan();
}

void RoleMoves::on_time(Time now) {
  if (now < next_) return;
  note(now);
  if (watch_.is_due(now)) look_at_all();
  mover_.on_time(now);
  go_on(now);
}

void RoleMoves::look_at_all() {
  wanting_.clear();
  device_.for_each_qp([&](const host::QueuePair& qp) {
    const host::StarRole role = qp.options().role;
    if (watch_.wanted(role) != role && qp.may_move_to(watch_.wanted(role))) wanting_.push_back(qp.qpn());
  });
  looks_ = true;
  some_refused_ = false;
}

// What is spoken without roles is srnic: whoever knows of moves speaks that, too.
void RoleMoves::go_on(Time now) {
  while (!wanting_.empty() && mover_.under_way() < kAtOnce) {
    host::QueuePair* const qp = device_.find_qp(wanting_.back());
    wanting_.pop_back();
    if (qp == nullptr) continue;
    const host::StarRole wanted = watch_.wanted(qp->options().role);
    const auto dialect = wanted == host::StarRole::none ? nic::Dialect::srnic : nic::Dialect::star;
    if (wanted != qp->options().role) mover_.begin(now, *qp, dialect, wanted);
  }
  if (looks_ && wanting_.empty() && mover_.under_way() == 0) {
    looks_ = false;
    watch_.looked(now, some_refused_);
  }
  plan();
}

}  // namespace weft::real
