// One card at one end of a wire without a kernel: every effect happens at once. For measuring the card itself, and the
// shape that the real world's ports have.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "host/device.h"
#include "nic/card.h"
#include "world/direct/frames.h"
#include "world/large_pages.h"

namespace weft::direct {

class DirectEffects {
 public:
  static constexpr nic::Capabilities kCapabilities{};

  DirectEffects(host::Device& device, FrameRing& out, Icrc icrc) : device_(device), out_(out), icrc_(icrc) {}

  void emit(const nic::OutPacket& packet) { out_.send(packet, icrc_); }
  void complete(std::uint32_t cq, const nic::Completion&) { nic::reveal(device_.card(), *this, now_, cq); }
  void notify(const nic::HostEvent& event) { device_.on_event(event); }
  void tell(const nic::LossEvent& e) { device_.tell(e); }
  void dma_write(std::byte* to, std::span<const std::byte> data) { std::memcpy(to, data.data(), data.size()); }
  void read(nic::BusRead, const void*, std::size_t) {}
  void write(nic::BusWrite, const void*, std::size_t) {}
  void touch(nic::OnChip, std::uint64_t) {}
  bool reach(std::byte*, std::size_t, bool) { return true; }
  void set_now(Time now) { now_ = now; }

 private:
  host::Device& device_;
  FrameRing& out_;
  Icrc icrc_;
  Time now_ = 0;
};

class Endpoint {
 public:
  Endpoint(const host::DeviceConfig& config, host::RandomSource& random, FrameRing& in, FrameRing& out, Icrc icrc)
      : device_(config, random),
        in_(in),
        out_(out),
        icrc_(icrc),
        effects_(device_, out, icrc),
        card_(device_.card(), effects_) {
    world::advise_large_pages(device_.card().contexts.bytes());
  }

  [[nodiscard]] host::Device& device() { return device_; }

  // Hears doorbells, takes what has arrived, sends what there is to send.
  void drive(Time now) {
    effects_.set_now(now);
    device_.take_doorbells([&](std::uint32_t slot) { card_.on_doorbell(now, slot); });
    while (in_.size() > 0) receive_batch(now);
    serve_losses(now);
    // A turn is at most 8 packets; acknowledgements come on top, at most one a packet received.
    while (card_.has_work() && out_.room() >= kRoom) card_.transmit(now, 1);
  }
  void on_time(Time now) {
    card_.on_time(now);
    serve_losses(now);
  }

 private:
  static constexpr std::uint32_t kBatch = 32, kRoom = 64;

  void serve_losses(Time now) {
    device_.take_losses([&](const nic::ControlMessage& m) { card_.on_control(now, m); });
  }
  void receive_batch(Time now) {
    const std::uint32_t n = std::min(in_.size(), kBatch);
    std::uint32_t good = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      const Frame& f = in_.peek(i);
      const std::span<const std::byte> datagram(f.datagram.data(), f.bytes);
      wire::Packet& p = batch_[good];
      p.flow = f.flow;
      Refusal why = wire::parse(datagram, p);
      if (why == Refusal::none && icrc_ == Icrc::both_ends && !wire::icrc_matches(f.flow, datagram)) {
        why = Refusal::bad_icrc;
      }
      if (why != Refusal::none) {
        card_.on_refused(why);
        continue;
      }
      card_.expect(p);
      ++good;
    }
    card_.on_packets(now, std::span(batch_).first(good));
    in_.drop(n);
  }

  host::Device device_;
  FrameRing& in_;
  FrameRing& out_;
  Icrc icrc_;
  DirectEffects effects_;
  nic::Card<DirectEffects> card_;
  std::array<wire::Packet, kBatch> batch_;  // headers that an opcode lacks keep what they had: nobody reads them
};

}  // namespace weft::direct
