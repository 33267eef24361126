// Tap and faults around a port: what leaves and what arrives passes them, and the port itself sees nothing of it.
#include "world/real/port/inspection.h"

#include <array>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world/real/os/time.h"

namespace weft::real {
namespace {

constexpr std::uint8_t kMine = 1, kOther = 2;
const wire::Address kInspectedAddress = wire::Address::v4(127, 0, 4, 7);
const wire::Flow kFlow{.source = kInspectedAddress, .destination = kInspectedAddress, .source_port = wire::kRocePort};

// The port of lane 1, and the ring by which it reaches lane 2.
class InspectedPort : public testing::Test {
 protected:
  InspectedPort() {
    BrokerClient::Joined joined{.lane_number = kMine, .sockets = {}};
    joined.sockets.emplace_back(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    port.open(std::move(joined), {&kInspectedAddress, 1}, *status, OneCopy::off, 0);
    Incoming met{.message = Message(Topic::met), .text = {}, .descriptors = {}};
    met.message.local_peer = {
        .address = kInspectedAddress, .lane_number = kOther, .address_count = 1, .addresses = {kInspectedAddress}};
    met.descriptors.emplace_back(dup(channel.get()));
    met.descriptors.push_back(make_shared_memory("weft-test-status", sizeof(SharedStatus)));
    met.descriptors.emplace_back(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    port.on_met(met);
  }
  void open(const std::string& plan, bool outbound = true) {
    settings.impairments = world::FaultPlan::parse(plan).plan.value();
    settings.impair_outbound = outbound;
    settings.impair_inbound = !outbound;
    ASSERT_FALSE(inspection.open(settings, kMine, 0).has_value());
  }
  void emit(std::uint32_t psn) {
    nic::OutPacket packet{.flow = kFlow, .headers = {}, .payload = {}};
    packet.headers.bth.opcode = wire::Opcode::rc_ack;
    packet.headers.bth.destination = wire::Qpn(std::uint32_t{kOther} << wire::kLaneShift | 5);
    packet.headers.bth.psn = wire::Psn(psn);
    inspection.emit(packet);
  }
  // The PSNs of what has reached the other.
  std::vector<std::uint32_t> left() {
    std::vector<std::uint32_t> psns;
    port.flush();
    while (!other.empty()) {
      other.read(64, [&](const wire::Flow&, std::span<const std::byte> datagram, DatagramTraits) {
        wire::Packet p;
        EXPECT_EQ(wire::parse(datagram, p), Refusal::none);
        psns.push_back(p.headers.bth.psn.raw());
      });
      other.done();
    }
    return psns;
  }
  void arrive(DatagramTraits how = {}) {
    const std::array<std::byte, 64> datagram{};
    inspection.arrive(kFlow, datagram, how, take, settle);
  }

  Settings settings;
  BrokerClient broker;
  const std::unique_ptr<SharedStatus> status = std::make_unique<SharedStatus>();
  Descriptor channel = make_shared_memory("weft-test-channel", sizeof(Channel));
  Mapping<Channel> rings = Mapping<Channel>::of(channel.get());
  RingReader other{rings->rings[0]};
  Port port{WireChoice::automatic, broker};
  Inspection inspection{port};
  int taken = 0, settled = 0;
  const std::function<void(const wire::Flow&, std::span<const std::byte>, DatagramTraits)> take =
      [this](const wire::Flow&, std::span<const std::byte>, DatagramTraits) { ++taken; };
  const std::function<void()> settle = [this] { ++settled; };
};

using Psns = std::vector<std::uint32_t>;

TEST_F(InspectedPort, IsNotWithoutTapAndFaults) {
  ASSERT_FALSE(inspection.open(settings, kMine, 0).has_value());
  EXPECT_FALSE(inspection.is_on());
  EXPECT_FALSE(inspection.may_mark());
  EXPECT_EQ(inspection.next_deadline(), kNever);
}

TEST_F(InspectedPort, LosesWhatLeavesAsItsPlanSays) {
  open("drop=2");
  EXPECT_TRUE(inspection.is_on());
  EXPECT_TRUE(inspection.may_mark());
  for (const std::uint32_t psn : {1U, 2U, 3U}) emit(psn);
  EXPECT_EQ(left(), (Psns{1, 3}));
  EXPECT_EQ(inspection.lost_on_purpose(), 1U);
  arrive();
  EXPECT_EQ(taken, 1) << "what arrives is not meant";
}

TEST_F(InspectedPort, HoldsWhatLeavesBackUntilItsTime) {
  open("delay=1,hold=50us");
  emit(7);
  EXPECT_EQ(left(), Psns{});
  EXPECT_EQ(inspection.next_deadline(), microseconds(50));
  port.set_now(microseconds(49));
  inspection.on_time(take, settle);
  EXPECT_EQ(left(), Psns{});
  port.set_now(microseconds(50));
  inspection.on_time(take, settle);
  EXPECT_EQ(left(), Psns{7});
  EXPECT_EQ(inspection.next_deadline(), kNever);
}

TEST_F(InspectedPort, TakesTwiceWhatArrivesTwiceOnPurpose) {
  open("duplicate=1", false);
  EXPECT_FALSE(inspection.may_mark());
  arrive();
  EXPECT_EQ(taken, 2);
  EXPECT_EQ(settled, 2) << "copies do not stay";
  emit(1);
  EXPECT_EQ(left(), Psns{1}) << "what leaves is not meant";
}

TEST_F(InspectedPort, LetsPayloadsPassThatAreNotThere) {
  open("loss=1", false);
  arrive();
  EXPECT_EQ(taken, 0);
  arrive({.has_icrc = false, .one_copy = true});
  EXPECT_EQ(taken, 1);
}

TEST_F(InspectedPort, ShowsTheTapWhatLeavesAndWhyThingsWereRefused) {
  settings.pcap = testing::TempDir() + "inspection-%p.pcapng";
  ASSERT_FALSE(inspection.open(settings, kMine, 0).has_value());
  const std::string path = testing::TempDir() + "inspection-" + std::to_string(getpid()) + ".pcapng";
  emit(9);
  EXPECT_EQ(left(), Psns{9});
  const std::array<std::byte, 64> datagram{};
  inspection.note_refused(kFlow, datagram, Refusal::bad_icrc);
  inspection.close();
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_GT(bytes.size(), 2 * 64U);
  EXPECT_NE(bytes.find("refused: " + std::string(weft::text(Refusal::bad_icrc).counter)), std::string::npos);
  EXPECT_FALSE(inspection.is_on());
  (void)unlink(path.c_str());
}

}  // namespace
}  // namespace weft::real
