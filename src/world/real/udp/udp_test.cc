// What leaves by the kernel's UDP arrives, as few datagrams as there can be and whole packets at the other end.
#include <array>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "support/patience.h"
#include "wire/icrc.h"
#include "wire/packed_datagram.h"
#include "world/real/os/descriptor.h"
#include "world/real/udp/roce_socket.h"
#include "world/real/udp/udp_receiver.h"
#include "world/real/udp/udp_sender.h"

namespace weft::real {
namespace {

using testing::ElementsAre;
using wire::Opcode;

const wire::Address kUdpAddress = wire::Address::v4(127, 0, 4, 1);

struct Arrived {
  std::vector<Opcode> opcodes;  // of the packets
  std::size_t datagrams = 0, good = 0;
};

class Udp : public testing::Test {
 protected:
  Udp() : in(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)), out(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    hear_of_segments_and_classes(in.get(), true);
    route.to = name_of(in.get());
    SocketAddress from = name_of(out.get());
    EXPECT_EQ(::connect(out.get(), &route.to.any, route.to.bytes()), 0);
    route.socket = out.get();
    route.source_port = port_of(from);
    route.connected = route.merge = route.joins = true;
    route.wide = takes_long_datagrams(out.get(), AF_INET);
  }
  static SocketAddress name_of(int socket) {
    SocketAddress name = socket_address(kUdpAddress, 0);
    socklen_t bytes = name.bytes();
    EXPECT_EQ(::bind(socket, &name.any, bytes), 0);
    EXPECT_EQ(::getsockname(socket, &name.any, &bytes), 0);
    return name;
  }

  void send(Opcode opcode, std::uint32_t bytes = 0, std::uint8_t traffic_class = 0) {
    wire::Flow flow{.source = kUdpAddress, .destination = kUdpAddress, .source_port = route.source_port};
    flow.traffic_class = traffic_class;
    const nic::Fragment piece{payload.data(), bytes};
    nic::OutPacket p{.flow = flow, .headers = {}, .payload = {&piece, bytes > 0 ? 1U : 0U}};
    p.headers.bth.opcode = opcode;
    p.headers.bth.pad = wire::pad_for(bytes);
    p.payload_bytes = bytes;
    sender.add(route, p);
  }
  // All that comes until nothing has for so many milliseconds.
  Arrived receive(int quiet = 50) {
    Arrived a;
    const auto note = [&](const wire::Flow& flow, std::span<const std::byte> packet) {
      a.opcodes.push_back(static_cast<Opcode>(packet[0]));
      a.good += wire::icrc_matches_any_ident(flow, packet) ? 1 : 0;
    };
    pollfd ready{in.get(), POLLIN, 0};
    while (::poll(&ready, 1, quiet) > 0) {
      a.datagrams += receiver.receive(in.get(), {kUdpAddress}, [&](const wire::Flow& flow, auto datagram) {
        wire::unpack(datagram, [&](std::span<const std::byte> packet) { note(flow, packet); });
      });
    }
    EXPECT_EQ(a.good, a.opcodes.size());
    return a;
  }

  Descriptor in, out;
  UdpRoute route;
  UdpSender sender;
  UdpReceiver receiver;
  std::array<std::byte, 4096> payload{};
};

TEST_F(Udp, SendsAcknowledgementsAndTheMessageBehindThemAsOneDatagram) {
  const std::array sockets{in.get()};
  receiver.set_plain(sockets, true);  // as a receiver of segments it would not see the difference
  send(Opcode::rc_ack);
  send(Opcode::rc_ack);
  send(Opcode::rc_send_only, 64);
  sender.flush();
  EXPECT_EQ(sender.calls(), 1U);
  EXPECT_TRUE(sender.empty());
  const Arrived a = receive();
  EXPECT_THAT(a.opcodes, ElementsAre(Opcode::rc_ack, Opcode::rc_ack, Opcode::rc_send_only));
  EXPECT_EQ(a.datagrams, 1U);
}

// What is owed waits for what is larger, and does not get in front of it: they are two segments then.
TEST_F(Udp, SendsAMessageAndTheAcknowledgementBehindItAsSegments) {
  send(Opcode::rc_send_only, 64);
  send(Opcode::rc_ack);
  sender.flush();
  EXPECT_EQ(sender.calls(), 1U);
  EXPECT_THAT(receive().opcodes, ElementsAre(Opcode::rc_send_only, Opcode::rc_ack));
}

// Whoever is not known to take them apart gets segments.
TEST_F(Udp, SendsSegmentsToOthers) {
  route.joins = false;
  send(Opcode::rc_send_only, 64);
  send(Opcode::rc_ack);
  sender.flush();
  EXPECT_THAT(receive().opcodes, ElementsAre(Opcode::rc_send_only, Opcode::rc_ack));
}

// The first packet of a WRITE is longer than those behind it: as segments the two sizes would be two datagrams.
TEST_F(Udp, SendsPacketsOfLongWritesAsFewDatagramsToNeighbours) {
  ASSERT_TRUE(route.wide) << "by loopback 64 KB are one datagram";
  std::vector<Opcode> sent;
  const auto one = [&](Opcode opcode) {
    sent.push_back(opcode);
    send(opcode, 4096);
  };
  for (int message = 0; message < 3; ++message) {
    one(Opcode::rc_write_first);
    for (int i = 0; i < 14; ++i) one(Opcode::rc_write_middle);
    one(Opcode::rc_write_last);
  }
  sender.flush();
  const Arrived a = receive();
  EXPECT_EQ(a.opcodes, sent);
  EXPECT_EQ(a.datagrams, 4U);  // 48 packets, 15 to a datagram
}

TEST_F(Udp, SendsPacketsOfLongWritesAsSegmentsToOthers) {
  route.wide = route.joins = false;
  send(Opcode::rc_write_first, 4096);
  for (int i = 0; i < 5; ++i) send(Opcode::rc_write_middle, 4096);
  sender.flush();
  std::size_t datagrams = 0;
  std::vector<std::size_t> sizes;
  for (int i = 0; i < 2; ++i) {
    datagrams +=
        receiver.receive(in.get(), {kUdpAddress}, [&](auto&&, auto packet) { sizes.push_back(packet.size()); });
  }
  EXPECT_EQ(datagrams, 2U);
  EXPECT_THAT(sizes, ElementsAre(4128, 4112, 4112, 4112, 4112, 4112));
}

// Whoever sees IPv4 identifications finds them in the ICRC as the kernel writes them: segments are 0, 1, 2, ...
TEST_F(Udp, NumbersSegmentsToAnotherHost) {
  route.wide = route.joins = route.connected = false;
  route.numbered = true;
  const auto send_all = [&] {
    for (int i = 0; i < 6; ++i) send(Opcode::rc_write_middle, 4096);
    send(Opcode::rc_send_only, 700);
    send(Opcode::rc_ack);
    for (int i = 0; i < 3; ++i) send(Opcode::rc_send_only, 64);
    send(Opcode::rc_ack);
    sender.flush();
  };
  const auto hear = [&](std::size_t datagrams) {
    std::vector<int> idents;
    for (std::size_t i = 0; i < datagrams; ++i) {
      std::uint16_t number = 0;
      (void)receiver.receive(in.get(), {kUdpAddress}, [&](const wire::Flow& flow, auto packet) {
        idents.push_back(wire::icrc_matches(flow, packet, {.identification = number}) ? number : -1);
        ++number;
      });
    }
    return idents;
  };
  send_all();
  EXPECT_THAT(hear(2), ElementsAre(0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3));
  EXPECT_EQ(receive().opcodes.size(), 1U) << "an acknowledgement ends a datagram: the other is one of its own";
  route.merge = false;  // --merge off
  send_all();
  std::size_t first = 0, datagrams = 0;
  const auto is_first = [&](const wire::Flow& flow, auto packet) { first += wire::icrc_matches(flow, packet) ? 1 : 0; };
  while (const auto came = receiver.receive(in.get(), {kUdpAddress}, is_first)) datagrams += came;
  EXPECT_EQ(datagrams, 12U);
  EXPECT_EQ(first, 12U);
}

// What the card hands over as one is what it would have handed over as many.
TEST_F(Udp, TakesBurstsApart) {
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::byte>(i * 7);
  route.wide = route.joins = false;
  constexpr std::uint32_t kMtu = 512;
  struct Case {
    Opcode of_all, first, middle, last;
  };
  for (const Case& c :
       {Case{Opcode::rc_write_only_imm, Opcode::rc_write_first, Opcode::rc_write_middle, Opcode::rc_write_last_imm},
        Case{Opcode::srnic_write_only, Opcode::srnic_write_first, Opcode::srnic_write_middle, Opcode::srnic_write_last},
        Case{Opcode::srnic_send_middle, Opcode::srnic_send_middle, Opcode::srnic_send_middle,
             Opcode::srnic_send_middle},
        Case{Opcode::rc_read_response_last, Opcode::rc_read_response_middle, Opcode::rc_read_response_middle,
             Opcode::rc_read_response_last}}) {
    for (const std::uint32_t bytes : {4 * kMtu, 3 * kMtu + 1, 3 * kMtu + 511}) {
      std::vector<std::vector<std::byte>> heard[2];
      for (const bool burst : {false, true}) {
        const std::array<nic::Fragment, 3> all{
            {{payload.data(), 700}, {payload.data() + 700, 100}, {payload.data() + 800, bytes - 800}}};
        nic::OutPacket p{.flow = {.source = kUdpAddress, .destination = kUdpAddress}, .headers = {}, .payload = all};
        p.headers.sequence = wire::Sequence(3, 4, 5);
        p.headers.reth = {0x1000, wire::Key(9), bytes};
        p.headers.immediate.value = 77;
        for (std::uint32_t i = 0; i < (burst ? 1U : 4U); ++i) {
          const std::uint32_t from = i * kMtu;
          const nic::Fragment piece{payload.data() + from, std::min(kMtu, bytes - from)};
          if (!burst) p.payload = {&piece, 1};
          p.packets = burst ? 4 : 1;
          p.payload_bytes = burst ? bytes : piece.bytes;
          wire::Bth& bth = p.headers.bth;
          bth.opcode = burst ? c.of_all : i == 0 ? c.first : i == 3 ? c.last : c.middle;
          bth.psn = wire::Psn(0xFFFFFE).plus(i);
          bth.pad = wire::pad_for(p.payload_bytes);
          bth.ack_request = bth.solicited = burst || i == 3;
          sender.add(route, p);
          p.headers.sequence = p.headers.sequence.plus(1);
          if (wire::info(c.of_all).target) p.headers.reth.address += kMtu;
        }
        sender.flush();
        std::size_t good = 0;
        while (receiver.receive(in.get(), {kUdpAddress}, [&](const wire::Flow& flow, auto packet) {
          heard[burst ? 1 : 0].emplace_back(packet.begin(), packet.end());
          good += wire::icrc_matches_any_ident(flow, packet) ? 1 : 0;
        }) > 0) {
        }
        EXPECT_EQ(good, 4U);
      }
      EXPECT_EQ(heard[0], heard[1]) << bytes;
    }
  }
}

// A last packet may be shorter, and nothing follows it in its datagram.
TEST_F(Udp, EndsADatagramWithAPacketThatDoesNotTellItsEnd) {
  send(Opcode::rc_write_first, 4096);
  send(Opcode::rc_write_last, 1001);
  send(Opcode::rc_write_first, 4096);
  send(Opcode::rc_write_last, 4096);
  send(Opcode::rc_send_only);
  send(Opcode::rc_send_only, 4096);
  send(Opcode::rc_ack);
  sender.flush();
  const Arrived a = receive();
  EXPECT_THAT(a.opcodes,
              ElementsAre(Opcode::rc_write_first, Opcode::rc_write_last, Opcode::rc_write_first, Opcode::rc_write_last,
                          Opcode::rc_send_only, Opcode::rc_send_only, Opcode::rc_ack));
  EXPECT_EQ(a.datagrams, 3U);
}

TEST_F(Udp, DoesNotTakeAStreamOfLongDatagramsForMessagesThatComeOneAtATime) {
  for (int i = 0; i < 300; ++i) {
    for (int packet = 0; packet < 15; ++packet) send(Opcode::rc_write_middle, 4096);
    sender.flush();
    EXPECT_EQ(receive(0).opcodes.size(), 15U);
  }
  EXPECT_FALSE(receiver.one_at_a_time());
}

TEST_F(Udp, CarriesManyAndLargeOnes) {
  for (int i = 0; i < 10; ++i) send(Opcode::rc_write_middle, 4096);
  send(Opcode::rc_ack);
  for (int i = 0; i < 10; ++i) send(Opcode::rc_send_only, 64);
  sender.flush();
  const Arrived a = receive();
  EXPECT_EQ(a.opcodes.size(), 21U);
  EXPECT_LE(a.datagrams, 3U);
}

// Whatever follows what: owed, small, large, empty, or of another traffic class.
TEST_F(Udp, LosesNothingWhateverComesBehindWhat) {
  constexpr int kKinds = 7, kAll = kKinds * kKinds * kKinds * kKinds;
  std::size_t sent = 0, arrived = 0;
  for (int sequence = 0; sequence < kAll; ++sequence) {
    for (int i = 0, rest = sequence; i < 4; ++i, rest /= kKinds, ++sent) {
      switch (rest % kKinds) {
        case 0: send(Opcode::rc_ack); break;
        case 1: send(Opcode::rc_send_only, 63); break;
        case 2: send(Opcode::rc_write_middle, 4096); break;
        case 3: send(Opcode::rc_ack, 0, 8); break;
        case 4: send(Opcode::rc_send_only); break;
        case 5: send(Opcode::rc_write_first, 4096); break;
        default: send(Opcode::rc_send_only, 64, 8); break;
      }
    }
    sender.flush();
    EXPECT_TRUE(sender.empty());
    arrived += receive(0).opcodes.size();  // by loopback it is there when it is sent
  }
  EXPECT_EQ(arrived, sent);
}

TEST_F(Udp, SendsMoreAcknowledgementsThanAreHeldBack) {
  for (int i = 0; i < 100; ++i) send(Opcode::rc_ack);
  send(Opcode::rc_send_only, 64);
  sender.flush();
  EXPECT_EQ(receive().opcodes.size(), 101U);
}

TEST_F(Udp, NoticesThatMessagesComeOneAtATime) {
  for (int i = 0; i < 1000 && !receiver.one_at_a_time(); ++i) {
    send(Opcode::rc_send_only, 64);
    sender.flush();
    pollfd ready{in.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&ready, 1, kPatienceMilliseconds), 1);
    ASSERT_EQ(receiver.receive(in.get(), {kUdpAddress}, [](const wire::Flow&, auto) {}), 1U);
  }
  EXPECT_TRUE(receiver.one_at_a_time());
}

// Received plainly, the kernel takes segments apart; and that there are many is noticed.
TEST_F(Udp, LosesNothingOfSegmentsThatAreReceivedPlainly) {
  const std::array sockets{in.get()};
  receiver.set_plain(sockets, true);
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 30; ++i) send(Opcode::rc_send_only, 64);
    sender.flush();
  }
  EXPECT_FALSE(receiver.crowded());
  const Arrived a = receive();
  EXPECT_EQ(a.opcodes.size(), 120U);
  EXPECT_EQ(a.datagrams, 120U);
  EXPECT_TRUE(receiver.crowded());
  receiver.set_plain(sockets, false);
  EXPECT_FALSE(receiver.crowded());
  for (int i = 0; i < 30; ++i) send(Opcode::rc_send_only, 64);
  sender.flush();
  EXPECT_EQ(receive().datagrams, 1U);
}

// Bursts of 32 messages from 16 queue pairs were received with 32 calls each, for ever: none was long enough to be
// noticed, and each was over before the next one came.
TEST_F(Udp, NoticesABurstThatIsSoonOver) {
  const std::array sockets{in.get()};
  receiver.set_plain(sockets, true);
  for (int i = 0; i < 16; ++i) send(Opcode::rc_send_only, 64);
  sender.flush();
  std::uint32_t calls = 0;
  while (!receiver.crowded() && receiver.receive(in.get(), {kUdpAddress}, [](const wire::Flow&, auto) {}) > 0) ++calls;
  EXPECT_TRUE(receiver.crowded());
  EXPECT_LT(calls, 16U);
}

TEST(Joined, AloneOrDamagedIsOnePacket) {
  const auto parts_of = [](std::vector<std::byte> bytes) {
    std::vector<std::size_t> sizes;
    wire::unpack(bytes, [&](std::span<const std::byte> p) { sizes.push_back(p.size()); });
    return sizes;
  };
  const auto datagram = [](std::size_t bytes, Opcode first) {
    std::vector<std::byte> out(bytes);
    if (bytes > 0) out[0] = static_cast<std::byte>(first);
    return out;
  };
  constexpr std::size_t kAck = 20;
  EXPECT_THAT(parts_of(datagram(kAck, Opcode::rc_ack)), ElementsAre(kAck));
  EXPECT_THAT(parts_of(datagram(kAck - 1, Opcode::rc_ack)), ElementsAre(kAck - 1));
  EXPECT_THAT(parts_of(datagram(kAck + 5, Opcode::rc_ack)), ElementsAre(kAck, 5));
  EXPECT_THAT(parts_of(datagram(100, Opcode::rc_send_only)), ElementsAre(100));
  constexpr std::size_t kMiddle = 12 + 4096 + 4;
  EXPECT_THAT(parts_of(datagram(kMiddle, Opcode::rc_write_middle)), ElementsAre(kMiddle));
  EXPECT_THAT(parts_of(datagram(kMiddle + 1, Opcode::rc_write_middle)), ElementsAre(kMiddle, 1));
  EXPECT_THAT(parts_of(datagram(100, static_cast<Opcode>(0xFF))), ElementsAre(100));
  EXPECT_THAT(parts_of({}), ElementsAre(0));
}

}  // namespace
}  // namespace weft::real
