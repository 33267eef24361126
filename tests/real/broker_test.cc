// The broker outlives many programs; it must not keep what they no longer need.
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "alone.h"
#include "bare_lane.h"
#include "broker_list.h"
#include "lanes.h"
#include "world/real/broker/broker_client.h"
#include "world/real/broker/conversation.h"
#include "world/real/broker/gsi.h"
#include "world/real/os/mapping.h"
#include "world/real/shm/shared_page.h"

namespace weft::real {
namespace {

Settings settings_at(std::uint8_t network, std::uint8_t host = 1) {
  return small_lane_at(wire::Address::v4(127, 0, network, host));
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
  const Settings keeper = settings_at(4);
  const TestLane stays(keeper);
  for (std::uint8_t i = 0; i < 150; ++i) {
    Settings s = keeper;
    s.addresses = {wire::Address::v4(127, 0, 5, i), wire::Address::v4(127, 0, 6, i)};
    const TestLane lane(s);
    ASSERT_NE(lane.lane.number(), 0) << "address " << int{i};
  }
}

// The weft command asks a lane just when its program asks the broker for something: whichever of the lane's threads
// reads the question, it is answered. Bug: the program's set it aside, and the lane's own slept on.
TEST(Broker, FindsALaneThatAsksItselfReadyToAnswer) {
  const Settings s = settings_at(4, 2);
  TestLane asked(s);
  Conversation command = call_broker();
  ASSERT_TRUE(command);
  for (int round = 0; round < 3000; ++round) {
    Message question(Topic::ask);
    question.ticket.lane_number = asked.lane.number();
    ASSERT_TRUE(command.say(question, "stats"));
    const auto port = asked.lane.bind_service(0x0106, s.addresses[0], 0);
    ASSERT_TRUE(port.has_value());
    const auto answer = command.wait(kPatienceMilliseconds);
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
  EXPECT_EQ(told_of(lane.lane.number())["program"], "caf\xEF\xBF\xBD");
}

TEST(Broker, CutsLongNamesBetweenCharacters) {
  const Renamed name(std::string(30, 'a') + "\xC3\xA9t\xC3\xA9");  // the first é would end behind the limit
  const TestLane lane(settings_at(7));
  EXPECT_EQ(told_of(lane.lane.number())["program"], std::string(30, 'a'));
}

// Hands the broker a packet for somebody's queue pair, as a lane does that it was steered to by mistake. This one says
// that it came from an IPv6 address to an IPv4 one.
void hand_on_mixed(std::uint8_t lane_number) {
  const wire::Flow sound{.source = wire::Address::v4(127, 0, 7, 9), .destination = wire::Address::v4(127, 0, 7, 1)};
  auto datagram = build_gsi(sound, 0, std::array<std::byte, wire::kMadBytes>{});
  datagram[5] = static_cast<std::byte>(lane_number << 1);  // of the number of the queue pair
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
  EXPECT_EQ(told_of(lane.lane.number())["lane_number"], lane.lane.number()) << "it is still there";
}

TEST(Broker, IsNotBelievedThatIPv6TalksToIPv4) {
  TestLane lane(settings_at(7));
  hand_on_mixed(lane.lane.number());
  const auto refused = [&] {
    const std::lock_guard guard(lane.lane.lock());
    return lane.lane.device().card().counters.get(Refusal::bad_ip_header);
  };
  EXPECT_TRUE(eventually([&] { return refused() == 1; }));
}

// Bug: a program could make its shared status smaller after others had mapped it, and with that end them.
TEST(Broker, TakesNobodyWhoseDoorMayShrink) {
  const Conversation broker = reached_broker();
  ASSERT_TRUE(broker);
  const Descriptor wake(eventfd(0, EFD_CLOEXEC)), loose(memfd_create("weft-status", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(loose.get(), sizeof(SharedStatus)), 0);
  const Descriptor sealed = make_shared_memory("weft-status", sizeof(SharedStatus));
  for (const auto& [shared_status, code] : {std::pair{loose.get(), EINVAL}, std::pair{sealed.get(), 0}}) {
    Message hello(Topic::hello);
    hello.hello.address_count = 1;
    hello.hello.addresses[0] = wire::Address::v4(127, 0, 7, 1);
    Conversation program = call_broker();
    ASSERT_TRUE(program.say(hello, {}, std::array{shared_status, wake.get()}));
    const auto answer = program.wait(kPatienceMilliseconds);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->message.code, code);
  }
}

// Bug: whoever woke it would have written into whatever it was, or waited until there was room.
TEST(Broker, TakesNobodyWhoseWakeUpIsNone) {
  const Conversation broker = reached_broker();
  ASSERT_TRUE(broker);
  std::array<int, 2> pipe_ends{-1, -1};
  ASSERT_EQ(pipe2(pipe_ends.data(), O_CLOEXEC), 0);
  const Descriptor reads(pipe_ends[0]), writes(pipe_ends[1]), wake(eventfd(0, EFD_CLOEXEC));
  const Descriptor file(memfd_create("no wake-up", MFD_CLOEXEC)),
      sealed = make_shared_memory("weft-status", sizeof(SharedStatus));
  for (const auto& [door_bell, code] :
       {std::pair{writes.get(), EINVAL}, std::pair{file.get(), EINVAL}, std::pair{wake.get(), 0}}) {
    Message hello(Topic::hello);
    hello.hello.address_count = 1;
    hello.hello.addresses[0] = wire::Address::v4(127, 0, 7, 1);
    Conversation program = call_broker();
    ASSERT_TRUE(program.say(hello, {}, std::array{sealed.get(), door_bell}));
    const auto answer = program.wait(kPatienceMilliseconds);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->message.code, code);
  }
  EXPECT_NE(fcntl(wake.get(), F_GETFL) & O_NONBLOCK, 0) << "nobody waits for one whose count is full";
}

// ---- a broker of one's own, in a network namespace of its own

TEST(Broker, HasAllDescriptorsThatItMayHave) {
  alone([] {
    rlimit few{};
    getrlimit(RLIMIT_NOFILE, &few);
    few.rlim_cur = 64;
    if (setrlimit(RLIMIT_NOFILE, &few) != 0) return false;
    rlimit its{};
    const Conversation broker = reached_broker();
    return prlimit(process_of(broker), RLIMIT_NOFILE, nullptr, &its) == 0 && its.rlim_cur == few.rlim_max;
  });
}

// Bug: it woke up for each who called, could not take the call, and woke up again, with a whole processor.
TEST(Broker, WaitsForDescriptorsAsleep) {
  alone([] {
    Conversation first = reached_broker();
    const pid_t process = process_of(first);
    constexpr rlimit kFew{32, 32};
    if (!first || prlimit(process, RLIMIT_NOFILE, &kFew, nullptr) != 0) return false;
    std::vector<Conversation> callers(64);
    for (Conversation& caller : callers) caller = call_broker();
    const double before = seconds_of_processor(process);
    if (answers(callers.back(), 500)) return false;  // so many it cannot hear
    const double spent = seconds_of_processor(process) - before;
    if (spent > 0.1) return false;
    // Those that it has it serves, and the others when there is room again.
    if (!answers(first, kPatienceMilliseconds)) return false;
    callers.erase(callers.begin(), callers.end() - 1);
    return callers.back().wait(kPatienceMilliseconds).has_value();
  });
}

std::size_t descriptors_of(pid_t process) {
  const std::filesystem::directory_iterator all("/proc/" + std::to_string(process) + "/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// For a lane it needs its line, two that the lane sends along, sockets, and the lane's lock. Bug: a greeting that came
// without the two was not sound, EINVAL.
TEST(Broker, SaysThatItHasTooManyOpenFiles) {
  alone([] {
    constexpr rlim_t kTooFew = 4, kEnough = 32;
    for (rlim_t more = 1; more <= kEnough; ++more) {
      const Conversation keeps_it = reached_broker();
      const pid_t process = process_of(keeps_it);
      rlimit limit{};
      if (prlimit(process, RLIMIT_NOFILE, nullptr, &limit) != 0) return false;
      limit.rlim_cur = descriptors_of(process) + more;
      if (prlimit(process, RLIMIT_NOFILE, &limit, nullptr) != 0) return false;
      Nobody owner;
      Lane lane(settings_at(7), owner);
      const auto attached = lane.attach();
      if (attached) return more > kTooFew;
      if (attached.error().code != EMFILE) return false;
      if (attached.error().what.find("too many open files: the broker (process ") == std::string::npos) return false;
    }
    return false;
  });
}

// Bug: every two that talked cost it a descriptor for as long as they ran, and with the last one it was lost.
TEST(Broker, IntroducesMoreLanesThanItHasDescriptorsFor) {
  alone([] {
    const Conversation broker = reached_broker();
    std::vector<BareLane> lanes;
    for (std::uint8_t host = 1; host <= 8; ++host) lanes.emplace_back(host);
    const pid_t process = process_of(lanes.front().talk);
    const rlim_t few = descriptors_of(process) + 16;
    const rlimit limit{few, few};
    if (prlimit(process, RLIMIT_NOFILE, &limit, nullptr) != 0) return false;
    for (std::size_t a = 0; a < lanes.size(); ++a) {
      for (std::size_t b = a + 1; b < lanes.size(); ++b) {
        const auto met = lanes[a].meet(lanes[b]);
        if (!met || met->message.code != 0 || met->descriptors.size() != 3) return false;
      }
    }
    // By now it has let go of the channel of the first two. They have it: they are told that they know each other.
    const auto again = lanes[1].meet(lanes[0]);
    if (!again || again->message.code != 0 || again->descriptors.size() != 2) return false;
    return BareLane(1).lane_number != 0;  // nor do channels take the room of those who come
  });
}

// ---- lanes that do not hear

// Until nothing more goes through the line from the broker to this lane.
constexpr int kMoreThanALineHolds = 32;
void fill_line_to(const BareLane& lane) {
  Conversation program = call_broker();
  std::string datagram(50'000, '\0');
  datagram[5] = static_cast<char>(lane.lane_number << 1);
  Message said(Topic::datagram);
  said.flow = {.source = lane.address, .destination = lane.address};
  for (int i = 0; i < kMoreThanALineHolds; ++i) ASSERT_TRUE(program.say(said, datagram));
  ASSERT_TRUE(answers(program, kPatienceMilliseconds)) << "it has handed all of them on";
}
void read_all(BareLane& lane) {
  while (lane.talk.hear()) {
  }
}

// Bug: the asker was told, and wrote into a ring that the other did not know of.
TEST(Broker, TellsNobodyOfALocalPeerWhoCannotBeTold) {
  const Conversation broker = reached_broker();
  ASSERT_TRUE(broker);
  BareLane asker(1), other(2);
  fill_line_to(other);
  auto met = asker.meet(other);
  ASSERT_TRUE(met);
  EXPECT_NE(met->message.code, 0);
  EXPECT_TRUE(met->descriptors.empty());
  read_all(other);
  met = asker.meet(other);
  ASSERT_TRUE(met);
  EXPECT_EQ(met->message.code, 0);
  EXPECT_EQ(met->descriptors.size(), 3U);
  const auto greeting = other.news_of(asker.lane_number);
  ASSERT_TRUE(greeting);
  EXPECT_EQ(greeting->descriptors.size(), 3U);
}

// Bug: who missed that a local peer had left took the next one of its lane number for the same, and never met it.
TEST(Broker, TellsOfDeparturesWhenItCan) {
  const Conversation broker = reached_broker();
  ASSERT_TRUE(broker);
  BareLane stays(1);
  std::uint32_t left = 0;
  {
    BareLane leaves(2);
    left = leaves.lane_number;
    ASSERT_TRUE(stays.meet(leaves));
    fill_line_to(stays);
  }
  ASSERT_NO_FATAL_FAILURE(wait_until_gone(left));  // and the broker could not tell
  const auto news = stays.news_of(left);
  ASSERT_TRUE(news);
  EXPECT_LT(stays.datagrams, kMoreThanALineHolds) << "the line was full";
  EXPECT_TRUE(news->descriptors.empty());
}

}  // namespace
}  // namespace weft::real
