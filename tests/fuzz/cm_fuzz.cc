// A connection manager, a user who calls it in any order, and two hosts that send it anything: forged, repeated,
// damaged and out of place, while time passes. Whatever they do, these hold:
//   * one datagram causes one at most, to where it came from; two if it tells that a connection is stale;
//   * what is refused causes no event, and no event is of an id that the user does not have;
//   * the events of an id come in an order that a program can follow, and calls succeed only where they make sense;
//   * what the manager says is well formed;
//   * there are never more connections than it may have, and it is not called again for what is over;
//   * when the user has released all its ids, nothing is left ten minutes later;
//   * a connection with a host that takes no part is as it was.
#include <array>
#include <map>
#include <vector>

#include "cm/manager.h"
#include "fuzz_bytes.h"

namespace weft::cm {
namespace {

using fuzz::FuzzBytes;
using fuzz::require;

constexpr std::array kOurs{wire::Address::v4(10, 0, 0, 1), wire::Address::v4(10, 0, 0, 2)};
constexpr std::array kAttackers{wire::Address::v4(10, 0, 0, 3), wire::Address::v4(10, 0, 0, 4)};
constexpr auto kBystander = wire::Address::v4(10, 0, 0, 5);
constexpr std::array kServices{wire::cm_service_id(wire::PortSpace::tcp, 7471),
                               wire::cm_service_id(wire::PortSpace::udp, 7471), std::uint64_t{0}};
constexpr Id kBystandersId = 0x77;
constexpr wire::Qpn kBystandersQpn(0x777), kOurQpn(0x123);

class Counting final : public RandomNumbers {
 public:
  std::uint64_t next() override { return state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL; }

 private:
  std::uint64_t state_ = 1;
};

// What a user knows of an id.
enum class Phase : std::uint8_t {
  asking,    // connect() was called
  answered,  // `response` has come
  asked,     // `request` has come
  accepted,
  up,
  ending,   // disconnect() was called
  closing,  // `disconnected` has come, or `rejected` for what was up
  asking_service,
  asked_for_service,
  over,
};

struct Step {
  Happening what{};
  Phase from{}, to{};
};
constexpr Step kSteps[] = {
    {Happening::response, Phase::asking, Phase::answered},
    {Happening::established, Phase::accepted, Phase::up},
    {Happening::rejected, Phase::asking, Phase::over},
    {Happening::rejected, Phase::asked, Phase::over},
    {Happening::rejected, Phase::accepted, Phase::over},
    {Happening::rejected, Phase::answered, Phase::closing},
    {Happening::rejected, Phase::up, Phase::closing},
    {Happening::unreachable, Phase::asking, Phase::over},
    {Happening::unreachable, Phase::accepted, Phase::over},
    {Happening::unreachable, Phase::asking_service, Phase::over},
    {Happening::disconnected, Phase::accepted, Phase::closing},
    {Happening::disconnected, Phase::up, Phase::closing},
    {Happening::disconnected, Phase::ending, Phase::closing},
    {Happening::timewait_over, Phase::closing, Phase::over},
    {Happening::service_answer, Phase::asking_service, Phase::over},
};

class Attack {
 public:
  explicit Attack(FuzzBytes& choices) : choices_(choices), settings_(settings(choices)), manager_(settings_, chance_) {
    listeners_.push_back(manager_.listen(kServices[0], kOurs[0], 4));
    listeners_.push_back(manager_.listen(kServices[1], {}, 2, ServiceKind::datagram));
    connect_bystander();
  }

  void step() {
    switch (choices_.next(16)) {
      case 0: return pass_time();
      case 1: return begin();
      case 2: return change_listeners();
      case 3:
      case 4:
      case 5:
      case 6: return call();
      default: return datagram();
    }
  }

  void finish() {
    ManagerEffects out;
    const Refused refused =
        send(kBystander, kOurs[0],
             {.transaction = 3,
              .body = wire::CmDreq{.local_id = kBystandersId, .remote_id = bystander_, .remote_qpn = kOurQpn}},
             out);
    require(refused == Refused::none && out.datagrams.size() == 1 && out.events.size() == 1 &&
                out.events[0].what == Happening::disconnected && out.events[0].id == bystander_,
            "the bystander cannot disconnect");
    ManagerEffects last;
    while (!phases_.empty()) {
      manager_.release(phases_.begin()->first, now_, last);
      phases_.erase(phases_.begin());
    }
    require(last.events.empty(), "an event of an id that was released");
    const Time until = now_ + seconds(600);
    while (manager_.next_deadline() <= until) {
      now_ = std::max(now_, manager_.next_deadline());
      ManagerEffects late;
      manager_.on_time(now_, late);
      require(late.events.empty(), "an event although nobody has an id");
      require(manager_.next_deadline() > now_, "a deadline that has passed");
    }
    require(manager_.connections() == 0, "something is remembered for long, although nobody has an id");
    require(manager_.next_deadline() == kNever, "a deadline of nothing");
  }

 private:
  static ManagerSettings settings(FuzzBytes& choices) {
    return {.id_prefix = 5,
            .guid = 7,
            .listener_patience = choices.one_in(2) ? 0 : seconds(1),
            .max_connections = 1 + choices.next(12),
            .max_backlog = 8};
  }

  void connect_bystander() {
    ManagerEffects out;
    wire::CmReq req{.local_id = kBystandersId,
                    .service_id = kServices[0],
                    .qpn = kBystandersQpn,
                    .mtu = 3,
                    .max_cm_retries = 3,
                    .primary = {.ack_timeout = 10}};
    wire::IpCmHeader{.source = kBystander, .destination = kOurs[0]}.encode(
        std::span(req.private_data).first<wire::IpCmHeader::kBytes>());
    (void)send(kBystander, kOurs[0], {.transaction = 1, .body = req}, out);
    require(out.events.size() == 1, "the bystander is not heard");
    bystander_ = out.events[0].id;
    require(manager_.accept(bystander_, {.qpn = kOurQpn}, {}, now_, out) == Answer::ok, "nobody can be accepted");
    const wire::CmRtu rtu{.local_id = kBystandersId, .remote_id = bystander_};
    require(send(kBystander, kOurs[0], {.transaction = 1, .body = rtu}, out) == Refused::none, "no RTU is heard");
    phases_[bystander_] = Phase::up;
  }

  Refused send(const wire::Address& from, const wire::Address& to, const wire::CmMessage& message,
               ManagerEffects& out) {
    std::array<std::byte, wire::kMadBytes> mad{};
    wire::encode_cm(message, mad);
    return manager_.on_datagram(from, to, mad, now_, out);
  }

  // ---- what can happen

  void pass_time() {
    const Time next = manager_.next_deadline();
    const bool sleeps = choices_.one_in(2) && next != kNever;
    now_ = std::max(now_, sleeps ? next : now_ + static_cast<Time>(choices_.next(1ULL << 40)) * 64);
    ManagerEffects out;
    manager_.on_time(now_, out);
    require(manager_.next_deadline() > now_, "a deadline that has passed");
    take(out);
  }

  void begin() {
    ManagerEffects out;
    Id id = 0;
    const Path path{.local = kOurs[choices_.next(2)],
                    .remote = kAttackers[choices_.next(2)],
                    .mtu = static_cast<std::uint8_t>(choices_.next(8)),
                    .ack_timeout = static_cast<std::uint8_t>(choices_.next(32))};
    const bool service = choices_.one_in(4);
    const Answer answer =
        service
            ? manager_.ask_service({.path = path, .service_id = kServices[1], .addresses = {}, .private_data = data()},
                                   now_, out, id)
            : manager_.connect(
                  {.path = path, .service_id = kServices[0], .addresses = {}, .side = side(), .private_data = data()},
                  now_, out, id);
    if (answer == Answer::ok) {
      require(!phases_.contains(id), "an id that is in use was given out");
      phases_[id] = service ? Phase::asking_service : Phase::asking;
    }
    take(out);
  }

  void change_listeners() {
    if (listeners_.size() > 1 && choices_.one_in(2)) {
      const auto gone = listeners_.begin() + static_cast<std::ptrdiff_t>(choices_.next(listeners_.size()));
      manager_.stop_listening(*gone);
      listeners_.erase(gone);
    } else if (listeners_.size() < 4) {
      const bool all = choices_.one_in(2);
      listeners_.push_back(manager_.listen(kServices[choices_.next(kServices.size())],
                                           all ? wire::Address{} : kOurs[choices_.next(2)],
                                           static_cast<int>(choices_.next(12)) - 2,
                                           choices_.one_in(2) ? ServiceKind::connection : ServiceKind::datagram));
    }
  }

  void call() {
    Id id = known_id();
    if (id == bystander_) return;
    const auto found = phases_.find(id);
    const bool owned = found != phases_.end();
    Phase none = Phase::over;
    Phase& phase = owned ? found->second : none;
    const auto is = [&](auto... any) { return owned && ((phase == any) || ...); };
    ManagerEffects out;
    const auto moves = [&](Answer answer, bool may, Phase to) {
      require(answer != Answer::ok || may, "a call that makes no sense succeeded");
      if (answer == Answer::ok) phase = to;
    };
    switch (choices_.next(8)) {
      case 0: moves(manager_.accept(id, side(), data(), now_, out), is(Phase::asked), Phase::accepted); break;
      case 1:
        moves(manager_.reject(id, static_cast<std::uint16_t>(choices_.next(40)), data(), now_, out),
              is(Phase::asked, Phase::answered), Phase::over);
        break;
      case 2: moves(manager_.ready(id, out), is(Phase::answered), Phase::up); break;
      case 3:  // the event says that it is
        require(manager_.established(id, out) != Answer::ok || is(Phase::accepted, Phase::up),
                "established what is not");
        break;
      case 4: moves(manager_.disconnect(id, now_, out), is(Phase::accepted, Phase::up), Phase::ending); break;
      case 5:
        moves(manager_.answer_service(id,
                                      {.status = static_cast<std::uint8_t>(choices_.next(4)),
                                       .qpn = qpn(),
                                       .qkey = wire::Qkey(1),
                                       .private_data = data()},
                                      now_, out),
              is(Phase::asked_for_service), Phase::over);
        break;
      case 6: manager_.noticed(id); break;
      default:
        if (owned) phases_.erase(found);
        manager_.release(id, now_, out);
    }
    take(out);
  }

  void datagram() {
    std::array<std::byte, wire::kMadBytes> mad{};
    if (!heard_.empty() && choices_.one_in(8)) {
      mad = heard_[choices_.next(heard_.size())];
    } else {
      wire::encode_cm({.transaction = choices_.next(4), .body = body()}, mad);
    }
    for (std::uint64_t times = choices_.next(4); times > 1; --times) {
      mad[choices_.next(choices_.one_in(2) ? 80 : mad.size())] = static_cast<std::byte>(choices_.next(256));
    }
    const wire::Address& from = kAttackers[choices_.next(2)];
    const wire::Address& to = kOurs[choices_.next(2)];
    const std::size_t bytes = choices_.one_in(32) ? choices_.next(mad.size() + 1) : mad.size();
    ManagerEffects out;
    const Refused refused = manager_.on_datagram(from, to, std::span(mad).first(bytes), now_, out);
    require(out.datagrams.size() <= (refused == Refused::stale ? 2U : 1U), "a datagram caused several");
    for (const Datagram& answer : out.datagrams) require(answer.to == from, "an answer went to somebody else");
    require(refused == Refused::none || out.events.empty(), "what was refused caused an event");
    take(out);
  }

  // ---- what comes out

  void take(const ManagerEffects& out) {
    require(manager_.connections() <= settings_.max_connections, "too many connections");
    for (const Datagram& datagram : out.datagrams) {
      wire::CmMessage message;
      require(wire::parse_cm(datagram.bytes, message) == weft::Refusal::none, "nonsense was said");
      std::array<std::byte, wire::kMadBytes> again{};
      wire::encode_cm(message, again);
      require(again == datagram.bytes, "something was said that nobody can read");
      remember(datagram, message);
    }
    for (const CmEvent& event : out.events) take(event);
  }

  void take(const CmEvent& event) {
    require(event.id != bystander_, "something happened to the bystander");
    require(event.private_bytes <= event.private_data.size(), "more private data than there is");
    if (event.what == Happening::request || event.what == Happening::service_request) {
      require(!phases_.contains(event.id), "a request by an id that is in use");
      phases_[event.id] = event.what == Happening::request ? Phase::asked : Phase::asked_for_service;
      return;
    }
    const auto found = phases_.find(event.id);
    require(found != phases_.end(), "an event of an id that nobody has");
    for (const Step& step : kSteps) {
      if (step.what != event.what || step.from != found->second) continue;
      found->second = step.to;
      return;
    }
    require(false, "an event that does not follow from those before");
  }

  void remember(const Datagram& datagram, const wire::CmMessage& message) {
    if (heard_.size() < 16) heard_.push_back(datagram.bytes);
    std::visit(
        [&](const auto& body) {
          if constexpr (requires { body.local_id; }) ids_[ids_seen_++ % ids_.size()] = body.local_id;
          if constexpr (std::is_same_v<std::decay_t<decltype(body)>, wire::CmSidrReq>) {
            ids_[ids_seen_++ % ids_.size()] = body.request_id;
          }
        },
        message.body);
  }

  // ---- choices

  [[nodiscard]] Id known_id() {
    if (choices_.one_in(16)) return static_cast<Id>(choices_.next(1ULL << 32));
    if (phases_.empty()) return 0;
    auto it = phases_.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(choices_.next(phases_.size())));
    return it->first;
  }
  [[nodiscard]] Id their_id() { return static_cast<Id>(choices_.next(5)); }
  [[nodiscard]] Id our_id() {
    if (choices_.one_in(16)) return 0;
    return choices_.one_in(2) ? known_id() : ids_[choices_.next(ids_.size())];
  }
  [[nodiscard]] wire::Qpn qpn() {
    constexpr std::uint32_t kNumbers[] = {0, 1, 2, 3, 0x123, 0x777, 0xFF'FFFF, 0x80'0000};
    return wire::Qpn(kNumbers[choices_.next(std::size(kNumbers))]);
  }
  [[nodiscard]] QpParameters side() {
    return {.qpn = qpn(),
            .starting_psn = wire::Psn(5),
            .responder_resources = static_cast<std::uint8_t>(choices_.next(256)),
            .initiator_depth = 1,
            .retry_count = static_cast<std::uint8_t>(choices_.next(256)),
            .rnr_retry_count = 7};
  }
  [[nodiscard]] std::span<const std::byte> data() {
    static constexpr std::array<std::byte, 256> kData{std::byte{1}, std::byte{2}};
    return std::span(kData).first(choices_.one_in(4) ? choices_.next(256) : choices_.next(57));
  }
  [[nodiscard]] wire::CmAbout about() { return static_cast<wire::CmAbout>(choices_.next(4)); }
  [[nodiscard]] std::uint8_t exponent() { return static_cast<std::uint8_t>(choices_.next(32)); }

  [[nodiscard]] wire::CmReq request() {
    wire::CmReq req{.local_id = their_id(),
                    .service_id = kServices[choices_.next(kServices.size())],
                    .qpn = qpn(),
                    .transport = static_cast<std::uint8_t>(choices_.next(8) / 2),
                    .local_response_timeout = exponent(),
                    .mtu = static_cast<std::uint8_t>(choices_.one_in(8) ? choices_.next(16) : 3),
                    .max_cm_retries = static_cast<std::uint8_t>(choices_.next(16)),
                    .primary = {.ack_timeout = exponent()}};
    wire::IpCmHeader{.source = kAttackers[0], .destination = kOurs[choices_.next(2)]}.encode(
        std::span(req.private_data).first<wire::IpCmHeader::kBytes>());
    return req;
  }
  [[nodiscard]] wire::CmSidrReq service_request() {
    wire::CmSidrReq req{.request_id = their_id(), .service_id = kServices[choices_.next(kServices.size())]};
    wire::IpCmHeader{.source = kAttackers[0], .destination = kOurs[choices_.next(2)]}.encode(
        std::span(req.private_data).first<wire::IpCmHeader::kBytes>());
    return req;
  }
  [[nodiscard]] wire::CmBody body() {
    switch (choices_.next(13)) {
      case 0:
        return wire::CmMra{
            .local_id = their_id(), .remote_id = our_id(), .about = about(), .service_timeout = exponent()};
      case 1:
        return wire::CmRej{.local_id = their_id(),
                           .remote_id = our_id(),
                           .about = about(),
                           .reason = static_cast<std::uint16_t>(choices_.next(40))};
      case 2:
      case 3: return wire::CmRep{.local_id = their_id(), .remote_id = our_id(), .qpn = qpn()};
      case 4: return wire::CmRtu{.local_id = their_id(), .remote_id = our_id()};
      case 5: return wire::CmDreq{.local_id = their_id(), .remote_id = our_id(), .remote_qpn = qpn()};
      case 6: return wire::CmDrep{.local_id = their_id(), .remote_id = our_id()};
      case 7: return service_request();
      case 8:
        return wire::CmSidrRep{.request_id = our_id(),
                               .status = static_cast<std::uint8_t>(choices_.next(4)),
                               .qpn = qpn(),
                               .service_id = kServices[choices_.next(kServices.size())]};
      case 9: return wire::CmLap{.local_id = their_id(), .remote_id = our_id()};
      case 10: return wire::CmApr{.local_id = their_id(), .remote_id = our_id()};
      default: return request();
    }
  }

  FuzzBytes& choices_;
  Counting chance_;
  ManagerSettings settings_;
  Manager manager_;
  Time now_ = seconds(1);
  Id bystander_ = 0;
  std::vector<ListenerId> listeners_;
  std::map<Id, Phase> phases_;  // of the ids that the user has
  std::vector<std::array<std::byte, wire::kMadBytes>> heard_;
  std::array<Id, 8> ids_{};
  std::size_t ids_seen_ = 0;
};

}  // namespace
}  // namespace weft::cm

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  weft::fuzz::FuzzBytes choices(data, size);
  weft::cm::Attack attack(choices);
  while (!choices.over()) attack.step();
  attack.finish();
  return 0;
}
