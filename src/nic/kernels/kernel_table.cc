#include "nic/kernels/kernel_table.h"

#include <algorithm>

namespace weft::nic {

DeployedKernel::DeployedKernel(const Kernel& k)
    : kernel(k),
      name(k.name),
      instances(k.instances),
      states(std::size_t{k.instances} * ((k.state_bytes + 15) / 16 * 16)) {
  kernel.name = name;
  free.reserve(k.instances);
  const std::size_t stride = (k.state_bytes + 15) / 16 * 16;
  for (std::size_t n = k.instances; n-- > 0;) {
    instances[n].of = this;
    instances[n].state = states.data() + n * stride;
    free.push_back(&instances[n]);
  }
}

KernelInstance* DeployedKernel::take() {
  if (free.empty()) return nullptr;
  KernelInstance* i = free.back();
  free.pop_back();
  ++users;
  *i = {.of = this, .state = i->state};
  std::fill_n(i->state, kernel.state_bytes, std::byte{0});
  return i;
}

void DeployedKernel::give_back(KernelInstance& i) {
  i.phase = KernelInstance::Phase::free;
  --users;
  free.push_back(&i);
}

KernelServer::KernelServer(std::uint32_t qpn, std::uint32_t calls, std::uint32_t local_calls)
    : qpn_(qpn),
      answers_(2 * calls),
      sends_(kSendsOfALocalCall * local_calls),
      memory_(answers_ * kStride + std::size_t{sends_} * KernelStep::kMostSend),
      busy_(answers_ + sends_),
      local_(local_calls),
      senders_(sends_) {
  pairs_.reserve(calls);
  for (std::uint32_t n = calls; n-- > 0;) pairs_.push_back(2 * n);
  free_sends_.reserve(sends_);
  for (std::uint32_t n = sends_; n-- > 0;) free_sends_.push_back(answers_ + n);
}

std::uint32_t KernelServer::take_send(std::uint32_t qpn, std::uint32_t serial) {
  if (free_sends_.empty()) return kNoPlace;
  const std::uint32_t place = free_sends_.back();
  free_sends_.pop_back();
  senders_[place - answers_] = {qpn, serial};
  return place;
}

KernelServer::Sender KernelServer::end_send(std::uint32_t place) {
  if (place < answers_ || !busy_[place]) return {};
  busy_[place] = false;
  free_sends_.push_back(place);
  return senders_[place - answers_];
}

void KernelServer::end_of_send(std::uint32_t serial, bool arrived) {
  for (KernelInstance* i = first_; i != nullptr; i = i->next) {
    if (i->serial != serial) continue;
    --i->under_way;
    i->lost = i->lost || !arrived;
    if (i->under_way == 0 && i->phase == KernelInstance::Phase::finished) has_turn = true;
  }
}

bool KernelServer::take_places(KernelInstance& i) {
  for (std::size_t n = pairs_.size(); n-- > 0;) {
    const std::uint32_t first = pairs_[n];
    if (busy_[first] || busy_[first + 1]) continue;  // what the last call was answered is still under way
    pairs_.erase(pairs_.begin() + static_cast<std::ptrdiff_t>(n));
    i.places[0] = first;
    i.places[1] = first + 1;
    i.open = 0;
    i.filled = 0;
    return true;
  }
  return false;
}

void KernelServer::give_back_places(const KernelInstance& i) { pairs_.push_back(std::min(i.places[0], i.places[1])); }

void KernelServer::detach(KernelInstance& i) {
  KernelInstance** at = &first_;
  while (*at != &i) at = &(*at)->next;
  *at = i.next;
}

KernelInstance* KernelServer::find_waiting(std::uint64_t opcode, bool is_local) const {
  for (KernelInstance* i = first_; i != nullptr; i = i->next) {
    if (i->phase == KernelInstance::Phase::waits && !i->deaf && i->opcode == opcode && i->is_local == is_local)
      return i;
  }
  return nullptr;
}

KernelInstance* KernelServer::find(std::uint64_t opcode) const {
  if (KernelInstance* waiting = find_waiting(opcode)) return waiting;
  for (KernelInstance* i = first_; i != nullptr; i = i->next) {
    if (i->opcode == opcode && !i->is_local) return i;
  }
  return nullptr;
}

bool KernelServer::has_busy_stream(std::uint64_t opcode) const {
  for (const KernelInstance* i = first_; i != nullptr; i = i->next) {
    const bool waits = i->phase == KernelInstance::Phase::waits;
    if (i->opcode == opcode && i->is_stream && !i->is_local && !i->deaf && !waits) return true;
  }
  return false;
}

bool KernelServer::let_go_on() {
  for (KernelInstance* i = first_; i != nullptr; i = i->next) {
    if (i->is_local) continue;
    if (i->phase == KernelInstance::Phase::blocked || i->phase == KernelInstance::Phase::finished) has_turn = true;
  }
  return has_turn;
}

void KernelServer::wait_at(KernelServer& there) {
  if (waits_at_ != nullptr) return;
  waits_at_ = &there;
  next_waiter_ = there.first_waiter_;
  there.first_waiter_ = this;
}

void KernelServer::stop_waiting() {
  if (waits_at_ == nullptr) return;
  KernelServer** at = &waits_at_->first_waiter_;
  while (*at != this) at = &(*at)->next_waiter_;
  *at = next_waiter_;
  waits_at_ = nullptr;
}

void KernelServer::forget_calls() {
  stop_waiting();
  while (first_ != nullptr) {
    KernelInstance& i = *first_;
    first_ = i.next;
    if (i.answers && !i.is_local) give_back_places(i);
    i.of->give_back(i);
  }
}

void KernelTable::deploy(const Kernel& k) {
  remove(k.opcode);
  kernels_.push_back(std::make_unique<DeployedKernel>(k));
  kernels_.back()->number = ++deployed_;
}

bool KernelTable::remove(std::uint64_t opcode) {
  DeployedKernel* k = find(opcode);
  if (k != nullptr) k->is_live = false;
  sweep();
  return k != nullptr;
}

DeployedKernel* KernelTable::find(std::uint64_t opcode) const {
  for (const auto& k : kernels_) {
    if (k->is_live && k->kernel.opcode == opcode) return k.get();
  }
  return nullptr;
}

// A kernel that was removed stays until its last call has ended.
void KernelTable::sweep() {
  std::erase_if(kernels_, [](const auto& k) { return !k->is_live && k->users == 0; });
}

}  // namespace weft::nic
