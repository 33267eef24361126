// For tests only: RoCEv2 and the srnic dialect told a second time, plainly and without the code under test. One line an
// opcode, numbers read byte by byte, CRC bit by bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "wire/packet.h"
#include "wire/refusal.h"

namespace weft::wire::model {

enum class Part : std::uint8_t {
  deth,
  reth,
  atomic,
  aeth,
  atomic_ack,
  immediate,
  ieth,
  cnp_reserved,
  sequence,
  target,
  srnic_ack
};

constexpr std::size_t bytes_of(Part part) {
  constexpr std::size_t kSizes[] = {8, 16, 28, 4, 8, 4, 4, 16, 8, 12, 8};
  return kSizes[static_cast<std::size_t>(part)];
}

struct OpcodeLine {
  std::uint8_t opcode;
  Service service;
  Verb verb;
  Step step;
  std::vector<Part> parts;
  bool payload;

  [[nodiscard]] std::size_t header_bytes() const {
    std::size_t size = 12;
    for (const Part part : parts) size += bytes_of(part);
    return size;
  }
};

inline const std::vector<OpcodeLine>& lines() {
  using enum Part;
  static const std::vector<OpcodeLine> kLines = {
      {0x00, Service::rc, Verb::send, Step::first, {}, true},
      {0x01, Service::rc, Verb::send, Step::middle, {}, true},
      {0x02, Service::rc, Verb::send, Step::last, {}, true},
      {0x03, Service::rc, Verb::send, Step::last, {immediate}, true},
      {0x04, Service::rc, Verb::send, Step::only, {}, true},
      {0x05, Service::rc, Verb::send, Step::only, {immediate}, true},
      {0x06, Service::rc, Verb::write, Step::first, {reth}, true},
      {0x07, Service::rc, Verb::write, Step::middle, {}, true},
      {0x08, Service::rc, Verb::write, Step::last, {}, true},
      {0x09, Service::rc, Verb::write, Step::last, {immediate}, true},
      {0x0A, Service::rc, Verb::write, Step::only, {reth}, true},
      {0x0B, Service::rc, Verb::write, Step::only, {reth, immediate}, true},
      {0x0C, Service::rc, Verb::read_request, Step::only, {reth}, false},
      {0x0D, Service::rc, Verb::read_response, Step::first, {aeth}, true},
      {0x0E, Service::rc, Verb::read_response, Step::middle, {}, true},
      {0x0F, Service::rc, Verb::read_response, Step::last, {aeth}, true},
      {0x10, Service::rc, Verb::read_response, Step::only, {aeth}, true},
      {0x11, Service::rc, Verb::ack, Step::only, {aeth}, false},
      {0x12, Service::rc, Verb::atomic_ack, Step::only, {aeth, atomic_ack}, false},
      {0x13, Service::rc, Verb::compare_swap, Step::only, {atomic}, false},
      {0x14, Service::rc, Verb::fetch_add, Step::only, {atomic}, false},
      {0x16, Service::rc, Verb::send, Step::last, {ieth}, true},
      {0x17, Service::rc, Verb::send, Step::only, {ieth}, true},
      {0x18, Service::rc, Verb::rpc, Step::only, {reth}, true},
      {0x19, Service::rc, Verb::rpc_write, Step::first, {reth}, true},
      {0x1A, Service::rc, Verb::rpc_write, Step::middle, {}, true},
      {0x1B, Service::rc, Verb::rpc_write, Step::last, {}, true},
      {0x1C, Service::rc, Verb::rpc_write, Step::only, {reth}, true},
      {0x1D, Service::rc, Verb::reply, Step::only, {reth}, true},
      {0x1E, Service::rc, Verb::reply, Step::only, {reth, immediate}, true},
      {0x20, Service::uc, Verb::send, Step::first, {}, true},
      {0x21, Service::uc, Verb::send, Step::middle, {}, true},
      {0x22, Service::uc, Verb::send, Step::last, {}, true},
      {0x23, Service::uc, Verb::send, Step::last, {immediate}, true},
      {0x24, Service::uc, Verb::send, Step::only, {}, true},
      {0x25, Service::uc, Verb::send, Step::only, {immediate}, true},
      {0x26, Service::uc, Verb::write, Step::first, {reth}, true},
      {0x27, Service::uc, Verb::write, Step::middle, {}, true},
      {0x28, Service::uc, Verb::write, Step::last, {}, true},
      {0x29, Service::uc, Verb::write, Step::last, {immediate}, true},
      {0x2A, Service::uc, Verb::write, Step::only, {reth}, true},
      {0x2B, Service::uc, Verb::write, Step::only, {reth, immediate}, true},
      {0x64, Service::ud, Verb::send, Step::only, {deth}, true},
      {0x65, Service::ud, Verb::send, Step::only, {deth, immediate}, true},
      {0x81, Service::cnp, Verb::cnp, Step::only, {cnp_reserved}, false},
      {0xC0, Service::rc, Verb::send, Step::first, {sequence}, true},
      {0xC1, Service::rc, Verb::send, Step::middle, {sequence}, true},
      {0xC2, Service::rc, Verb::send, Step::last, {sequence}, true},
      {0xC3, Service::rc, Verb::send, Step::last, {sequence, immediate}, true},
      {0xC4, Service::rc, Verb::send, Step::only, {sequence}, true},
      {0xC5, Service::rc, Verb::send, Step::only, {sequence, immediate}, true},
      {0xC6, Service::rc, Verb::write, Step::first, {sequence, target}, true},
      {0xC7, Service::rc, Verb::write, Step::middle, {sequence, target}, true},
      {0xC8, Service::rc, Verb::write, Step::last, {sequence, target}, true},
      {0xC9, Service::rc, Verb::write, Step::last, {sequence, target, immediate}, true},
      {0xCA, Service::rc, Verb::write, Step::only, {sequence, target}, true},
      {0xCB, Service::rc, Verb::write, Step::only, {sequence, target, immediate}, true},
      {0xCC, Service::rc, Verb::read_request, Step::only, {sequence, reth}, false},
      {0xCD, Service::rc, Verb::read_response, Step::first, {sequence}, true},
      {0xCE, Service::rc, Verb::read_response, Step::middle, {sequence}, true},
      {0xCF, Service::rc, Verb::read_response, Step::last, {sequence}, true},
      {0xD0, Service::rc, Verb::read_response, Step::only, {sequence}, true},
      {0xD1, Service::rc, Verb::ack, Step::only, {sequence, srnic_ack}, false},
      {0xD2, Service::rc, Verb::atomic_ack, Step::only, {sequence, atomic_ack}, false},
      {0xD3, Service::rc, Verb::compare_swap, Step::only, {sequence, atomic}, false},
      {0xD4, Service::rc, Verb::fetch_add, Step::only, {sequence, atomic}, false},
      {0xD6, Service::rc, Verb::send, Step::last, {sequence, ieth}, true},
      {0xD7, Service::rc, Verb::send, Step::only, {sequence, ieth}, true},
      {0xD8, Service::rc, Verb::probe, Step::only, {sequence}, false},
      {0xD9, Service::rc, Verb::response_probe, Step::only, {sequence}, false},
      {0xDE, Service::rc, Verb::response_ack, Step::only, {sequence, srnic_ack}, false},
      {0xE4, Service::rc, Verb::send, Step::only, {sequence, srnic_ack}, true},
      {0xEA, Service::rc, Verb::write, Step::only, {sequence, target, srnic_ack}, true},
      {0xF8, Service::rc, Verb::rpc, Step::only, {sequence, target}, true},
      {0xF9, Service::rc, Verb::rpc_write, Step::first, {sequence, target}, true},
      {0xFA, Service::rc, Verb::rpc_write, Step::middle, {sequence, target}, true},
      {0xFB, Service::rc, Verb::rpc_write, Step::last, {sequence, target}, true},
      {0xFC, Service::rc, Verb::rpc_write, Step::only, {sequence, target}, true},
      {0xFD, Service::rc, Verb::reply, Step::only, {sequence, target}, true},
      {0xFE, Service::rc, Verb::reply, Step::only, {sequence, target, immediate}, true},
  };
  return kLines;
}

inline const OpcodeLine* find(std::uint8_t opcode) {
  for (const OpcodeLine& line : lines()) {
    if (line.opcode == opcode) return &line;
  }
  return nullptr;
}

// What any UDP payload must be taken for, before its ICRC is looked at.
inline Refusal verdict(std::span<const std::byte> b) {
  if (b.size() < 16) return Refusal::truncated;
  const auto second = std::to_integer<unsigned>(b[1]);
  if ((second & 0x0F) != 0) return Refusal::bad_version;
  const OpcodeLine* line = find(std::to_integer<std::uint8_t>(b[0]));
  if (line == nullptr) return Refusal::unknown_opcode;
  if (b.size() < line->header_bytes() + 4) return Refusal::truncated;
  const std::size_t body = b.size() - line->header_bytes() - 4;
  if (body % 4 != 0 || ((second >> 4) & 3) > body) return Refusal::bad_pad;
  if (body != 0 && !line->payload) return Refusal::payload_not_allowed;
  return Refusal::none;
}

// `size` bytes at `at`, most significant first.
inline std::uint64_t number(std::span<const std::byte> b, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value = value * 256 + std::to_integer<std::uint64_t>(b[at + i]);
  return value;
}

// Numbers without a pattern, the same in every run.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E37'79B9'7F4A'7C15;
    z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
    z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
    return z ^ (z >> 31);
  }
  std::vector<std::byte> bytes(std::size_t size) {
    std::vector<std::byte> out(size);
    for (auto& b : out) b = static_cast<std::byte>(next());
    return out;
  }
  // Every field of every header drawn, whatever the opcode has; a packet that could be on a wire.
  Headers headers(Opcode opcode) {
    const auto n32 = [&] { return static_cast<std::uint32_t>(next()); };
    const auto flag = [&] { return next() % 2 == 0; };
    Headers h;
    h.bth.opcode = opcode;
    h.bth.solicited = flag();
    h.bth.migrated = flag();
    h.bth.fecn = flag();
    h.bth.becn = flag();
    h.bth.ack_request = flag();
    h.bth.pkey = Pkey(static_cast<std::uint16_t>(next()));
    h.bth.destination = Qpn(n32());
    h.bth.psn = Psn(n32());
    h.reth = {.address = next(), .key = Key(n32()), .length = n32()};
    h.atomic = {.address = next(), .key = Key(n32()), .swap_add = next(), .compare = next()};
    h.atomic_ack = {.original = next()};
    h.aeth = {.syndrome = static_cast<std::uint8_t>(next()), .msn = Msn(n32())};
    h.deth = {.qkey = Qkey(n32()), .source = Qpn(n32())};
    h.immediate = {.value = n32()};
    h.invalidate = {.key = Key(n32())};
    h.sequence = Sequence(n32(), n32(), n32());
    h.srnic_ack = {.syndrome = static_cast<std::uint8_t>(next()),
                   .expected = Psn(n32()),
                   .run = static_cast<std::uint16_t>(next()),
                   .marked = static_cast<std::uint16_t>(next() & 0xFFF),
                   .duplicates = static_cast<std::uint8_t>(next() & 0xF)};
    return h;
  }

 private:
  std::uint64_t state_;
};

// CRC-32 of IEEE 802.3, a bit at a time.
inline std::uint32_t crc32(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xFFFF'FFFF;
  for (const std::byte b : bytes) {
    crc ^= std::to_integer<std::uint32_t>(b);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB8'8320u : 0u);
  }
  return ~crc;
}

// The ICRC of an IP packet as it stands on the wire, its last four bytes excepted.
inline std::uint32_t icrc(std::span<const std::byte> ip_packet) {
  std::vector<std::byte> b(8, std::byte{0xFF});
  b.insert(b.end(), ip_packet.begin(), ip_packet.end() - 4);
  const auto mask = [&](std::size_t at, unsigned bits) { b[8 + at] |= static_cast<std::byte>(bits); };
  const bool v4 = std::to_integer<unsigned>(ip_packet[0]) >> 4 == 4;
  if (v4) {
    for (const std::size_t at : {1, 8, 10, 11}) mask(at, 0xFF);  // type of service, time to live, checksum
  } else {
    mask(0, 0x0F);                                             // traffic class, flow label
    for (const std::size_t at : {1, 2, 3, 7}) mask(at, 0xFF);  // and hop limit
  }
  const std::size_t udp = v4 ? 20 : 40;
  for (const std::size_t at : {udp + 6, udp + 7, udp + 8 + 4}) mask(at, 0xFF);  // checksum; FECN, BECN, reserved
  return crc32(b);
}

}  // namespace weft::wire::model
