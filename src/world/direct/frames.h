// A wire without a kernel: a ring of datagrams between two cards in one thread, as bytes. What does not fit is lost,
// as on any wire.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "nic/world.h"
#include "wire/datagram.h"

namespace weft::direct {

enum class Icrc : std::uint8_t { none, both_ends };

struct alignas(64) Frame {
  wire::Flow flow;
  std::uint32_t bytes = 0;
  // The payload of most opcodes then starts on a cache line's half: copies of whole lines stay fast.
  alignas(64) std::array<std::byte, 4096 + wire::kMaxHeaderBytes + 3 + wire::kIcrcBytes> datagram;
};

class FrameRing {
 public:
  explicit FrameRing(std::uint32_t power_of_two) : frames_(new Frame[power_of_two]), mask_(power_of_two - 1) {}

  [[nodiscard]] std::uint32_t size() const { return tail_ - head_; }
  [[nodiscard]] std::uint32_t room() const { return mask_ + 1 - size(); }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  [[nodiscard]] const Frame& peek(std::uint32_t i) const { return frames_[(head_ + i) & mask_]; }
  void drop(std::uint32_t n) { head_ += n; }

  // The next one that is sent does not arrive.
  void lose_next() { loses_ = true; }

  void send(const nic::OutPacket& packet, Icrc icrc) {
    if (room() == 0 || std::exchange(loses_, false)) {
      ++lost_;
      return;
    }
    Frame& f = frames_[tail_++ & mask_];
    f.flow = packet.flow;
    const std::byte* const end = wire::encode_datagram(packet.headers, packet.payload, f.datagram.data());
    f.bytes = static_cast<std::uint32_t>(end - f.datagram.data());
    if (icrc == Icrc::both_ends) wire::seal_datagram(f.flow, std::span(f.datagram).first(f.bytes));
  }

 private:
  std::unique_ptr<Frame[]> frames_;
  std::uint32_t mask_;
  std::uint32_t head_ = 0, tail_ = 0;
  std::uint64_t lost_ = 0;
  bool loses_ = false;
};

}  // namespace weft::direct
