#include "world/sim/corruption.h"

#include <array>
#include <cassert>
#include <cstring>
#include <span>

#include "wire/frame.h"
#include "world/damage.h"

namespace weft::sim {
namespace {

constexpr std::size_t kMaxDatagram = wire::kMaxHeaderBytes + PayloadPool::kMaxBytes + 3 + wire::kIcrcBytes;

}  // namespace

void corrupt(Parcel& parcel, world::Random& random) {
  if (parcel.refusal != Refusal::none) return;  // damaged before, on another link
  if (parcel.exported_by.from != nullptr) {     // where payloads are left behind nothing is damaged, but it may be lost
    parcel.refusal = Refusal::bad_icrc;
    return;
  }
  static constexpr std::array<std::byte, PayloadPool::kMaxBytes> kZeros{};
  const std::span<const std::byte> payload =
      parcel.buffer.data != nullptr ? parcel.payload() : std::span(kZeros).first(parcel.payload_bytes);

  std::array<std::byte, kMaxDatagram> datagram;
  const std::size_t datagram_bytes = wire::encode_datagram(parcel.headers, payload, parcel.flow, datagram);
  if (datagram_bytes == 0) {  // no opcode at all: no bytes to damage, and none that a port would take
    parcel.refusal = Refusal::unknown_opcode;
    return;
  }
  std::array<std::byte, wire::kMaxFrameHeaderBytes + kMaxDatagram> frame;
  const std::size_t frame_bytes = wire::build_frame(parcel.flow, std::span(datagram).first(datagram_bytes), frame);
  assert(frame_bytes > 0);

  // From the IP header on: an Ethernet header is each link's own.
  const std::span<std::byte> ip_packet = std::span(frame).first(frame_bytes).subspan(wire::Ethernet::kBytes);
  world::damage(ip_packet, random);
  wire::Packet read{parcel.flow, parcel.headers, {}};
  parcel.refusal = wire::parse_ip(ip_packet, read);
  if (parcel.refusal != Refusal::none) return;
  assert(read.payload.size() <= parcel.payload_bytes);
  parcel.flow = read.flow;
  parcel.headers = read.headers;
  if (parcel.buffer.data != nullptr) std::memcpy(parcel.buffer.data, read.payload.near().data(), read.payload.size());
  parcel.payload_bytes = static_cast<std::uint32_t>(read.payload.size());
}

}  // namespace weft::sim
