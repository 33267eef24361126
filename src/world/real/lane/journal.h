// What has happened to each queue pair, for those who ask why it broke (`weft explain`): the states it went through,
// and the first and last packet that was refused.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "nic/context.h"
#include "wire/packet.h"
#include "wire/refusal.h"
#include "world/real/os/time.h"

namespace weft::real {

class Journal {
 public:
  struct Refused {
    Time when = 0;
    Refusal why = Refusal::none;
    wire::Opcode opcode{};
    wire::Psn psn{};
    wire::Address from{};
  };
  struct Change {
    Time when = 0;
    nic::QpState state{};
  };
  struct Record {
    wire::Qpn qpn{};
    std::uint8_t changes = 0;  // in all; the first and the latest are kept
    std::array<Change, 6> history{};
    std::optional<Refused> first, last;  // refused packets; duplicates and gaps are a network's everyday life
    std::uint32_t refused = 0;
  };

  // A queue pair's doorbell was heard: has its state changed? A byte each, so that thousands of them stay near: this is
  // asked with every doorbell.
  [[nodiscard]] bool has_seen(std::uint32_t slot, nic::QpState state) const {
    return slot < states_.size() && states_[slot] == static_cast<std::uint8_t>(state);
  }
  [[gnu::cold]] void note_state(Time now, std::uint32_t slot, wire::Qpn qpn, nic::QpState state);
  void refused(Time now, Refusal why, const wire::Packet* packet);
  void set_slots(std::uint32_t slots) { mask_ = slots - 1; }  // a power of two: a number's low bits are its slot

  [[nodiscard]] const Record* of(std::uint32_t slot, wire::Qpn qpn) const;
  // The last packets for queue pairs that do not exist.
  [[nodiscard]] const std::optional<Refused>& stray() const { return stray_; }

 private:
  std::vector<std::uint8_t> states_;  // by slot
  std::vector<Record> records_;       // by slot; grows with the highest in use
  std::uint32_t mask_ = 0;
  std::optional<Refused> stray_;
};

}  // namespace weft::real
