// A ring carries every record once, in order and whole, whatever its length and wherever the ring ends; and a sender
// that writes nonsense is not heard any more.
#include "world/real/shm/ring.h"

#include <bit>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::real {
namespace {

wire::Flow flow_from(std::uint8_t host) {
  return {.source = wire::Address::v4(127, 0, 0, host), .destination = wire::Address::v4(127, 0, 0, 1)};
}

struct Pair {
  std::unique_ptr<Ring> ring = std::make_unique<Ring>();
  RingWriter out{*ring};
  RingReader in{*ring};

  [[nodiscard]] std::vector<std::vector<std::byte>> take(std::uint32_t most = 64) {
    std::vector<std::vector<std::byte>> records;
    in.read(most, [&](const wire::Flow& flow, std::span<const std::byte> datagram, DatagramTraits) {
      last_flow = flow;
      records.emplace_back(datagram.begin(), datagram.end());
    });
    in.done();
    return records;
  }
  wire::Flow last_flow{};
};

std::vector<std::byte> record(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(seed + i * 7);
  return out;
}

TEST(Ring, ShowsRecordsOnlyWhenTheyArePublished) {
  Pair p;
  ASSERT_TRUE(p.out.write(flow_from(2), record(60, 1)));
  ASSERT_TRUE(p.out.write(flow_from(2), record(20, 2)));
  EXPECT_TRUE(p.in.empty());
  EXPECT_TRUE(p.out.publish());
  EXPECT_FALSE(p.out.publish());
  EXPECT_FALSE(p.in.empty());
  EXPECT_EQ(p.take(), (std::vector{record(60, 1), record(20, 2)}));
  EXPECT_TRUE(p.in.empty());
}

// A burst whose payload stays where it is.
struct Exported {
  explicit Exported(std::uint32_t size) : memory(size), piece{memory.data(), size} {
    packet.flow = flow_from(2);
    packet.headers.bth.opcode = wire::Opcode::srnic_write_only;
    packet.payload = {&piece, 1};
    packet.payload_bytes = size;
    packet.packets = 16;
    packet.one_copy = true;
  }
  [[nodiscard]] std::uint64_t begin() const { return std::bit_cast<std::uint64_t>(memory.data()); }
  [[nodiscard]] std::uint64_t end() const { return begin() + memory.size(); }

  std::vector<std::byte> memory;
  nic::Fragment piece;
  nic::OutPacket packet{};
};

// The positions of records with exported payloads that can be read now.
std::vector<std::uint64_t> allow_one_copy(Pair& p) {
  std::vector<std::uint64_t> positions;
  p.in.read(64, [&](const wire::Flow&, std::span<const std::byte> datagram, DatagramTraits how) {
    if (!how.one_copy) return;
    positions.push_back(p.in.position());
    wire::Packet read;
    ASSERT_EQ(wire::parse(datagram, read), Refusal::none);
    EXPECT_EQ(read.payload.size(), sizeof(ExportNote));
  });
  return positions;
}

TEST(Ring, SaysWhereAFarPayloadLies) {
  Pair p;
  Exported exported(65536);
  ASSERT_TRUE(p.out.write(exported.packet.flow, exported.packet));
  EXPECT_LE(p.out.unpublished(), 256U);
  ASSERT_TRUE(p.out.publish());
  p.in.read(1, [&](const wire::Flow&, std::span<const std::byte> datagram, DatagramTraits how) {
    EXPECT_TRUE(how.one_copy);
    wire::Packet read;
    ASSERT_EQ(wire::parse(datagram, read), Refusal::none);
    ExportNote note;
    ASSERT_EQ(read.payload.size(), sizeof note);
    std::memcpy(&note, read.payload.near().data(), sizeof note);
    EXPECT_EQ(note.address, exported.begin());
    EXPECT_EQ(note.bytes, 65536U);
    EXPECT_EQ(note.packets, 16U);
  });
}

TEST(Ring, RecallsWhatHasNotBeenFetched) {
  Pair p;
  Exported first(4096), second(4096);
  ASSERT_TRUE(p.out.write(first.packet.flow, first.packet));
  p.out.publish();
  const auto fetched = allow_one_copy(p);
  ASSERT_EQ(fetched.size(), 1U);
  p.in.done();
  p.out.revoke(first.begin(), first.end());
  EXPECT_FALSE(p.in.is_void(fetched[0])) << "too late: it is where it belongs";

  ASSERT_TRUE(p.out.write(second.packet.flow, second.packet));
  p.out.publish();
  p.out.revoke(first.begin(), first.end());
  auto waiting = allow_one_copy(p);
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_FALSE(p.in.is_void(waiting[0])) << "other memory was meant";
  p.out.revoke(second.begin() + 4095, second.end());
  EXPECT_TRUE(p.in.is_void(waiting[0]));
  p.in.done();

  ASSERT_TRUE(p.out.write(first.packet.flow, first.packet));
  p.out.publish();
  waiting = allow_one_copy(p);
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_FALSE(p.in.is_void(waiting[0])) << "it was sent later";
}

TEST(Ring, TellsTheFlowOfEachRecord) {
  Pair p;
  for (const std::uint8_t host : {2, 2, 3, 2}) {
    ASSERT_TRUE(p.out.write(flow_from(host), record(20, host)));
    ASSERT_TRUE(p.out.publish());
    EXPECT_EQ(p.take().size(), 1U);
    EXPECT_EQ(p.last_flow, flow_from(host));
  }
}

TEST(Ring, CarriesEveryLengthRoundAndRound) {
  Pair p;
  std::mt19937 random(7);
  std::vector<std::vector<std::byte>> sent;
  for (unsigned round = 0; round < 2000; ++round) {
    sent.clear();
    for (auto batch = random() % 8; batch > 0; --batch) {
      sent.push_back(record(12 + random() % (kMaxDatagram - 11), round));
      ASSERT_TRUE(p.out.write(flow_from(static_cast<std::uint8_t>(random() % 2)), sent.back()));
    }
    EXPECT_EQ(p.out.publish(), !sent.empty());
    std::vector<std::vector<std::byte>> got;
    for (auto some = p.take(3); !some.empty() || !p.in.empty(); some = p.take(3)) {
      got.insert(got.end(), some.begin(), some.end());
    }
    ASSERT_EQ(got, sent) << "round " << round;
  }
}

TEST(Ring, SaysHowManyPacketsARecordStandsFor) {
  Pair p;
  const std::vector<std::byte> bytes = record(kLongestBurst, 3);
  const nic::Fragment piece{bytes.data(), kLongestBurst};
  nic::OutPacket burst{.flow = flow_from(2), .headers = {}, .payload = {&piece, 1}};
  burst.headers.bth.opcode = wire::Opcode::srnic_write_only;
  burst.payload_bytes = kLongestBurst;
  burst.packets = kLongestBurst / 4096;
  ASSERT_TRUE(p.out.write(burst.flow, burst));
  ASSERT_TRUE(p.out.write(burst.flow, record(20, 1)));
  ASSERT_TRUE(p.out.publish());
  std::vector<std::uint32_t> packets;
  // What one end does before the other may go on is bounded: the second record is for the next time.
  while (p.in.read(64, [&](const wire::Flow&, std::span<const std::byte>, DatagramTraits how) {
    packets.push_back(how.packets);
  }) == 1) {
  }
  EXPECT_EQ(packets, (std::vector<std::uint32_t>{kLongestBurst / 4096, 1}));
}

TEST(Ring, RefusesWhatWouldOverwriteOthers) {
  Pair p;
  std::size_t written = 0;
  while (p.out.write(flow_from(2), record(4096, static_cast<unsigned>(written)))) ++written;
  EXPECT_GT(written * 4096, Ring::kBytes * 9 / 10);
  p.out.publish();
  std::size_t read = 0;
  for (auto some = p.take(); !some.empty(); some = p.take()) {
    for (const auto& bytes : some) EXPECT_EQ(bytes, record(4096, static_cast<unsigned>(read++)));
  }
  EXPECT_EQ(read, written);
  EXPECT_TRUE(p.out.write(flow_from(2), record(4096, 1)));
}

TEST(Ring, HearsNoMoreFromASenderThatWritesNonsense) {
  for (const RecordHead head : {RecordHead{8, 5000}, RecordHead{7, 0}, RecordHead{1U << 30, 64}, RecordHead{16, 64},
                                RecordHead{Ring::kBytes, 64}}) {
    Pair p;
    std::memcpy(p.ring->data, &head, sizeof head);
    EXPECT_FALSE(p.in.empty());
    EXPECT_TRUE(p.take().empty());
    EXPECT_TRUE(p.in.empty());
  }
}

// Bug: such a flow was handed on, and the first who made IP headers of it ended the program.
TEST(Ring, TakesAFlowBetweenIPv4AndIPv6ForNone) {
  wire::Flow mixed = flow_from(2);
  mixed.source = {{0x20, 0x01, 0x0D, 0xB8}};
  Pair p;
  for (const unsigned seed : {1U, 2U}) {  // the second does not bring its flow, as it is that of the first
    ASSERT_TRUE(p.out.write(mixed, record(60, seed)));
    ASSERT_TRUE(p.out.publish());
    EXPECT_THAT(p.take(), testing::ElementsAre(record(60, seed)));
    EXPECT_EQ(p.last_flow, wire::Flow{});
  }
  ASSERT_TRUE(p.out.write(flow_from(2), record(60, 3)));
  ASSERT_TRUE(p.out.publish());
  EXPECT_THAT(p.take(), testing::ElementsAre(record(60, 3)));
  EXPECT_EQ(p.last_flow, flow_from(2));
}

}  // namespace
}  // namespace weft::real
