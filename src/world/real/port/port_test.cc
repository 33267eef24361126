// A port meets local peers at any time, even while it hears others, and takes sockets in whatever state they were left.
#include "world/real/port/port.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world/real/os/mapping.h"
#include "world/real/os/time.h"
#include "world/real/udp/roce_socket.h"

namespace weft::real {
namespace {

const wire::Address kPortAddress = wire::Address::v4(127, 0, 4, 5);
constexpr int kUdpGro = 104;  // linux/udp.h

// What the broker hands out when two lanes meet.
struct Meeting {
  Descriptor channel = make_shared_memory("weft-port-test", sizeof(Channel)),
             shared_status = make_shared_memory("weft-port-test", sizeof(SharedStatus)),
             wake{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  Mapping<Channel> rings = Mapping<Channel>::of(channel.get());
  RingWriter out{rings->rings[1]};  // from the one with the higher lane number

  void say(const wire::Flow& flow, std::span<const std::byte> packet) {
    EXPECT_TRUE(out.write(flow, packet));
    EXPECT_TRUE(out.publish());
  }
  [[nodiscard]] static Message introduction(std::uint32_t lane_number) {
    Message m(Topic::met);
    m.local_peer = {
        .address = kPortAddress, .lane_number = lane_number, .address_count = 1, .addresses = {kPortAddress}};
    return m;
  }
  [[nodiscard]] std::array<int, 3> descriptors() const { return {channel.get(), shared_status.get(), wake.get()}; }
};

class PortOfTheFirst : public testing::Test {
 protected:
  static constexpr std::uint8_t kOwnPlace = 1;

  Conversation connect_with_broker() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    broker = Conversation(Descriptor(ends[0]));
    return Conversation(Descriptor(ends[1]));
  }
  void open(Descriptor socket) { open(port, std::move(socket)); }
  void open(Port& which, Descriptor socket) {
    BrokerClient::Joined joined{.lane_number = kOwnPlace, .sockets = {}};
    joined.sockets.push_back(std::move(socket));
    which.open(std::move(joined), {&kPortAddress, 1}, *shared_status, OneCopy::measured, 0);
  }
  static Descriptor open_socket() {
    return Descriptor(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  }
  static bool is_on(int socket, int level, int option) {
    int value = 0;
    socklen_t bytes = sizeof value;
    EXPECT_EQ(getsockopt(socket, level, option, &value, &bytes), 0);
    return value != 0;
  }

  Conversation broker;  // its end
  BrokerClient line{connect_with_broker()};
  const std::unique_ptr<SharedStatus> shared_status = std::make_unique<SharedStatus>();
  Port port{WireChoice::automatic, line};
};

// Each time one more, so that the list has no room to spare at some of them. Bug: it grew while it was walked.
TEST_F(PortOfTheFirst, MeetsOneMoreWhileItHearsTheOthers) {
  constexpr std::size_t kMost = 8;
  const wire::Flow flow{.source = kPortAddress, .destination = kPortAddress, .source_port = wire::kRocePort};
  open(open_socket());
  std::array<Meeting, kMost> others;
  for (std::size_t met = 0; met < kMost; ++met) {
    const auto next = static_cast<std::uint8_t>(kOwnPlace + 1 + met);
    std::array<std::byte, 64> packet{};
    packet[5] = static_cast<std::byte>(next << 1);  // where the destination's lane number is
    ASSERT_TRUE(broker.say(Meeting::introduction(next), {}, others[met].descriptors()));
    for (std::size_t i = 0; i < met; ++i) others[i].say(flow, packet);
    std::size_t heard = 0;
    const auto answer = [&] {
      if (port.local_peers() == met) port.send(flow, packet);
    };
    EXPECT_EQ(port.receive(
                  true, [&](const auto&, auto, DatagramTraits) { ++heard; }, answer),
              met > 0);
    if (met == 0) answer();
    EXPECT_EQ(heard, met);
    ASSERT_EQ(port.local_peers(), met + 1);
  }
}

// Bug: a broker that was late with its answer had been asked in vain, and was asked again a second later.
TEST_F(PortOfTheFirst, ReachesOneWhoseIntroductionCameLate) {
  Port rings_only{WireChoice::shm, line};
  open(rings_only, open_socket());
  const wire::Flow flow{.source = kPortAddress, .destination = kPortAddress, .source_port = wire::kRocePort};
  std::array<std::byte, 64> packet{};
  packet[5] = std::byte{2 << 1};  // where the destination's lane number is
  rings_only.send(flow, packet);
  EXPECT_EQ(rings_only.not_sent(), 1U);
  const Meeting other;
  ASSERT_TRUE(broker.say(Meeting::introduction(2), {}, other.descriptors()));
  auto in = line.hear();
  ASSERT_TRUE(in.has_value());
  rings_only.on_met(*in);
  rings_only.send(flow, packet);
  EXPECT_EQ(rings_only.not_sent(), 1U);
}

// Bug: any descriptor was taken for the one by which a local peer is woken, and written to.
TEST_F(PortOfTheFirst, MeetsNobodyWhoseWakeUpIsNone) {
  open(open_socket());
  const Meeting other;
  const Descriptor file = make_shared_memory("weft-port-test", 64);
  for (const int wake : {file.get(), other.wake.get()}) {
    ASSERT_TRUE(
        broker.say(Meeting::introduction(2), {}, std::array{other.channel.get(), other.shared_status.get(), wake}));
    auto in = line.hear();
    ASSERT_TRUE(in.has_value());
    port.on_met(*in);
    EXPECT_EQ(port.local_peers(), wake == file.get() ? 0U : 1U);
  }
}

// Bug: as long as a local peer kept its ring filled, nobody looked at the sockets.
TEST_F(PortOfTheFirst, HearsItsSocketsWhileALocalPeerFillsItsRing) {
  Descriptor socket = open_socket(), stranger = open_socket();
  SocketAddress name = socket_address(kPortAddress, 0);
  socklen_t bytes = name.bytes();
  ASSERT_EQ(bind(socket.get(), &name.any, bytes), 0);
  ASSERT_EQ(getsockname(socket.get(), &name.any, &bytes), 0);
  open(std::move(socket));
  Meeting other;
  ASSERT_TRUE(broker.say(Meeting::introduction(2), {}, other.descriptors()));
  auto in = line.hear();
  ASSERT_TRUE(in.has_value());
  port.on_met(*in);
  const std::array<std::byte, 64> packet{};
  ASSERT_EQ(sendto(stranger.get(), packet.data(), packet.size(), 0, &name.any, bytes), 64);
  const wire::Flow flow{.source = kPortAddress, .destination = kPortAddress, .source_port = wire::kRocePort};
  std::size_t by_ring = 0, by_socket = 0;
  const auto take = [&](const wire::Flow& from, auto, DatagramTraits) {
    ++(from.source_port == wire::kRocePort ? by_ring : by_socket);
  };
  for (Time now = milliseconds(1); now < milliseconds(2); now += microseconds(1)) {
    port.set_now(now);
    other.say(flow, packet);
    port.receive(true, take, [] {});
  }
  EXPECT_EQ(by_ring, 1000U);
  EXPECT_EQ(by_socket, 1U);
}

// A datagram of two packets, from an address that the broker has named or has not.
class PortThatHearsPackedDatagrams : public PortOfTheFirst {
 protected:
  static constexpr std::uint8_t kOther = 2;
  static constexpr std::size_t kAck = 20;

  PortThatHearsPackedDatagrams() : in(bound_to(kPortAddress)) { open(Descriptor(dup(in.get()))); }
  static Descriptor bound_to(const wire::Address& address) {
    Descriptor socket = open_socket();
    const SocketAddress name = socket_address(address, 0);
    EXPECT_EQ(bind(socket.get(), &name.any, name.bytes()), 0);
    return socket;
  }
  void pack_two_acks() {
    std::array<std::byte, 2 * kAck> datagram{};
    datagram[0] = datagram[kAck] = static_cast<std::byte>(wire::Opcode::rc_ack);
    SocketAddress to{};
    socklen_t bytes = sizeof to;
    ASSERT_EQ(getsockname(in.get(), &to.any, &bytes), 0);
    ASSERT_EQ(sendto(out.get(), datagram.data(), datagram.size(), 0, &to.any, bytes), std::ssize(datagram));
  }
  // The sizes of the packets that arrive.
  std::vector<std::size_t> hear() {
    std::vector<std::size_t> sizes;
    const auto note = [&](const wire::Flow&, std::span<const std::byte> p, DatagramTraits) {
      sizes.push_back(p.size());
    };
    for (int looks = 0; looks < 100 && sizes.empty(); ++looks) {
      port.set_now(now += microseconds(10));
      (void)port.receive(true, note, [] {});
    }
    return sizes;
  }
  static Message introduction() {
    Message m(Topic::met);
    m.local_peer = {.address = kThere, .lane_number = kOther, .address_count = 2, .addresses = {kPortAddress, kThere}};
    return m;
  }

  static constexpr wire::Address kThere = wire::Address::v4(127, 0, 4, 15);
  const Descriptor in, out = bound_to(kThere);
  Time now = seconds(1);
};

TEST_F(PortThatHearsPackedDatagrams, LeavesAStrangersWhole) {
  pack_two_acks();
  EXPECT_THAT(hear(), testing::ElementsAre(2 * kAck));
}

// The broker tells the receiver first, so its words are there, though nobody has listened yet.
TEST_F(PortThatHearsPackedDatagrams, TakesThoseApartOfOneWhomTheBrokerHasJustIntroduced) {
  const Meeting other;
  pack_two_acks();
  EXPECT_THAT(hear(), testing::ElementsAre(2 * kAck));
  ASSERT_TRUE(broker.say(introduction(), {}, other.descriptors()));
  pack_two_acks();
  EXPECT_THAT(hear(), testing::ElementsAre(kAck, kAck));
  EXPECT_EQ(port.local_peers(), 1U);
}

// Who has no room for the descriptors of an introduction still knows whom it names.
TEST_F(PortThatHearsPackedDatagrams, TakesThoseApartOfOneWhoseMemoryItCouldNotMap) {
  Incoming met{.message = introduction(), .text = {}, .descriptors = {}};
  met.message.code = EMFILE;
  port.on_met(met);
  EXPECT_EQ(port.local_peers(), 0U);
  pack_two_acks();
  EXPECT_THAT(hear(), testing::ElementsAre(kAck, kAck));
}

TEST_F(PortThatHearsPackedDatagrams, LeavesThoseWholeOfOneThatHasGone) {
  const Meeting other;
  ASSERT_TRUE(broker.say(introduction(), {}, other.descriptors()));
  pack_two_acks();
  ASSERT_THAT(hear(), testing::ElementsAre(kAck, kAck));
  Incoming gone{.message = Message(Topic::met), .text = {}, .descriptors = {}};
  gone.message.local_peer.lane_number = kOther;
  port.on_met(gone);
  pack_two_acks();
  EXPECT_THAT(hear(), testing::ElementsAre(2 * kAck));
}

// The broker keeps a lane number's socket for the next lane. Bug: one that had been left without segments and traffic
// classes stayed so, and its next owner saw no mark of a congested switch.
TEST_F(PortOfTheFirst, HearsOfSegmentsAndClassesWhateverTheLastOwnerOfItsSocketWanted) {
  Descriptor socket = open_socket();
  const int fd = socket.get();
  hear_of_segments_and_classes(fd, false);
  open(std::move(socket));
  EXPECT_TRUE(is_on(fd, IPPROTO_UDP, kUdpGro));
  EXPECT_TRUE(is_on(fd, IPPROTO_IP, IP_RECVTOS));
}

// Bug: sums of what a hostile local peer says overflowed (make asan tells).
TEST(LocalPeerAccount, IsOfAnyNumbersThatTheOtherSays) {
  constexpr std::int64_t kLeast = INT64_MIN, kMost = INT64_MAX;
  for (const std::int64_t sent : {kLeast, std::int64_t{-1}, std::int64_t{0}, kMost}) {
    for (const std::int64_t taken : {kLeast, std::int64_t{0}, std::int64_t{1}, kMost}) {
      for (const std::int64_t room : {kLeast, std::int64_t{0}, std::int64_t{1 << 20}, kMost}) {
        const Meeting meeting;
        LocalPeer peer(1, 2, Mapping<Channel>::of(meeting.channel.get()),
                       Mapping<SharedStatus>::of(meeting.shared_status.get()), Descriptor());
        peer.ring = false;
        peer.shared_status().udp_sent.store(sent);
        peer.shared_status().udp_taken.store(taken);
        peer.shared_status().udp_room.store(room);
        peer.count_sent(4096);
        const bool has_room = peer.has_room();
        EXPECT_FALSE(has_room && room <= 0);
        EXPECT_TRUE(has_room || room <= 0 || sent != taken);
        for (int i = 0; i < 8; ++i) peer.count_sent(4096);
        (void)peer.has_room();
      }
    }
  }
}

}  // namespace
}  // namespace weft::real
