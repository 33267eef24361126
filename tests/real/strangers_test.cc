// Strangers send what they like, as much as they like. What they send hinders nobody, and takes no memory.
#include <array>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <netinet/udp.h>
#include <nlohmann/json.hpp>

#include "alone.h"
#include "broker_list.h"
#include "lanes.h"
#include "wire/datagram.h"
#include "wire/lane_number.h"
#include "world/real/broker/gsi.h"
#include "world/real/os/socket_address.h"

namespace weft::real {
namespace {

const wire::Address kVisitedAddress = wire::Address::v4(127, 0, 11, 1),
                    kStrangerAddress = wire::Address::v4(127, 0, 11, 9);
constexpr std::uint8_t kNobodys = 120;  // a lane number

class Stranger {
 public:
  Stranger() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    SocketAddress name = socket_address(kStrangerAddress, 0);
    socklen_t bytes = name.bytes();
    (void)bind(socket_.get(), &name.any, bytes);
    (void)getsockname(socket_.get(), &name.any, &bytes);
    flow_ = {.source = kStrangerAddress, .destination = kVisitedAddress, .source_port = port_of(name)};
  }
  void send_to(std::uint8_t lane_number) { send(packet_for(lane_number)); }
  // As one datagram of several segments, as a network card or the kernel joins them: it is steered by the first.
  void send_joined(std::uint8_t first, std::uint8_t others) {
    const int segment = kGsiBytes;
    (void)setsockopt(socket_.get(), IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment);
    std::string all = packet_for(first);
    for (int i = 0; i < 15; ++i) all += packet_for(others);
    send(all);
  }

 private:
  // Sound in all but that there is no such queue pair.
  std::string packet_for(std::uint8_t lane_number) const {
    auto datagram = build_gsi(flow_, 0, std::array<std::byte, wire::kMadBytes>{});
    constexpr wire::LaneField kField = wire::lane_field(wire::UdpPort::roce);
    datagram[kField.byte] = static_cast<std::byte>(lane_number << kField.shift);
    wire::seal_datagram(flow_, datagram);
    return {static_cast<const char*>(static_cast<const void*>(datagram.data())), datagram.size()};
  }
  void send(const std::string& bytes) {
    const SocketAddress to = socket_address(kVisitedAddress, wire::kRocePort);
    EXPECT_EQ(sendto(socket_.get(), bytes.data(), bytes.size(), 0, &to.any, to.bytes()),
              static_cast<ssize_t>(bytes.size()));
  }

  Descriptor socket_;
  wire::Flow flow_{};
};

std::optional<nlohmann::json> statistics_of(const Lane& lane) {
  Conversation command = call_broker();
  Message question(Topic::ask);
  question.ticket.lane_number = lane.number();
  if (!command.say(question, "stats")) return std::nullopt;
  const auto answer = command.wait(kPatienceMilliseconds);
  if (!answer || answer->message.code != 0) return std::nullopt;
  return nlohmann::json::parse(answer->text, nullptr, false);
}

// In the sockets of port 4791, in bytes.
std::uint64_t waiting_bytes() {
  std::ifstream table("/proc/net/udp");
  std::uint64_t out = 0;
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues;
    words >> number >> local >> remote >> state >> queues;
    if (local.ends_with(":12B7")) out += std::stoull(queues.substr(queues.find(':') + 1), nullptr, 16);
  }
  return out;
}

// Bug: the lane waited, with its lock, until the broker had taken each of them. Its connections broke meanwhile.
TEST(Strangers, HinderNoConnectionWithPacketsOfOtherLanes) {
  alone([] {
    TestLane a(small_lane_at(kVisitedAddress)), b(small_lane_at(kVisitedAddress));
    host::QueuePair *of_a = a.make_qp(), *of_b = b.make_qp();
    a.connect(*of_a, kVisitedAddress, of_b->qpn());
    b.connect(*of_b, kVisitedAddress, of_a->qpn());
    a.write(*of_a, 0, 4096, 0, b.key);
    if (a.wait().status != nic::Status::success) return false;
    const pid_t broker = process_of(call_broker());
    kill(broker, SIGSTOP);  // as if it had much to do
    Stranger stranger;
    for (int i = 0; i < 1000; ++i) stranger.send_joined(a.lane.number(), kNobodys);
    a.write(*of_a, 0, 4096, 0, b.key);
    const bool written = a.wait().status == nic::Status::success;
    const bool read = eventually([] { return waiting_bytes() == 0; });  // all of it, while the broker takes nothing
    kill(broker, SIGCONT);
    const auto told = statistics_of(a.lane);
    return written && read && told && (*told)["port"]["not_handed_on"] > 0;
  });
}

// Bug: what nobody would ever read filled a socket for each lane number that was free.
TEST(Strangers, FillNoSocketThatNobodyReads) {
  alone([] {
    const TestLane stays(small_lane_at(kVisitedAddress));
    std::uint8_t left = 0;
    {
      const TestLane leaves(small_lane_at(kVisitedAddress));
      left = leaves.lane.number();
    }
    wait_until_gone(left);
    Stranger stranger;
    for (int i = 0; i < 2000; ++i) {
      for (const std::uint8_t nobodys : {left, kNobodys}) stranger.send_to(nobodys);
    }
    return eventually([] { return waiting_bytes() == 0; });
  });
}

TEST(Strangers, AreHeardByTheLaneThatTheySendTo) {
  alone([] {
    const TestLane first(small_lane_at(kVisitedAddress));
    TestLane second(small_lane_at(kVisitedAddress));
    Stranger stranger;
    stranger.send_to(second.lane.number());
    const auto refused = [&] {
      const std::lock_guard guard(second.lane.lock());
      return second.lane.device().card().counters.get(Refusal::no_such_qp);
    };
    return eventually([&] { return refused() == 1; });
  });
}

}  // namespace
}  // namespace weft::real
