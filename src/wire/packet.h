// A packet's meaning: what is left when bytes have been parsed. It cannot be malformed, only unwelcome.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "wire/headers.h"
#include "wire/payload.h"
#include "wire/srnic.h"
#include "wire/types.h"

namespace weft::wire {

// What IP and UDP say about a packet. ECN is the low two bits of the traffic class.
struct alignas(8) Flow {
  Address source{}, destination{};
  std::uint32_t flow_label : 24 = 0;  // IPv6 only; 20 bits
  UdpPort to : 8 = UdpPort::roce;     // destination port
  std::uint16_t source_port = 0xC000;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  friend constexpr bool operator==(const Flow&, const Flow&) = default;
};

// Between IPv4 and IPv6: no packet on a wire says so, and no ICRC covers it. To be asked where a program says it.
constexpr bool is_mixed(const Flow& flow) { return flow.source.is_v4() != flow.destination.is_v4(); }

// The part of a flow that is no address, as one word. Written and copied whole: a packet that is copied right after its
// parts were written one by one would wait for each of them.
struct FlowMarks {
  std::uint32_t flow_label : 24 = 0;
  UdpPort to : 8 = UdpPort::roce;
  std::uint16_t source_port = 0xC000;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
};
inline constexpr std::size_t kMarksAt = 2 * sizeof(Address);
static_assert(sizeof(FlowMarks) == 8 && sizeof(Flow) == kMarksAt + sizeof(FlowMarks));
static_assert(offsetof(Flow, source_port) == kMarksAt + offsetof(FlowMarks, source_port));

inline void set_marks(Flow& flow, const FlowMarks& marks) {
  std::memcpy(reinterpret_cast<std::byte*>(&flow) + kMarksAt, &marks, sizeof marks);
}
// In a flow that was just copied, for the same reason.
inline void set_source_port(Flow& flow, std::uint16_t port) {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::size_t kShift = 8 * offsetof(FlowMarks, source_port);
  constexpr std::uint64_t kPort = std::uint64_t{0xFFFF} << kShift;
  std::byte* at = reinterpret_cast<std::byte*>(&flow) + kMarksAt;
  std::uint64_t marks = 0;
  std::memcpy(&marks, at, sizeof marks);
  marks = (marks & ~kPort) | std::uint64_t{port} << kShift;
  std::memcpy(at, &marks, sizeof marks);
}

// Only the headers that the opcode has (wire/opcode.h) mean anything; the others stay as they were made.
struct Headers {
  Bth bth{};
  Reth reth{};
  AtomicEth atomic{};
  AtomicAckEth atomic_ack{};
  Aeth aeth{};
  Deth deth{};
  ImmDt immediate{};
  Ieth invalidate{};
  Sequence sequence{};
  SrnicAck srnic_ack{};
  friend constexpr bool operator==(const Headers&, const Headers&) = default;
};

// One arrived packet. The payload excludes the pad and lives as long as the caller's buffer, unless it is exported.
struct Packet {
  Flow flow{};
  Headers headers{};
  Payload payload{};
  // More than one: a burst, consecutive packets of one message that travelled as one. The headers are the first one's,
  // but for the opcode, which is that of all of it. Never on a network: only where both ends share memory.
  std::uint32_t packets = 1;
};

// Only data in the dialect that numbers each packet's place can be joined, and only what brings nothing else along.
// Nothing of kernels: each packet of theirs is a step, of no more bytes than a packet has.
constexpr bool may_be_burst(const Packet& p) {
  const OpcodeInfo& o = info(p.headers.bth.opcode);
  const bool of_kernels = o.verb == Verb::rpc || o.verb == Verb::rpc_write || o.verb == Verb::reply;
  return p.packets > 1 && o.sequence && o.payload && !o.srnic_ack && !of_kernels;
}

}  // namespace weft::wire
