// A line (roce_socket.h) is taken for a local peer that sends messages one at a time, carries all that it sends from
// then on, and goes when it is of no more use; the group that shares the address does not notice.
#include <array>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/patience.h"
#include "world/real/os/mapping.h"
#include "world/real/os/time.h"
#include "world/real/port/port.h"
#include "world/real/udp/roce_socket.h"

namespace weft::real {
namespace {

using testing::ElementsAre;

const wire::Address kConnectedAddress = wire::Address::v4(127, 0, 4, 6);
constexpr std::uint8_t kOwnPlace = 1, kOtherPlace = 2;

SocketAddress name_of(int socket) {
  SocketAddress name{};
  socklen_t bytes = sizeof name;
  EXPECT_EQ(getsockname(socket, &name.any, &bytes), 0);
  return name;
}

// A local peer's own socket, as Port makes one for each lane that it sends to.
Descriptor own_socket() {
  Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const SocketAddress from = socket_address(kConnectedAddress, 0),
                      to = socket_address(kConnectedAddress, wire::kRocePort);
  EXPECT_EQ(bind(socket.get(), &from.any, from.bytes()), 0);
  EXPECT_EQ(connect(socket.get(), &to.any, to.bytes()), 0);
  return socket;
}

void send_to_lane(const Descriptor& from, std::uint8_t lane_number) {
  std::array<std::byte, 64> packet{};
  packet[5] = static_cast<std::byte>(lane_number << 1);  // where the destination's lane number is
  EXPECT_EQ(send(from.get(), packet.data(), packet.size(), 0), std::ssize(packet));
}

bool has_something(const Descriptor& socket, int patience_milliseconds = 0) {
  std::array<std::byte, 64> packet{};
  pollfd ready{socket.get(), POLLIN, 0};
  return poll(&ready, 1, patience_milliseconds) > 0 && recv(socket.get(), packet.data(), packet.size(), 0) > 0;
}
bool gets_something(const Descriptor& socket) { return has_something(socket, kPatienceMilliseconds); }

Descriptor group_socket() { return std::move(open_roce_socket(kConnectedAddress).value()); }

TEST(UdpLine, HearsOneSenderAndLeavesOthersToTheGroup) {
  const Descriptor zeroth = group_socket(), first = group_socket();
  const Descriptor one = own_socket(), another = own_socket();
  const Descriptor line = open_line(kConnectedAddress, name_of(one.get()));
  ASSERT_TRUE(line);
  send_to_lane(one, 1);
  EXPECT_TRUE(gets_something(line));
  send_to_lane(another, 1);
  EXPECT_TRUE(gets_something(first)) << "another's";
  const Descriptor second = group_socket();
  send_to_lane(another, 2);
  EXPECT_TRUE(gets_something(second)) << "of the group's next member, whose index must be its lane number";
  send_to_lane(one, 0);
  EXPECT_TRUE(gets_something(line)) << "since there is one more in the group";
  EXPECT_FALSE(has_something(zeroth));
}

TEST(UdpLine, IsNotTakenOfAnAddressThatIsNotHere) {
  const Descriptor one = own_socket();
  EXPECT_FALSE(open_line(wire::Address::v4(192, 0, 2, 1), name_of(one.get())));
}

// The port of lane number 1, and a local peer of it.
class PortWithALocalPeer : public testing::Test {
 protected:
  static constexpr int kEnough = 300;  // for it to see that messages come one at a time

  explicit PortWithALocalPeer(std::vector<wire::Address> addresses = {kConnectedAddress}) {
    BrokerClient::Joined joined{.lane_number = kOwnPlace, .sockets = {}};
    for (const wire::Address& address : addresses) joined.sockets.push_back(std::move(*open_roce_socket(address)));
    port.open(std::move(joined), addresses, *shared_status, OneCopy::off, now);
    Incoming met{.message = Message(Topic::met), .text = {}, .descriptors = {}};
    met.message.local_peer = {
        .address = kConnectedAddress, .lane_number = kOtherPlace, .address_count = 1, .addresses = {kConnectedAddress}};
    met.descriptors.push_back(make_shared_memory("weft-line-test", sizeof(Channel)));
    met.descriptors.push_back(make_shared_memory("weft-line-test", sizeof(SharedStatus)));
    met.descriptors.emplace_back(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    port.on_met(met);
  }
  Conversation connect_with_broker() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    broker = Conversation(Descriptor(ends[0]));
    return Conversation(Descriptor(ends[1]));
  }
  // The source ports of what comes by so many looks.
  std::vector<std::uint16_t> hear(int looks) {
    std::vector<std::uint16_t> ports;
    for (; looks > 0; --looks) {
      now += microseconds(10);
      port.set_now(now);
      const auto note = [&](const wire::Flow& flow, auto, DatagramTraits) {
        EXPECT_EQ(flow.source, kConnectedAddress);
        EXPECT_EQ(flow.destination, kConnectedAddress);
        ports.push_back(flow.source_port);
      };
      (void)port.receive(true, note, [] {});
    }
    return ports;
  }
  // One message after the other, each of which must arrive.
  void speak(const Descriptor& from, int messages) {
    for (; messages > 0; --messages) {
      send_to_lane(from, kOwnPlace);
      ASSERT_THAT(hear(10), ElementsAre(port_of(name_of(from.get()))));
    }
  }
  [[nodiscard]] bool has_line() const { return port.sockets().size() == 2; }
  void let_sockets_be_looked_at() { (void)hear(100); }

  const Descriptor zeroth = group_socket();  // the broker's
  Conversation broker;                       // its end
  BrokerClient broker_line{connect_with_broker()};
  const std::unique_ptr<SharedStatus> shared_status = std::make_unique<SharedStatus>();
  Port port{WireChoice::udp, broker_line};
  const Descriptor local_peer = own_socket();
  Time now = seconds(10);
};

TEST_F(PortWithALocalPeer, TakesALineWhenMessagesComeOneAtATime) {
  speak(local_peer, 10);
  EXPECT_FALSE(has_line()) << "may be the begin of a stream";
  speak(local_peer, kEnough);
  EXPECT_TRUE(has_line());
  EXPECT_EQ(port.lines_taken(), 1U);
  speak(local_peer, kEnough);
  speak(own_socket(), 10);
  EXPECT_EQ(port.lines_taken(), 1U);
}

class PortOfTwoAddresses : public PortWithALocalPeer {
 protected:
  PortOfTwoAddresses() : PortWithALocalPeer({wire::Address::v4(127, 0, 4, 7), kConnectedAddress}) {}
};

// Also when several come at once, and calls that hear of segments are made again. With an IPv4 address before it, an
// IPv6 address once met an assertion there.
TEST_F(PortOfTwoAddresses, HearsByALineWhatIsForItsAddress) {
  speak(local_peer, kEnough);
  ASSERT_EQ(port.lines_taken(), 1U);
  for (int i = 0; i < 20; ++i) send_to_lane(local_peer, kOwnPlace);
  EXPECT_EQ(hear(100).size(), 20U);
  speak(local_peer, 10);
}

// All lanes of an address send from there what they have no socket of their own for: it would hear what is for others.
TEST_F(PortWithALocalPeer, TakesNoLineToThePortThatAllShare) {
  const SocketAddress to = socket_address(kConnectedAddress, wire::kRocePort);
  for (int i = 0; i < kEnough; ++i) {
    std::array<std::byte, 64> packet{};
    packet[5] = std::byte{kOwnPlace << 1};
    ASSERT_GT(sendto(zeroth.get(), packet.data(), packet.size(), 0, &to.any, to.bytes()), 0);
    ASSERT_THAT(hear(10), ElementsAre(wire::kRocePort));
  }
  EXPECT_FALSE(has_line());
}

TEST_F(PortWithALocalPeer, DropsALineThatIsSilentAndTakesTheNext) {
  speak(local_peer, kEnough);
  ASSERT_TRUE(has_line());
  now += milliseconds(900);
  let_sockets_be_looked_at();
  EXPECT_TRUE(has_line());
  now += milliseconds(200);
  let_sockets_be_looked_at();
  EXPECT_FALSE(has_line());
  speak(local_peer, 10);
  const Descriptor next = own_socket();
  speak(next, kEnough);
  EXPECT_TRUE(has_line());
  EXPECT_EQ(port.lines_taken(), 2U);
}

// Its far port may have become another program's, that sends to another lane. What came before is not lost.
TEST_F(PortWithALocalPeer, DropsALineByWhichCameWhatIsForAnother) {
  speak(local_peer, kEnough);
  ASSERT_TRUE(has_line());
  port.doubt_line();
  speak(local_peer, 1);
  let_sockets_be_looked_at();
  EXPECT_FALSE(has_line());
  speak(local_peer, 10);
}

TEST_F(PortWithALocalPeer, HasNoLineWhenItsSocketsAreClosed) {
  speak(local_peer, kEnough);
  ASSERT_TRUE(has_line());
  port.close_sockets();
  EXPECT_EQ(port.sockets().size(), 1U);
}

}  // namespace
}  // namespace weft::real
