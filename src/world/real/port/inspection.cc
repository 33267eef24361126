#include "world/real/port/inspection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "wire/datagram.h"

namespace weft::real {

std::optional<Trouble> Inspection::open(const Settings& settings, std::uint8_t lane_number, Time now) {
  if (!settings.pcap.empty()) {
    auto tap = Tap::open(settings.pcap, now);
    if (!tap) return Trouble{EIO, tap.error()};
    tap_.emplace(std::move(*tap));
  }
  if (!settings.impairments.empty()) {
    const std::uint64_t stream = 2U * lane_number;
    const auto make = [&](bool wanted, std::uint64_t nth) {
      return wanted ? std::make_unique<PortFaults>(settings.impairments, settings.seed, nth, now) : nullptr;
    };
    outbound_ = make(settings.impair_outbound, stream);
    inbound_ = make(settings.impair_inbound, stream + 1);
  }
  on_ = tap_.has_value() || outbound_ || inbound_;
  return std::nullopt;
}

void Inspection::close() {
  tap_.reset();
  outbound_.reset();
  inbound_.reset();
  on_ = false;
}

void Inspection::emit(const nic::OutPacket& packet) {
  const world::Fate fate = fate_of(packet.flow);
  if (!tap_) {
    if (!outbound_ || outbound_->leaves_alone(fate)) return port_.emit(packet);
    if (fate.drop) return;  // nobody would see it
  }
  const wire::Flow flow = port_.flow_of(packet);
  std::array<std::byte, kDatagram> datagram;
  std::byte* const end = wire::encode_datagram(packet.headers, packet.payload, datagram.data());
  const std::span<std::byte> whole(datagram.data(), end);
  wire::seal_datagram(flow, whole);
  offer(flow, whole, fate);
}

void Inspection::send(const wire::Flow& flow, std::span<const std::byte> datagram) {
  offer(flow, datagram, fate_of(flow));
}

void Inspection::offer(const wire::Flow& flow, std::span<const std::byte> datagram, const world::Fate& fate) {
  if (!outbound_) return departure()(flow, datagram, {});
  const std::string_view why = outbound_->carry_out(fate, port_.now(), flow, datagram, departure());
  if (!why.empty()) note(Direction::outbound, flow, datagram, why);
}

void Inspection::note_refused(const wire::Flow& flow, std::span<const std::byte> datagram, Refusal why) {
  if (!tap_) return;
  note(Direction::inbound, flow, datagram,
       fmt::format("refused: {}: {}", weft::text(why).counter, weft::text(why).meaning));
}

Time Inspection::next_of_stages() const {
  Time next = kNever;
  if (outbound_) next = std::min(next, outbound_->next_deadline());
  if (inbound_) next = std::min(next, inbound_->next_deadline());
  if (tap_) next = std::min(next, tap_->next_deadline());
  return next;
}

}  // namespace weft::real
