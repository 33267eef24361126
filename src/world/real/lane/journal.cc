#include "world/real/lane/journal.h"

#include <algorithm>

namespace weft::real {
namespace {
constexpr std::uint8_t kUnseen = 0xFF;

bool is_everyday(Refusal why) {
  return why == Refusal::psn_ahead || why == Refusal::psn_duplicate || why == Refusal::ack_duplicate ||
         why == Refusal::response_out_of_order;
}
}  // namespace

void Journal::note_state(Time now, std::uint32_t slot, wire::Qpn qpn, nic::QpState state) {
  if (slot >= records_.size()) {
    records_.resize(slot + 1);
    states_.resize(slot + 1, kUnseen);
  }
  states_[slot] = static_cast<std::uint8_t>(state);
  Record& r = records_[slot];
  if (r.qpn != qpn) {
    r = Record{};
    r.qpn = qpn;
  }
  if (r.changes == r.history.size()) {
    std::move(r.history.begin() + 2, r.history.end(), r.history.begin() + 1);
    --r.changes;
  }
  r.history[r.changes++] = {now, state};
}

void Journal::refused(Time now, Refusal why, const wire::Packet* packet) {
  if (packet == nullptr || is_everyday(why)) return;
  const wire::Bth& bth = packet->headers.bth;
  const Refused what{now, why, bth.opcode, bth.psn, packet->flow.source};
  const std::uint32_t slot = bth.destination.raw() & mask_;
  if (slot >= records_.size() || records_[slot].qpn != bth.destination) {
    stray_ = what;
    return;
  }
  Record& r = records_[slot];
  if (!r.first) r.first = what;
  r.last = what;
  ++r.refused;
}

const Journal::Record* Journal::of(std::uint32_t slot, wire::Qpn qpn) const {
  return slot < records_.size() && records_[slot].qpn == qpn ? &records_[slot] : nullptr;
}

}  // namespace weft::real
