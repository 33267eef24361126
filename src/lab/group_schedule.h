// Connections that take turns, as ScaleRPC has them (EuroSys 2019; the StaR paper compares with it as "ScalaRDMA"): a
// group has the card for a slot of time, and who belongs to another group waits before it posts. It keeps the state of
// as many connections busy as the card has room for.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace weft::lab {

class GroupSchedule {
 public:
  // A new group is begun when those before it are full. Size 0: all are one group.
  GroupSchedule(std::uint32_t size, Time slot, std::uint32_t connections)
      : size_(size), slot_(slot), groups_(size == 0 ? 1 : (connections + size - 1) / size) {}

  [[nodiscard]] std::uint32_t groups() const { return groups_; }
  [[nodiscard]] std::uint32_t group_of(std::uint32_t connection) const { return size_ == 0 ? 0 : connection / size_; }
  [[nodiscard]] std::uint32_t active(Time now) const {
    return groups_ == 1 ? 0 : static_cast<std::uint32_t>(now / slot_ % groups_);
  }
  // When this group may post: now, or when its next slot begins.
  [[nodiscard]] Time next(std::uint32_t group, Time now) const {
    const std::uint32_t slots = (group + groups_ - active(now)) % groups_;
    return slots == 0 ? now : (now / slot_ + slots) * slot_;
  }

 private:
  std::uint32_t size_;
  Time slot_;
  std::uint32_t groups_;
};

}  // namespace weft::lab
