// A broker, one lane that behaves, and hostile clients of the same user that say anything to it, with any descriptors;
// or, as the first byte chooses, a lane whose broker says anything. These hold.
// What holds for the broker:
//   * it says only what a broker may say, and to a lane only what concerns it;
//   * lane numbers that are in use are given to nobody else, and neither are ports;
//   * whom it introduces gets memory that cannot be taken away;
//   * the lane that behaves is served as ever, and a list of all is JSON whatever they call themselves;
//   * when all have gone, no descriptor is left.
// What holds for a lane:
//   * an answer is of the topic and about the lane that was asked for, and the end of the line ends all waiting;
//   * it meets nobody without memory that cannot be taken away, and nobody twice.
#include <array>
#include <bitset>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "fuzz_bytes.h"
#include "wire/cm.h"
#include "wire/ip_cm.h"
#include "world/real/broker/broker.h"
#include "world/real/broker/broker_client.h"
#include "world/real/broker/gsi.h"
#include "world/real/os/mapping.h"
#include "world/real/os/wake_up.h"
#include "world/real/port/port.h"
#include "world/real/shm/shared_page.h"

namespace weft::real {
namespace {

using fuzz::FuzzBytes;
using fuzz::require;

constexpr std::size_t kHostile = 3;
constexpr BoundPort kOwnPort{.space = 0x106, .port = 7471};

// Addresses of the loopback network that no other process which does the same uses now.
wire::Address address(std::size_t i) {
  const auto process = static_cast<unsigned>(getpid());
  return wire::Address::v4(127, static_cast<std::uint8_t>(100 + process % 100),
                           static_cast<std::uint8_t>(process / 100), static_cast<std::uint8_t>(1 + i));
}

// What may be sent along: good ones first.
struct Descriptors {
  std::array<Descriptor, 7> all{make_shared_memory("status", sizeof(SharedStatus)),
                                Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
                                make_shared_memory("channel", sizeof(Channel)),
                                make_shared_memory("small", 64),
                                Descriptor(memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING)),
                                Descriptor(open("/dev/null", O_RDWR | O_CLOEXEC)),
                                Descriptor(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0))};

  Descriptors() { require(ftruncate(all[4].get(), sizeof(Channel)) == 0, "memory can be made longer"); }
  [[nodiscard]] std::vector<int> some(FuzzBytes& choices) const {
    if (choices.one_in(4)) return {};
    if (choices.one_in(2)) return {all[0].get(), all[1].get()};
    if (choices.one_in(2)) return {all[2].get(), all[0].get(), all[1].get()};
    std::vector<int> out;
    for (std::uint64_t count = choices.next(6); count > 0; --count) out.push_back(all[choices.next(all.size())].get());
    return out;
  }
};

const Descriptors& descriptors() {
  static const Descriptors made;
  return made;
}

// Says it as it is: what Conversation would not.
void say(int socket, const Message& message, std::string_view text, std::span<const int> given, std::size_t cut) {
  std::array<iovec, 2> parts{iovec{const_cast<Message*>(&message), sizeof message - cut},
                             iovec{const_cast<char*>(text.data()), text.size()}};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(8 * sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = parts.data();
  header.msg_iovlen = parts.size();
  if (!given.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(given.size_bytes());
    cmsghdr* c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(given.size_bytes());
    std::memcpy(CMSG_DATA(c), given.data(), given.size_bytes());
  }
  // One of no bytes would be taken for the end.
  if (parts[0].iov_len + parts[1].iov_len > 0) (void)sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// ---- messages

wire::Address some_address(FuzzBytes& choices) {
  const auto i = choices.next(8);
  if (i == 7) return {};
  if (i == 6) return {{0xFD, 1}};
  return address(i % 3);
}

wire::Flow some_flow(FuzzBytes& choices) {
  return {.source = some_address(choices), .destination = some_address(choices), .source_port = wire::kRocePort};
}

std::uint32_t some_number(FuzzBytes& choices) {
  return static_cast<std::uint32_t>(choices.one_in(8) ? choices.next(1ULL << 32) : choices.next(8));
}

wire::CmBody some_cm(FuzzBytes& choices) {
  const auto id = [&] { return static_cast<std::uint32_t>(choices.next(8) << 24 | choices.next(4)); };
  const auto service = wire::cm_service_id(wire::PortSpace::tcp, 7471);
  switch (choices.next(8)) {
    case 0: return wire::CmRep{.local_id = id(), .remote_id = id()};
    case 1: return wire::CmRtu{.local_id = id(), .remote_id = id()};
    case 2: return wire::CmDreq{.local_id = id(), .remote_id = id()};
    case 3: return wire::CmRej{.local_id = id(), .remote_id = id()};
    case 4: return wire::CmSidrReq{.request_id = id(), .service_id = service};
    case 5: return wire::CmSidrRep{.request_id = id()};
    default: return wire::CmReq{.local_id = id(), .service_id = service};
  }
}

// A management datagram for QP1 that is sound, or any bytes.
std::string some_datagram(FuzzBytes& choices, const wire::Flow& flow) {
  std::string text;
  if (!wire::is_mixed(flow) && !choices.one_in(4)) {
    std::array<std::byte, wire::kMadBytes> mad{};
    wire::encode_cm({.transaction = choices.next(1ULL << 40), .body = some_cm(choices)}, mad);
    for (std::uint64_t times = choices.next(4); times > 1; --times) {
      mad[choices.next(64)] = static_cast<std::byte>(choices.next(256));
    }
    for (const std::byte b : build_gsi(flow, 1, mad)) text.push_back(static_cast<char>(b));
    return text;
  }
  for (const std::byte b : choices.take(choices.next(64))) text.push_back(static_cast<char>(b));
  return text;
}

Hello some_hello(FuzzBytes& choices) {
  Hello h;
  if (choices.one_in(16)) h.version = some_number(choices);
  h.process = static_cast<std::int32_t>(some_number(choices));
  for (char& c : h.name) c = choices.over() ? 'x' : static_cast<char>(choices.next(256));
  h.address_count = choices.one_in(8) ? some_number(choices) : 1 + static_cast<std::uint32_t>(choices.next(2));
  for (std::size_t i = 0; i < 3; ++i) h.addresses[i] = some_address(choices);
  return h;
}

struct Said {
  Message message;
  std::string text;
  std::vector<int> given;
  std::size_t cut = 0;
};

Said something(FuzzBytes& choices) {
  Said out;
  const auto topic = choices.one_in(32) ? some_number(choices) : static_cast<std::uint32_t>(choices.next(16));
  out.message = Message(static_cast<Topic>(topic));
  out.message.code = choices.one_in(4) ? static_cast<std::int32_t>(some_number(choices)) : 0;
  switch (out.message.topic) {
    case Topic::hello: out.message.hello = some_hello(choices); break;
    case Topic::bind:
    case Topic::bound:
    case Topic::release:
    case Topic::listen:
      out.message.service = {.space = static_cast<std::uint16_t>(choices.one_in(4) ? 1 : 0x106),
                             .port = static_cast<std::uint16_t>(choices.one_in(2) ? 7471 : some_number(choices)),
                             .on = some_number(choices),
                             .address = some_address(choices)};
      break;
    case Topic::datagram:
      out.message.flow = some_flow(choices);
      out.text = some_datagram(choices, out.message.flow);
      break;
    case Topic::ask:
    case Topic::asked:
    case Topic::answer:
      out.message.ticket = {.asker = (1U << 20) + choices.next(6), .lane_number = some_number(choices)};
      break;
    case Topic::welcome: out.message.lane_number = some_number(choices); break;
    default:
      out.message.local_peer = {.address = some_address(choices), .lane_number = some_number(choices), .versions = {}};
  }
  out.given = descriptors().some(choices);
  if (out.text.empty()) out.text.assign(choices.one_in(8) ? choices.next(kMaxText + 64) : choices.next(16), 'q');
  out.message.text_bytes = static_cast<std::uint32_t>(out.text.size());
  if (choices.one_in(16)) out.message.text_bytes += some_number(choices);
  if (choices.one_in(16)) out.cut = choices.next(sizeof(Message) + 1);
  return out;
}

// ---- a broker among hostile clients

struct Client {
  Conversation talk;
  std::uint8_t lane_number = 0;
};

class Scene {
 public:
  Scene() : broker_(listen()) {
    clients_[0].talk = call();
    Message hello(Topic::hello);
    hello.hello.address_count = 1;
    hello.hello.addresses[0] = address(0);
    hello.hello.name = {'g', 'o', 'o', 'd'};
    require(clients_[0].talk.say(hello, {}, std::array{descriptors().all[0].get(), descriptors().all[1].get()}),
            "a greeting can be said");
    broker_.turn();  // it is accepted,
    broker_.turn();  // and heard
    listen_to_all();
    require(clients_[0].lane_number != 0, "who behaves is welcome");
    Message bind(Topic::bind);
    bind.service = kOwnPort;
    bind.service.address = address(0);
    require(asked(bind, Topic::bound)->message.code == 0, "a port is to be had");
    own_port_ = true;
  }

  void step(FuzzBytes& choices) {
    Client& client = clients_[1 + choices.next(kHostile)];
    const auto what = choices.next(16);
    if (!client.talk) client.talk = call();
    if (what == 0) {
      client = {};
    } else if (what != 1) {
      const Said said = something(choices);
      say(client.talk.fd(), said.message, said.text, said.given, said.cut);
    }
    if (what < 14) broker_.turn();
    if (what < 12) listen_to_all();
  }

  void finish() {
    broker_.turn();
    listen_to_all();
    Message about(Topic::consult);
    about.local_peer = {.address = address(0), .lane_number = clients_[0].lane_number, .versions = {}};
    require(asked(about, Topic::consulted)->message.code == 0, "who behaves is known");
    const auto list = asked(Message(Topic::list), Topic::listed);
    const auto lanes = nlohmann::json::parse(list->text, nullptr, false);
    require(lanes.is_array() && !lanes.empty(), "a list is JSON");
    bool found = false;
    for (const auto& lane : lanes) found |= lane["lane_number"] == clients_[0].lane_number && lane["program"] == "good";
    require(found, "who behaves is in the list");
  }

 private:
  Descriptor listen() {
    Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un any{};
    any.sun_family = AF_UNIX;
    const auto* plain = static_cast<const sockaddr*>(static_cast<const void*>(&any));
    require(socket && bind(socket.get(), plain, sizeof(sa_family_t)) == 0 && ::listen(socket.get(), 16) == 0,
            "a name is to be had");
    name_bytes_ = sizeof name_;
    require(getsockname(socket.get(), static_cast<sockaddr*>(static_cast<void*>(&name_)), &name_bytes_) == 0,
            "its name");
    return socket;
  }
  [[nodiscard]] Conversation call() const {
    Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const auto* plain = static_cast<const sockaddr*>(static_cast<const void*>(&name_));
    if (connect(socket.get(), plain, name_bytes_) != 0) return {};
    return Conversation(std::move(socket));
  }

  std::optional<Incoming> asked(const Message& question, Topic topic) {
    require(clients_[0].talk.say(question), "the broker takes a question");
    broker_.turn();
    for (;;) {
      auto in = clients_[0].talk.hear();
      require(in.has_value(), "the broker answers");
      if (in->message.topic == topic) return in;
      check(clients_[0], *in);
    }
  }

  void listen_to_all() {
    for (Client& client : clients_) {
      if (!client.talk) continue;
      while (auto in = client.talk.hear()) check(client, *in);
      require(!client.talk.over(), "the broker hangs up on nobody");
    }
  }

  void check(Client& client, const Incoming& in) {
    const Message& m = in.message;
    switch (m.topic) {
      case Topic::welcome: return check_welcome(client, in);
      case Topic::bound: {
        const bool hers = m.service.address == address(0) || m.service.address == wire::Address{};
        const bool taken = own_port_ && m.service.space == kOwnPort.space && m.service.port == kOwnPort.port && hers;
        require(m.code != 0 || !taken || &client == &clients_[0], "a port was given to two");
        require(m.code != 0 || m.service.port != 0, "no port was given");
        return;
      }
      case Topic::met: return check_meeting(in);
      case Topic::playing: return check_playing(client, in);
      case Topic::datagram:
      case Topic::asked: return require(client.lane_number != 0, "something came for a lane that is none");
      case Topic::consulted:
      case Topic::listed:
      case Topic::answer: return;
      default: require(false, "the broker says what only others say");
    }
  }
  // Two sockets for each address, for a lane alone.
  static void check_playing(const Client& client, const Incoming& in) {
    if (in.message.code != 0) return require(in.descriptors.empty(), "sockets for one who may not play");
    require(client.lane_number != 0, "a role for a lane that is none");
    require(!in.descriptors.empty() && in.descriptors.size() % 2 == 0, "as many sockets for each of StaR's ports");
  }
  void check_welcome(Client& client, const Incoming& in) {
    if (in.message.code != 0) return require(in.descriptors.empty(), "sockets for one who is not welcome");
    const std::uint32_t given = in.message.lane_number;
    require(given >= wire::kFirstLane && given <= wire::kLastLane, "a lane number that is none");
    for (const Client& other : clients_) require(other.lane_number != given, "a lane number was given to two");
    // One for each address, and two more if it speaks StaR.
    require(!in.descriptors.empty() && in.descriptors.size() <= 3 * kMaxAddresses, "sockets for each address");
    client.lane_number = static_cast<std::uint8_t>(given);
  }
  static void check_meeting(const Incoming& in) {
    if (in.descriptors.empty()) return;
    require(in.descriptors.size() == 2 || in.descriptors.size() == 3, "half an introduction");
    const std::size_t status = in.descriptors.size() - 2;
    require(has_for_ever(in.descriptors[status].get(), sizeof(SharedStatus)), "a status that can be taken away");
    require(status == 0 || has_for_ever(in.descriptors[0].get(), sizeof(Channel)), "a channel that can be taken away");
  }

  sockaddr_un name_{};
  socklen_t name_bytes_ = 0;
  BrokerTurns broker_;
  std::array<Client, 1 + kHostile> clients_;  // the first one behaves
  bool own_port_ = false;
};

void attack_broker(FuzzBytes& choices) {
  Scene scene;
  for (int most = 48; most > 0 && !choices.over(); --most) scene.step(choices);
  scene.finish();
}

// ---- a lane with a hostile broker

void attack_lane(FuzzBytes& choices) {
  std::array<int, 2> ends{-1, -1};
  require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0, "a pair of sockets is to be had");
  const Descriptor hostile(ends[0]);
  BrokerClient client{Conversation(Descriptor(ends[1]))};
  SharedStatus status;
  Port port(WireChoice::automatic, client);
  BrokerClient::Joined joined{.lane_number = 1, .sockets = {}};
  joined.sockets.emplace_back(fcntl(descriptors().all[6].get(), F_DUPFD_CLOEXEC, 0));
  const wire::Address here = address(0);
  port.open(std::move(joined), {&here, 1}, status, OneCopy::measured, 0);
  for (int most = 8; most > 0 && !choices.over(); --most) {
    const Said said = something(choices);
    say(hostile.get(), said.message, said.text, said.given, said.cut);
  }
  shutdown(hostile.get(), SHUT_WR);
  std::bitset<256> met;
  const auto meet = [&](Incoming& in) {
    const auto lane = static_cast<std::uint8_t>(in.message.local_peer.lane_number);
    const bool whole =
        in.message.code == 0 && in.descriptors.size() == 3 && has_for_ever(in.descriptors[0].get(), sizeof(Channel)) &&
        has_for_ever(in.descriptors[1].get(), sizeof(SharedStatus)) && is_wake_up(in.descriptors[2].get());
    const bool gone = in.message.code == 0 && in.descriptors.empty();
    port.on_met(in);
    if (whole) met.set(lane);
    if (gone) met.reset(lane);
    require(port.local_peers() == met.count(), "somebody was met who should not be");
  };
  Message question(Topic::meet);
  question.local_peer = {.address = address(0), .lane_number = some_number(choices), .versions = {}};
  const Topic topic = choices.one_in(2) ? Topic::met : Topic::bound;
  if (auto in = client.call(question, topic)) {
    require(in->message.topic == topic, "an answer to another question");
    if (topic == Topic::met) {
      require(in->message.local_peer.lane_number == question.local_peer.lane_number, "an answer about another");
      meet(*in);
    }
  }
  if (auto in = client.hear_only(Topic::met)) {
    require(in->message.topic == Topic::met, "something else was heard");
    meet(*in);
  }
  while (!client.over()) {  // nothing is heard of what is no message
    auto in = client.hear();
    if (!in) continue;
    if (in->message.topic == Topic::met) meet(*in);
    const auto bytes = std::as_bytes(std::span(in->text.data(), in->text.size()));
    std::span<const std::byte> mad;
    if (in->message.topic != Topic::datagram || wire::is_mixed(in->message.flow)) continue;
    if (parse_gsi(in->message.flow, bytes, mad) == Refusal::none) require(mad.size() == wire::kMadBytes, "half a MAD");
  }
}

std::bitset<96> open_descriptors() {
  std::bitset<96> out;
  for (std::size_t fd = 0; fd < out.size(); ++fd) out[fd] = fcntl(static_cast<int>(fd), F_GETFD) >= 0;
  return out;
}

void run(FuzzBytes choices) {
  (void)descriptors();
  const auto before = open_descriptors();
  choices.one_in(4) ? attack_lane(choices) : attack_broker(choices);
  require(open_descriptors() == before, "no descriptor is left");
}

}  // namespace
}  // namespace weft::real

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  weft::real::run({data, size});
  return 0;
}
