// The broker outlives many programs; it must not keep what they no longer need.
#include <array>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/eventfd.h>

#include "lanes.h"
#include "world/real/broker_line.h"
#include "world/real/conversation.h"
#include "world/real/gsi.h"
#include "world/real/mapping.h"
#include "world/real/shared_page.h"

namespace weft::real {
namespace {

Settings settings_at(std::uint8_t network, std::uint8_t host = 1) {
  Settings s;
  s.addresses = {wire::Address::v4(127, 0, network, host)};
  s.max_qps = 16;
  return s;
}

// What the broker tells of the lane at a place.
nlohmann::json told_of(std::uint8_t place) {
  Conversation command = call_broker();
  if (!command || !command.say(Message(Topic::list))) return {};
  const auto in = command.wait(2000);
  if (!in) return {};
  for (const auto& lane : nlohmann::json::parse(in->text, nullptr, false)) {
    if (lane["place"] == place) return lane;
  }
  return {};
}

// While this is there the program has another name.
class Renamed {
 public:
  explicit Renamed(std::string name)
      : name_(std::move(name)), before_(std::exchange(program_invocation_short_name, name_.data())) {}
  ~Renamed() { program_invocation_short_name = before_; }
  Renamed(const Renamed&) = delete;
  Renamed& operator=(const Renamed&) = delete;

 private:
  std::string name_;
  char* before_;
};

// Bug: after 256 addresses, one after the other, nobody could join any more.
TEST(Broker, LetsGoOfAddressesThatNobodyHas) {
  Settings keeper;
  keeper.addresses = {wire::Address::v4(127, 0, 4, 1)};
  keeper.max_qps = 16;
  const TestLane stays(keeper);
  for (std::uint8_t i = 0; i < 150; ++i) {
    Settings s = keeper;
    s.addresses = {wire::Address::v4(127, 0, 5, i), wire::Address::v4(127, 0, 6, i)};
    const TestLane lane(s);
    ASSERT_NE(lane.lane.place(), 0) << "address " << int{i};
  }
}

// The weft command asks a lane just when its program asks the broker for something: whichever of the lane's threads
// reads the question, it is answered. Bug: the program's set it aside, and the lane's own slept on.
TEST(Broker, FindsALaneThatAsksItselfReadyToAnswer) {
  Settings s;
  s.addresses = {wire::Address::v4(127, 0, 4, 2)};
  s.max_qps = 16;
  TestLane asked(s);
  Conversation command = call_broker();
  ASSERT_TRUE(command);
  for (int round = 0; round < 3000; ++round) {
    Message question(Topic::ask);
    question.ticket.place = asked.lane.place();
    ASSERT_TRUE(command.say(question, "stats"));
    const auto port = asked.lane.bind_service(0x0106, s.addresses[0], 0);
    ASSERT_TRUE(port.has_value());
    const auto answer = command.wait(2000);
    ASSERT_TRUE(answer.has_value()) << "round " << round;
    ASSERT_EQ(answer->message.topic, Topic::answer);
    ASSERT_EQ(answer->message.code, 0) << "the whole of it";
    asked.lane.release_service(0x0106, s.addresses[0], *port);
  }
}

// Bug: one whose name is no UTF-8 ended the broker, as soon as somebody asked who is there.
TEST(Broker, TellsOfProgramsWhateverTheyAreCalled) {
  const Renamed name("caf\xE9");
  const TestLane lane(settings_at(7));
  EXPECT_EQ(told_of(lane.lane.place())["program"], "caf\xEF\xBF\xBD");
}

TEST(Broker, CutsLongNamesBetweenCharacters) {
  const Renamed name(std::string(30, 'a') + "\xC3\xA9t\xC3\xA9");  // the first é would end behind the limit
  const TestLane lane(settings_at(7));
  EXPECT_EQ(told_of(lane.lane.place())["program"], std::string(30, 'a'));
}

// Hands the broker a packet for somebody's queue pair, as a lane does that it was steered to by mistake. This one says
// that it came from an IPv6 address to an IPv4 one.
void hand_on_mixed(std::uint8_t place) {
  const wire::Flow sound{.source = wire::Address::v4(127, 0, 7, 9), .destination = wire::Address::v4(127, 0, 7, 1)};
  auto datagram = build_gsi(sound, 0, std::array<std::byte, wire::kMadBytes>{});
  datagram[5] = static_cast<std::byte>(place << 1);  // of the number of the queue pair
  Message said(Topic::datagram);
  said.flow = sound;
  said.flow.source = {{0x20, 0x01, 0x0D, 0xB8}};
  const Conversation program = call_broker();
  ASSERT_TRUE(program.say(said, {static_cast<const char*>(static_cast<const void*>(datagram.data())), kGsiBytes}));
}

// Bug: whoever checked the ICRC of such a packet ended in an assertion.
TEST(Broker, BelievesNobodyThatIPv6TalksToIPv4) {
  const TestLane lane(settings_at(7));
  hand_on_mixed(0);
  EXPECT_EQ(told_of(lane.lane.place())["place"], lane.lane.place()) << "it is still there";
}

TEST(Broker, IsNotBelievedThatIPv6TalksToIPv4) {
  TestLane lane(settings_at(7));
  hand_on_mixed(lane.lane.place());
  const auto refused = [&] {
    const std::lock_guard guard(lane.lane.lock());
    return lane.lane.device().card().counters.get(Refusal::bad_ip_header);
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (refused() == 0 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_EQ(refused(), 1U);
}

// Bug: a program could make its door smaller after others had mapped it, and with that end them.
TEST(Broker, TakesNobodyWhoseDoorMayShrink) {
  ASSERT_TRUE(BrokerLine::is_there());
  const Descriptor wake(eventfd(0, EFD_CLOEXEC)), loose(memfd_create("door", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(loose.get(), sizeof(Door)), 0);
  const Descriptor sealed = make_shared_memory("door", sizeof(Door));
  for (const auto& [door, code] : {std::pair{loose.get(), EINVAL}, std::pair{sealed.get(), 0}}) {
    Message hello(Topic::hello);
    hello.hello.address_count = 1;
    hello.hello.addresses[0] = wire::Address::v4(127, 0, 7, 1);
    Conversation program = call_broker();
    ASSERT_TRUE(program.say(hello, {}, std::array{door, wake.get()}));
    const auto answer = program.wait(2000);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->message.code, code);
  }
}

}  // namespace
}  // namespace weft::real
