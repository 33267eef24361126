#include "world/real/broker/broker.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "world/real/broker/broker_place.h"
#include "world/real/broker/conversation.h"
#include "world/real/broker/gsi_desk.h"
#include "world/real/broker/lane_numbers.h"
#include "world/real/broker/services.h"
#include "world/real/broker/socket_groups.h"
#include "world/real/os/clock.h"
#include "world/real/os/mapping.h"
#include "world/real/os/socket_address.h"
#include "world/real/os/time.h"
#include "world/real/os/wake_up.h"
#include "world/real/settings/address_text.h"
#include "world/real/shm/shared_page.h"

namespace weft::real {
namespace {

constexpr Time kLinger = seconds(1);               // a program that starts right after the last one finds a broker
constexpr std::size_t kMaxMembers = 1024;          // lanes and commands together
constexpr int kMessages = 64;                      // of one member, before others are heard
constexpr rlim_t kReserve = 256;                   // descriptors: for a lane that comes
constexpr Time kNoDescriptors = milliseconds(20);  // for so long those who call wait, when there is none left for them

// The next broker knows nothing of the lane numbers that have no owner any more.
static_assert(kLinger >= kNumberRests);

struct Member {
  std::uint64_t id = 0;
  pid_t process = 0;  // as this broker sees it
  Conversation talk;
  std::uint8_t lane_number = 0;  // 0: not a lane, or not yet
  Hello hello{};
  Descriptor shared_status, wake;
  std::bitset<128> untold;  // lane numbers whose lanes have left: it was not to be told, as it reads nothing
};

constexpr std::array kPorts{wire::UdpPort::roce, wire::UdpPort::stateless, wire::UdpPort::stateful};

using Places = std::pair<std::uint8_t, std::uint8_t>;  // of two lanes, the lower one first

class Broker {
 public:
  explicit Broker(BrokerListener listener) : listener_(std::move(listener)), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    watch(listener_.fd(), kListener);
  }

  void run() {
    Time idle_since = clock_now();
    for (;;) {
      turn(deaf_since_ == 0 ? milliseconds(200) : kNoDescriptors);
      if (!listener_.is_found()) listen_elsewhere();
      if (!members_.empty()) idle_since = clock_now();
      if (clock_now() - idle_since > kLinger) return;
    }
  }

  // Serves whoever has something to say, and waits for that so long at most.
  void turn(Time patience) {
    std::array<epoll_event, 64> events{};
    const int n = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                             static_cast<int>(patience / milliseconds(1)));
    for (int i = 0; i < n; ++i) serve(events[static_cast<std::size_t>(i)].data.u64);
    if (deaf_since_ != 0 && clock_now() - deaf_since_ >= kNoDescriptors) listen_again();
    if (owes_news_) tell_all_of_departures();
  }

 private:
  // Between them stand the ids of groups; members count up from theirs.
  static constexpr std::uint64_t kListener = 0, kMembers = SocketGroups::kEnd;

  void watch(int fd, std::uint64_t what) {
    epoll_event e{};
    e.events = EPOLLIN;
    e.data.u64 = what;
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &e);
  }

  void serve(std::uint64_t what) {
    if (what == kListener) return accept_all();
    if (what < kMembers) {
      if (SocketGroups::Group* const group = groups_.find(what); group != nullptr) serve_group(*group);
      return;
    }
    const auto it = members_.find(what);
    if (it == members_.end()) return;
    Member& member = *it->second;
    for (int budget = kMessages; budget > 0; --budget) {
      auto in = member.talk.hear();
      if (!in) break;
      hear(member, *in);
    }
    if (member.talk.over()) leave(it->first);
  }

  void accept_all() {
    for (;;) {
      Descriptor socket(accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket) {
        if (is_short_of_descriptors(errno) || errno == ENOBUFS || errno == ENOMEM) be_deaf();
        return;
      }
      ucred other{};
      socklen_t bytes = sizeof other;
      const bool known = getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &other, &bytes) == 0;
      if (!known || (other.uid != geteuid() && other.uid != 0) || members_.size() >= kMaxMembers) continue;
      if (is_one_of_the_last(socket.get())) let_go_of_channels();
      const std::uint64_t id = next_member_++;
      watch(socket.get(), id);
      auto member = std::make_unique<Member>();
      member->id = id;
      member->process = other.pid;
      member->talk = Conversation(std::move(socket));
      members_.emplace(id, std::move(member));
    }
  }

  // A lane brings two more, and wants sockets. The kernel gives the lowest number that is free.
  static bool is_one_of_the_last(int fd) {
    rlimit limit{};
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && static_cast<rlim_t>(fd) + kReserve >= limit.rlim_cur;
  }

  // Who calls stays in the listener's queue, and that would wake us again and again.
  void be_deaf() {
    let_go_of_channels();
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_.fd(), nullptr);
    deaf_since_ = clock_now();
  }
  void listen_again() {
    deaf_since_ = 0;
    watch(listener_.fd(), kListener);
  }
  // Its socket's name is gone: those who come would start another broker, which could not have our addresses.
  void listen_elsewhere() {
    listener_.release();
    auto next = BrokerListener::take();
    if (!next) return;
    listener_ = std::move(*next);
    if (deaf_since_ == 0) watch(listener_.fd(), kListener);
  }

  void hear(Member& from, Incoming& in) {
    const Message& m = in.message;
    switch (m.topic) {
      case Topic::hello: return welcome(from, in);
      case Topic::play: return play(from, m.roles);
      case Topic::bind: return bind(from, m.service);
      case Topic::release:
        return services_.release(from.lane_number, m.service.space, m.service.address, m.service.port);
      case Topic::listen:
        return services_.listen(from.lane_number, m.service.space, m.service.address, m.service.port,
                                m.service.on != 0);
      case Topic::consult: return consult(from, m.local_peer);
      case Topic::meet: return introduce(from, m.local_peer);
      case Topic::datagram: return hand_on(m.flow, in.text);
      case Topic::list: return list(from);
      case Topic::ask: return ask(from, m.ticket.lane_number, in.text);
      case Topic::answer: return answer(m, in.text);
      default: return;
    }
  }

  // ---- joining and leaving -----------------------------------------------------------------------------------------

  static bool is_sound(const Incoming& in) {
    const Hello& h = in.message.hello;
    return h.address_count > 0 && h.address_count <= kMaxAddresses && in.descriptors.size() == 2 &&
           has_for_ever(in.descriptors[0].get(), sizeof(SharedStatus)) && is_wake_up(in.descriptors[1].get());
  }

  // Why this lane cannot join, before anything is given to it.
  static std::optional<Trouble> objection_to(const Member& member, const Incoming& in, std::uint8_t lane_number) {
    if (in.message.hello.version != kProtocolVersion) {
      return Trouble{EPROTO, "the broker that runs is of another version of Weft: end the programs that use it first"};
    }
    if (in.lacks_descriptors) return too_many_files();
    if (lane_number == 0) return Trouble{ENOSPC, "all 126 lane numbers of this network namespace are taken"};
    if (!is_sound(in) || member.lane_number != 0) return Trouble{EINVAL, "not a sound greeting"};
    return std::nullopt;
  }
  static void refuse(const Member& member, const Trouble& why) {
    Message reply(Topic::welcome);
    reply.code = why.code;
    member.talk.say(reply, why.what);
  }

  void welcome(Member& member, Incoming& in) {
    const Hello& hello = in.message.hello;
    const std::uint8_t lane_number = number_for(in.message.code);
    if (const auto why = objection_to(member, in, lane_number)) return refuse(member, *why);
    const auto ports = std::span(kPorts).first(hello.roles.any() ? kPorts.size() : 1);
    auto given = groups_.sockets_of(addresses_of(hello), ports, lane_number);
    if (!given) return refuse(member, perhaps_later(std::move(given.error())));
    const Descriptor number_lock = listener_.lock_number(lane_number, member.process);
    if (!number_lock && is_short_of_descriptors(errno)) return refuse(member, too_many_files());
    SocketGroups::admit(*given, ports, lane_number);
    if (number_lock) given->push_back(number_lock.get());
    member.hello = hello;
    member.lane_number = lane_number;
    member.shared_status = std::move(in.descriptors[0]);
    member.wake = std::move(in.descriptors[1]);
    by_number_[lane_number] = &member;
    Message reply(Topic::welcome);
    reply.lane_number = lane_number;
    member.talk.say(reply, {}, *given);
  }
  // Lanes that have lost their broker keep their addresses until they come back. Whoever runs does, however late.
  [[nodiscard]] Trouble perhaps_later(Trouble why) const {
    if (why.code == EADDRINUSE && somebody_comes_back()) why.code = EAGAIN;
    return why;
  }
  [[nodiscard]] bool somebody_comes_back() const {
    for (std::uint8_t number = wire::kFirstLane; number <= wire::kLastLane; ++number) {
      if (by_number_[number] == nullptr && listener_.is_owner_running(number)) return true;
    }
    return false;
  }
  // The lane with this number; with 0 any.
  [[nodiscard]] bool may_come_back(std::uint32_t lane_number) const {
    if (lane_number == 0) return somebody_comes_back();
    return lane_number <= wire::kLastLane && by_number_[lane_number] == nullptr &&
           listener_.is_owner_running(static_cast<std::uint8_t>(lane_number));
  }
  static std::span<const wire::Address> addresses_of(const Hello& hello) {
    return std::span(hello.addresses).first(hello.address_count);
  }

  // A lane that speaks StaR from now on.
  void play(Member& member, wire::StarRoles roles) {
    Message reply(Topic::playing);
    reply.code = EINVAL;
    if (member.lane_number == 0 || !roles.any()) return (void)member.talk.say(reply, "not a lane, or no role");
    const auto ports = std::span(kPorts).subspan(1);
    const auto given = groups_.sockets_of(addresses_of(member.hello), ports, member.lane_number);
    reply.code = given ? 0 : given.error().code;
    if (!given) return (void)member.talk.say(reply, given.error().what);
    SocketGroups::admit(*given, ports, member.lane_number);
    member.hello.roles.bits |= roles.bits;
    member.talk.say(reply, {}, *given);
  }

  // A lane that had a lane number before has it in its queue pair numbers: that one, or none. Nobody else gets it while
  // that lane exists, though it may be stopped, and not have come back since the last broker was killed.
  [[nodiscard]] std::uint8_t number_for(int had) {
    const auto is_here = [&](std::size_t number) { return by_number_[number] != nullptr; };
    if (had >= wire::kFirstLane && had <= wire::kLastLane) {
      return is_here(static_cast<std::size_t>(had)) ? 0 : static_cast<std::uint8_t>(had);
    }
    std::size_t lanes = 0;
    for (const Member* member : by_number_) lanes += member != nullptr ? 1 : 0;
    return numbers_.choose(clock_now(), lanes,
                           [&](std::uint8_t number) { return is_here(number) || listener_.is_number_locked(number); });
  }

  void leave(std::uint64_t id) {
    Member& member = *members_.at(id);
    if (const std::uint8_t lane_number = member.lane_number; lane_number != 0) {
      services_.forget(lane_number);
      by_number_[lane_number] = nullptr;
      numbers_.rest(clock_now(), lane_number);
      std::erase_if(channels_,
                    [&](const auto& c) { return c.first.first == lane_number || c.first.second == lane_number; });
      for (const auto& [other_id, other] : members_) {
        if (other->lane_number != 0 && other_id != id) other->untold.set(lane_number);
      }
      groups_.close_door(lane_number);
      tell_all_of_departures();
      for (GsiDatagram& d : desk_.last_words(lane_number)) send(d);
    }
    members_.erase(id);
    groups_.keep([&](const wire::Address& address) { return is_used(address); });
  }

  void tell_all_of_departures() {
    owes_news_ = false;
    for (const auto& [id, member] : members_) owes_news_ |= !tell_of_departures(*member);
  }
  // False: not now.
  static bool tell_of_departures(Member& member) {
    for (std::uint8_t lane_number = wire::kFirstLane; lane_number <= wire::kLastLane && member.untold.any();
         ++lane_number) {
      Message gone(Topic::met);  // without descriptors: no longer there
      gone.local_peer.lane_number = lane_number;
      if (member.untold[lane_number] && !member.talk.say(gone)) return false;
      member.untold.reset(lane_number);
    }
    return true;
  }

  // An address that no lane has any more is let go, with all its sockets.
  [[nodiscard]] bool is_used(const wire::Address& address) const {
    for (const Member* member : by_number_) {
      if (member == nullptr) continue;
      for (std::uint32_t i = 0; i < member->hello.address_count; ++i) {
        if (member->hello.addresses[i] == address) return true;
      }
    }
    return false;
  }

  // ---- ports and local peers ----------------------------------------------------------------------------------------

  void bind(Member& member, const BoundPort& wanted) {
    Message reply(Topic::bound);
    reply.service = wanted;
    const auto port = member.lane_number != 0
                          ? services_.take(member.lane_number, wanted.space, wanted.address, wanted.port)
                          : tl::unexpected(EADDRINUSE);
    reply.code = port ? 0 : port.error();
    reply.service.port = port.value_or(0);
    member.talk.say(reply);
  }

  [[nodiscard]] Member* member_at(const wire::Address& address, std::uint32_t lane_number) {
    Member* member = lane_number < by_number_.size() ? by_number_[lane_number] : nullptr;
    if (member == nullptr) return nullptr;
    for (std::uint32_t i = 0; i < member->hello.address_count; ++i) {
      if (member->hello.addresses[i] == address) return member;
    }
    return nullptr;
  }

  [[nodiscard]] Member* anybody_at(const wire::Address& address) {
    for (std::uint32_t lane_number = wire::kFirstLane; lane_number <= wire::kLastLane; ++lane_number) {
      if (Member* member = member_at(address, lane_number); member != nullptr) return member;
    }
    return nullptr;
  }

  void consult(Member& asker, const LocalPeerInfo& about) {
    Message reply(Topic::consulted);
    reply.local_peer = about;
    const Member* other =
        about.lane_number == 0 ? anybody_at(about.address) : member_at(about.address, about.lane_number);
    reply.code = other != nullptr ? 0 : may_come_back(about.lane_number) ? EAGAIN : EHOSTUNREACH;
    if (other != nullptr) {
      reply.local_peer.versions = other->hello.versions;
      reply.local_peer.roles = other->hello.roles;
      reply.local_peer.connections = connections_of(*other);
    }
    asker.talk.say(reply);
  }

  // As the lane has written it to its status page.
  static std::uint32_t connections_of(const Member& member) {
    std::uint32_t count = 0;
    return read_shared(member.shared_status.get(), offsetof(SharedStatus, connections), count) ? count : 0;
  }

  void introduce(Member& asker, const LocalPeerInfo& wanted) {
    Member* other = member_at(wanted.address, wanted.lane_number);
    if (other != nullptr && asker.lane_number != 0 && acquaint(asker, *other, wanted)) return;
    Message reply(Topic::met);
    reply.local_peer = wanted;
    reply.code = EHOSTUNREACH;
    asker.talk.say(reply);
  }

  // Both lanes are told, or neither: who writes into a ring that nobody reads loses all that it sends. One who does not
  // take what we say may do so later; until then they have UDP.
  [[nodiscard]] bool acquaint(Member& asker, Member& other, const LocalPeerInfo& wanted) {
    // The last one at a lane number must have gone before another is met there.
    if (!tell_of_departures(asker) || !tell_of_departures(other)) return false;
    const Places lanes = std::minmax({asker.lane_number, other.lane_number});
    const bool first = !channels_.contains(lanes);
    const auto channel = channel_between(lanes);
    if (!channel) return false;
    Message greeting(Topic::met);
    greeting.local_peer = who_is(asker, asker.hello.addresses[0]);
    const bool greeted = &other == &asker || other.talk.say(greeting, {}, what_to_give(*channel, asker));
    Message reply(Topic::met);
    reply.local_peer = who_is(other, wanted.address);
    const bool both = (greeted || !first) && asker.talk.say(reply, {}, what_to_give(*channel, other));
    if (both || !first) return both;
    channels_.erase(lanes);
    if (greeted && &other != &asker) {
      other.untold.set(asker.lane_number);
      owes_news_ |= !tell_of_departures(other);
    }
    return false;
  }

  static LocalPeerInfo who_is(const Member& member, const wire::Address& address) {
    return {.address = address,
            .lane_number = member.lane_number,
            .versions = member.hello.versions,
            .address_count = member.hello.address_count,
            .addresses = member.hello.addresses};
  }
  static std::vector<int> what_to_give(int channel, const Member& local_peer) {
    if (channel < 0) return {local_peer.shared_status.get(), local_peer.wake.get()};
    return {channel, local_peer.shared_status.get(), local_peer.wake.get()};
  }

  // The descriptor of a channel between two lanes. The first time it is a new channel, later the same one, because one
  // of them may not have been able to take it, for want of descriptors. Below 0: the lanes have the channel, and the
  // broker does not any more. Nothing: no channel can be had.
  [[nodiscard]] std::optional<int> channel_between(const Places& two) {
    const auto [it, fresh] = channels_.try_emplace(two);
    if (!fresh) return it->second.get();
    it->second = make_shared_memory("weft-channel", sizeof(Channel));
    if (!it->second) {
      let_go_of_channels();
      it->second = make_shared_memory("weft-channel", sizeof(Channel));
    }
    if (it->second) return it->second.get();
    channels_.erase(it);
    return std::nullopt;
  }

  // There is one for every two lanes that talk: thousands, and there may be room for hundreds.
  void let_go_of_channels() {
    for (auto& [lanes, channel] : channels_) channel.reset();
  }

  // ---- QP1

  void serve_group(SocketGroups::Group& group) {
    std::array<std::byte, 65536> buffer;
    for (int budget = 256; budget > 0; --budget) {
      SocketAddress from{};
      socklen_t bytes = sizeof from;
      const ssize_t got = recvfrom(group.sockets[0].get(), buffer.data(), buffer.size(), 0, &from.any, &bytes);
      if (got <= 0) return;
      const wire::Flow flow{.source = wire_address(from), .destination = group.address, .source_port = port_of(from)};
      const auto* text = static_cast<const char*>(static_cast<const void*>(buffer.data()));
      receive(flow, {text, static_cast<std::size_t>(got)});
    }
  }

  // A packet for another lane than the one it was steered to goes to the lane whose number it has.
  void hand_on(const wire::Flow& flow, const std::string& datagram) {
    if (datagram.size() < wire::Bth::kBytes) return;
    const std::uint8_t lane_number = wire::lane_number(flow.to, std::as_bytes(std::span(datagram)));
    if (lane_number == 0 && (wire::is_mixed(flow) || flow.to != wire::UdpPort::roce)) return;
    if (lane_number == 0) return receive(flow, datagram);
    if (Member* member = lane_number < by_number_.size() ? by_number_[lane_number] : nullptr; member != nullptr)
      deliver(*member, flow, datagram);
  }
  void deliver(Member& member, const wire::Flow& flow, std::string_view datagram) {
    Message m(Topic::datagram);
    m.flow = flow;
    member.talk.say(m, datagram);
  }
  void receive(const wire::Flow& flow, std::string_view datagram) {
    const GsiDesk::Decision d = desk_.judge(flow, datagram, services_, present_);
    if (d.lane_number != 0 && by_number_[d.lane_number] != nullptr) deliver(*by_number_[d.lane_number], flow, datagram);
    if (d.reply) send(*d.reply);
  }
  void send(const GsiDatagram& d) {
    const SocketGroups::Group* const group = groups_.find(d.flow.source, wire::UdpPort::roce);
    if (group == nullptr) return;
    const SocketAddress to = socket_address(d.flow.destination, wire::kRocePort);
    (void)sendto(group->sockets[0].get(), d.bytes.data(), d.bytes.size(), MSG_DONTWAIT, &to.any, to.bytes());
  }

  // ---- the weft command

  // What a program calls itself is any bytes, perhaps without an end, and JSON is UTF-8: what is not becomes U+FFFD.
  static std::string name_of(const Hello& hello) {
    return {hello.name.data(), strnlen(hello.name.data(), hello.name.size())};
  }
  void list(Member& asker) {
    nlohmann::json lanes = nlohmann::json::array();
    for (const Member* member : by_number_) {
      if (member == nullptr) continue;
      nlohmann::json addresses = nlohmann::json::array();
      for (std::uint32_t i = 0; i < member->hello.address_count; ++i) {
        addresses.push_back(text_of(member->hello.addresses[i]));
      }
      lanes.push_back({{"lane_number", member->lane_number},
                       {"process", member->hello.process},
                       {"program", name_of(member->hello)},
                       {"addresses", addresses},
                       {"srnic", member->hello.versions.highest != 0},
                       {"stateless", member->hello.roles.has(wire::StarRoles::kStateless)},
                       {"stateful", member->hello.roles.has(wire::StarRoles::kStateful)}});
    }
    asker.talk.say(Message(Topic::listed), lanes.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  void ask(Member& asker, std::uint32_t lane_number, const std::string& text) {
    Member* lane = lane_number < by_number_.size() ? by_number_[lane_number] : nullptr;
    Message m(lane != nullptr ? Topic::asked : Topic::answer);
    m.code = lane != nullptr ? 0 : ESRCH;
    m.ticket = {.asker = asker.id, .lane_number = lane_number};
    (lane != nullptr ? lane : &asker)->talk.say(m, text);
  }
  void answer(const Message& m, const std::string& text) {
    const auto it = members_.find(m.ticket.asker);
    if (it != members_.end()) it->second->talk.say(m, text);
  }

  BrokerListener listener_;
  Descriptor epoll_;
  Time deaf_since_ = 0;  // there was no descriptor for the next who called; 0: it listens
  std::map<std::uint64_t, std::unique_ptr<Member>> members_;
  std::uint64_t next_member_ = kMembers;
  std::array<Member*, 128> by_number_{};
  LaneNumbers numbers_;
  SocketGroups groups_{[this](int socket, std::uint64_t id) { watch(socket, id); }};
  std::map<Places, Descriptor> channels_;  // of those who have met
  bool owes_news_ = false;                 // to somebody, of departures
  Services services_;
  GsiDesk desk_;
  const GsiDesk::Present present_{
      .is_there = [this](std::uint8_t lane_number) { return by_number_[lane_number] != nullptr; },
      .spoken =
          [this](const wire::Address& address, std::uint8_t lane_number) {
            const Member* member = member_at(address, lane_number);
            return member != nullptr ? Spoken{member->hello.versions, member->hello.roles, connections_of(*member)}
                                     : Spoken{};
          }};
};

// Three for each lane, and one for each two that talk: more than programs are usually given. The limit that they are
// given is for those who use select(), and the broker does not, nor does it start anybody who might.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

struct BrokerTurns::Inside {
  Broker broker;
};
BrokerTurns::BrokerTurns(Descriptor listener) : inside_(new Inside{Broker(BrokerListener(std::move(listener)))}) {}
BrokerTurns::~BrokerTurns() = default;
void BrokerTurns::turn() { inside_->broker.turn(0); }

int serve_as_broker() {
  std::signal(SIGPIPE, SIG_IGN);
  raise_descriptor_limit();
  auto listener = BrokerListener::take();
  if (!listener) {
    if (listener.error().code == EADDRINUSE) return 0;
    fmt::print(stderr, "weft broker: {}\n", listener.error().what);
    return 1;
  }
  Broker(std::move(*listener)).run();
  return 0;
}

}  // namespace weft::real
