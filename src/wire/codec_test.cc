#include "wire/codec.h"

#include <array>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "wire/cnp.h"
#include "wire/test_model.h"

namespace weft::wire {
namespace {

using model::Numbers;
using model::Part;

// Bytes at the very end of their own allocation, so that AddressSanitizer sees any read behind them.
class Exact {
 public:
  explicit Exact(std::span<const std::byte> from) : size_(from.size()), bytes_(new std::byte[from.size()]) {
    std::copy(from.begin(), from.end(), bytes_.get());
  }
  operator std::span<const std::byte>() const { return {bytes_.get(), size_}; }  // NOLINT: that is its purpose

 private:
  std::size_t size_;
  std::unique_ptr<std::byte[]> bytes_;
};

std::vector<std::byte> encode(Headers h, std::span<const std::byte> payload) {
  h.bth.pad = pad_for(payload.size());
  std::array<std::byte, kMaxHeaderBytes> headers;
  const std::size_t size = encode_headers(h, headers);
  std::vector<std::byte> out(headers.begin(), headers.begin() + static_cast<std::ptrdiff_t>(size));
  out.insert(out.end(), payload.begin(), payload.end());
  out.resize(size + payload.size() + h.bth.pad + kIcrcBytes);
  return out;
}

// Each field of the packet, found in the bytes by the model's own arithmetic.
void expect_fields(const Headers& h, std::span<const std::byte> b, const model::OpcodeLine& line) {
  const auto n = [&](std::size_t at, std::size_t size) { return model::number(b, at, size); };
  EXPECT_EQ(static_cast<unsigned>(h.bth.opcode), n(0, 1));
  EXPECT_EQ(h.bth.solicited, (n(1, 1) & 0x80) != 0);
  EXPECT_EQ(h.bth.migrated, (n(1, 1) & 0x40) != 0);
  EXPECT_EQ(h.bth.pad, (n(1, 1) >> 4) & 3);
  EXPECT_EQ(h.bth.version, n(1, 1) & 15);
  EXPECT_EQ(h.bth.pkey.raw(), n(2, 2));
  EXPECT_EQ(h.bth.fecn, (n(4, 1) & 0x80) != 0);
  EXPECT_EQ(h.bth.becn, (n(4, 1) & 0x40) != 0);
  EXPECT_EQ(h.bth.destination.raw(), n(5, 3));
  EXPECT_EQ(h.bth.ack_request, (n(8, 1) & 0x80) != 0);
  EXPECT_EQ(h.bth.psn.raw(), n(9, 3));
  std::size_t at = 12;
  for (const Part part : line.parts) {
    switch (part) {
      case Part::deth:
        EXPECT_EQ(h.deth.qkey.raw(), n(at, 4));
        EXPECT_EQ(h.deth.source.raw(), n(at + 5, 3));
        break;
      case Part::reth:
        EXPECT_EQ(h.reth.address, n(at, 8));
        EXPECT_EQ(h.reth.key.raw(), n(at + 8, 4));
        EXPECT_EQ(h.reth.length, n(at + 12, 4));
        break;
      case Part::atomic:
        EXPECT_EQ(h.atomic.address, n(at, 8));
        EXPECT_EQ(h.atomic.key.raw(), n(at + 8, 4));
        EXPECT_EQ(h.atomic.swap_add, n(at + 12, 8));
        EXPECT_EQ(h.atomic.compare, n(at + 20, 8));
        break;
      case Part::aeth:
        EXPECT_EQ(h.aeth.syndrome, n(at, 1));
        EXPECT_EQ(h.aeth.msn.raw(), n(at + 1, 3));
        break;
      case Part::atomic_ack: EXPECT_EQ(h.atomic_ack.original, n(at, 8)); break;
      case Part::immediate: EXPECT_EQ(h.immediate.value, n(at, 4)); break;
      case Part::ieth: EXPECT_EQ(h.invalidate.key.raw(), n(at, 4)); break;
      case Part::cnp_reserved: break;
      case Part::sequence:
        EXPECT_EQ(h.sequence.msn(), n(at, 3) >> 4);
        EXPECT_EQ(h.sequence.ssn(), n(at + 2, 3) & 0xF'FFFF);
        EXPECT_EQ(h.sequence.offset(), n(at + 5, 3));
        break;
      case Part::target:
        EXPECT_EQ(h.reth.address, n(at, 8));
        EXPECT_EQ(h.reth.key.raw(), n(at + 8, 4));
        break;
      case Part::srnic_ack:
        EXPECT_EQ(h.srnic_ack.syndrome, n(at, 1));
        EXPECT_EQ(h.srnic_ack.expected.raw(), n(at + 1, 3));
        EXPECT_EQ(h.srnic_ack.run, n(at + 4, 2));
        EXPECT_EQ(h.srnic_ack.marked, n(at + 6, 2) & 0xFFF);
        EXPECT_EQ(h.srnic_ack.duplicates, n(at + 6, 1) >> 4);
        break;
    }
    at += model::bytes_of(part);
  }
}

// trust.md 1, 2, 5, 8: every opcode at every length and pad is a packet, field for field, or the right refusal.
TEST(Parse, EveryOpcodeAtEveryLengthIsAPacketOrTheRightRefusal) {
  Numbers numbers(1);
  std::array<int, static_cast<std::size_t>(Refusal::count_)> seen{};
  for (unsigned code = 0; code < 256; ++code) {
    for (std::size_t size = 0; size <= 120; ++size) {
      auto bytes = numbers.bytes(size);
      for (unsigned pad = 0; pad < 4; ++pad) {
        if (size > 0) bytes[0] = static_cast<std::byte>(code);
        if (size > 1) bytes[1] = static_cast<std::byte>((std::to_integer<unsigned>(bytes[1]) & 0xC0) | pad << 4);
        const Exact exact(bytes);
        Packet packet;
        const Refusal refusal = parse(exact, packet);
        ASSERT_EQ(refusal, model::verdict(bytes)) << "opcode " << code << ", " << size << " bytes, pad " << pad;
        ++seen[static_cast<std::size_t>(refusal)];
        if (refusal != Refusal::none) continue;
        const model::OpcodeLine& line = *model::find(static_cast<std::uint8_t>(code));
        expect_fields(packet.headers, bytes, line);
        const std::span<const std::byte> all = exact;
        ASSERT_EQ(packet.payload.near().data(), all.data() + line.header_bytes());
        ASSERT_EQ(packet.payload.size(), size - line.header_bytes() - 4 - pad);
      }
    }
  }
  for (const Refusal r :
       {Refusal::none, Refusal::truncated, Refusal::unknown_opcode, Refusal::bad_pad, Refusal::payload_not_allowed}) {
    EXPECT_GT(seen[static_cast<std::size_t>(r)], 0) << text(r).counter;
  }
}

// trust.md 3.
TEST(Parse, RefusesEveryVersionButZero) {
  for (const auto& line : model::lines()) {
    auto bytes = encode(Numbers(2).headers(static_cast<Opcode>(line.opcode)), {});
    for (unsigned version = 0; version < 16; ++version) {
      bytes[1] = (bytes[1] & std::byte{0xF0}) | static_cast<std::byte>(version);
      Packet packet;
      EXPECT_EQ(parse(bytes, packet), version == 0 ? Refusal::none : Refusal::bad_version);
    }
  }
}

// trust.md 4: reserved bits are not refused and not seen.
TEST(Parse, ReservedBitsChangeNothing) {
  Numbers numbers(3);
  for (const auto& line : model::lines()) {
    SCOPED_TRACE(testing::Message() << "opcode " << unsigned{line.opcode});
    auto bytes = encode(numbers.headers(static_cast<Opcode>(line.opcode)), {});
    Packet plain, marked;
    ASSERT_EQ(parse(bytes, plain), Refusal::none);
    bytes[4] |= std::byte{0x3F};
    bytes[8] |= std::byte{0x7F};
    if (line.service == Service::ud) bytes[16] = std::byte{0xFF};
    if (line.service == Service::cnp) std::fill_n(bytes.begin() + 12, 16, std::byte{0xFF});
    ASSERT_EQ(parse(bytes, marked), Refusal::none);
    EXPECT_EQ(plain.headers, marked.headers);
  }
}

TEST(Parse, ReturnsWhatWasEncodedForEveryOpcodeAndPayload) {
  Numbers numbers(4);
  for (const auto& line : model::lines()) {
    for (const std::size_t size : {0, 1, 2, 3, 4, 5, 63, 64, 255, 1024, 4096}) {
      if (size > 0 && !line.payload) continue;
      SCOPED_TRACE(testing::Message() << "opcode " << unsigned{line.opcode} << ", payload " << size);
      const Headers sent = numbers.headers(static_cast<Opcode>(line.opcode));
      const auto payload = numbers.bytes(size);
      const auto bytes = encode(sent, payload);
      EXPECT_EQ(bytes.size(), datagram_bytes(sent.bth.opcode, size));
      EXPECT_EQ(bytes.size() % 4, 0u);
      expect_fields(
          [&] {
            auto h = sent;
            h.bth.pad = pad_for(size);
            return h;
          }(),
          bytes, line);
      Packet packet;
      ASSERT_EQ(parse(bytes, packet), Refusal::none);
      EXPECT_TRUE(std::ranges::equal(payload, packet.payload.near()));
      EXPECT_EQ(encode(packet.headers, packet.payload.near()), bytes);
    }
  }
}

TEST(Parse, WritesOnlyWhatTheOpcodeHas) {
  Numbers numbers(5);
  for (const auto& line : model::lines()) {
    SCOPED_TRACE(testing::Message() << "opcode " << unsigned{line.opcode});
    const Headers before = numbers.headers(Opcode::cnp);
    Packet packet{.flow = {.source_port = 77}, .headers = before};
    Headers expected = numbers.headers(static_cast<Opcode>(line.opcode));
    ASSERT_EQ(parse(encode(expected, {}), packet), Refusal::none);
    const auto has = [&](Part part) {
      return std::find(line.parts.begin(), line.parts.end(), part) != line.parts.end();
    };
    if (!has(Part::deth)) expected.deth = before.deth;
    if (has(Part::target)) expected.reth.length = 0;
    if (!has(Part::reth) && !has(Part::target)) expected.reth = before.reth;
    if (!has(Part::sequence)) expected.sequence = before.sequence;
    if (!has(Part::srnic_ack)) expected.srnic_ack = before.srnic_ack;
    if (!has(Part::atomic)) expected.atomic = before.atomic;
    if (!has(Part::aeth)) expected.aeth = before.aeth;
    if (!has(Part::atomic_ack)) expected.atomic_ack = before.atomic_ack;
    if (!has(Part::immediate)) expected.immediate = before.immediate;
    if (!has(Part::ieth)) expected.invalidate = before.invalidate;
    EXPECT_EQ(packet.headers, expected);
    EXPECT_EQ(packet.flow, (Flow{.source_port = 77}));
  }
}

// Who refuses an opcode may want to tell its sender.
TEST(Parse, LeavesTheBthOfWhatItRefuses) {
  auto bytes = encode(Numbers(6).headers(Opcode::rc_read_request), {});
  bytes[0] = std::byte{0x1F};
  Packet packet;
  EXPECT_EQ(parse(bytes, packet), Refusal::unknown_opcode);
  EXPECT_EQ(packet.headers.bth.psn.raw(), model::number(bytes, 9, 3));
}

TEST(EncodeHeaders, WritesNothingForAnUnknownOpcode) {
  std::array<std::byte, kMaxHeaderBytes> out;
  out.fill(std::byte{0xAB});
  EXPECT_EQ(encode_headers(Headers{.bth = {.opcode = Opcode{0x15}}}, out), 0u);
  for (const auto b : out) EXPECT_EQ(b, std::byte{0xAB});
}

// trust.md 29.
TEST(Cnp, IsTwentyEightBytesSaysBecnAndCarriesNoPayload) {
  std::array<std::byte, kMaxHeaderBytes> out;
  out.fill(std::byte{0xAB});
  ASSERT_EQ(encode_headers(make_cnp(Qpn(0x12'3456)), out), 28u);
  EXPECT_EQ(out[0], std::byte{0x81});
  EXPECT_EQ(out[4], std::byte{0x40});
  EXPECT_EQ(model::number(out, 5, 3), 0x12'3456u);
  for (std::size_t i = 12; i < 28; ++i) EXPECT_EQ(out[i], std::byte{0});
  const std::vector<std::byte> payload(4);
  Packet packet;
  EXPECT_EQ(parse(encode(make_cnp(Qpn(1)), payload), packet), Refusal::payload_not_allowed);
}

}  // namespace
}  // namespace weft::wire
