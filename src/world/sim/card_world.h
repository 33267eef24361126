// The simulated world as a card sees it. The cards are ideal so far: an effect happens at once and costs nothing but
// its time on the link.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <deque>
#include <span>
#include <utility>

#include "host/device.h"
#include "nic/card.h"
#include "world/sim/network.h"

namespace weft::sim {

class CardWorld final : public host::Exporter {
 public:
  static constexpr nic::Capabilities kCapabilities{.bursts = true};

  CardWorld(Network& network, HostIndex index, host::Device& device)
      : network_(network), index_(index), device_(device) {
    device.set_exporter(this);
  }

  ~CardWorld() { device_.set_exporter(nullptr); }
  CardWorld(const CardWorld&) = delete;
  CardWorld& operator=(const CardWorld&) = delete;

  // Host memory may change while a packet is under way, so the parcel takes a copy with it; unless it is exported.
  void emit(const nic::OutPacket& packet) {
    const ParcelId id = packet.one_copy ? network_.parcels().make_hollow(packet.payload_bytes)
                                        : network_.parcels().make(packet.payload_bytes);
    Parcel& parcel = network_.parcels()[id];
    parcel.flow = packet.flow;
    parcel.headers = packet.headers;
    parcel.packets = static_cast<std::uint16_t>(packet.packets);
    if (packet.one_copy) {
      parcel.exported_by.from = packet.payload.front().data;
      parcel.exported_by.revocations = &revocations_;
      parcel.exported_by.revocations_then = revocations_;
      return network_.send(index_, id);
    }
    std::byte* to = parcel.payload().data();
    for (const nic::Fragment& piece : packet.payload) {
      std::memcpy(to, piece.data, piece.bytes);
      to += piece.bytes;
    }
    network_.send(index_, id);
  }
  nic::BurstLimits burst_limits(const wire::Flow&, wire::Qpn) {
    return {.near = burst_bytes, .one_copy = one_copy_bytes, .one_copy_from = 0, .one_copy_message = ~0U};
  }
  std::size_t fetch(std::span<const nic::OneCopyPiece> pieces) {
    std::size_t fetched = 0;
    for (const nic::OneCopyPiece& piece : pieces) {
      const auto& exported_by = static_cast<const ParcelExport&>(piece.from.exported_by());
      if (*exported_by.revocations != exported_by.revocations_then) break;
      std::memcpy(piece.to, std::bit_cast<const std::byte*>(piece.from.address()), piece.from.size());
      ++fetched;
    }
    return fetched;
  }
  void revoke_all() override { ++revocations_; }
  void revoke(const std::byte*, std::uint64_t) override { ++revocations_; }
  void complete(std::uint32_t cq, const nic::Completion& done);
  void notify(const nic::HostEvent& event);
  // Over the bus to the host's software, where it is heard after the control queue's delay.
  void tell(const nic::LossEvent& e) {
    const std::uint64_t nth = ++told_;
    if (nth - lost_from < lost_count) return;
    losses_.push_back({network_.now() + control_delay, e});
  }
  void dma_write(std::byte* to, std::span<const std::byte> data) { std::memcpy(to, data.data(), data.size()); }
  void read(nic::BusRead, const void*, std::size_t) {}
  void write(nic::BusWrite, const void*, std::size_t) {}
  void touch(nic::OnChip, std::uint64_t) {}
  bool reach(std::byte*, std::size_t, bool) { return true; }

  struct TimedLoss {
    Time due;
    nic::LossEvent event;
  };
  [[nodiscard]] std::deque<TimedLoss>& losses() { return losses_; }
  std::uint32_t burst_bytes = 0;                // what may travel as one; no network does that
  std::uint32_t one_copy_bytes = 0;             // likewise, with the payload left behind
  Time control_delay = 0;                       // of the control queue, each way
  std::uint64_t lost_from = 1, lost_count = 0;  // these loss events never arrive; the first is 1

  // Something the host's programs may be waiting for has happened since this was last asked.
  [[nodiscard]] bool take_news() { return std::exchange(news_, false); }

 private:
  Network& network_;
  HostIndex index_;
  host::Device& device_;
  bool news_ = false;
  std::uint64_t told_ = 0;
  std::uint64_t revocations_ = 0;
  std::deque<TimedLoss> losses_;
};

}  // namespace weft::sim

namespace weft::nic {
extern template class Card<sim::CardWorld>;
}
