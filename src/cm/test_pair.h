// For tests only: two connection managers and a channel between them that loses, repeats or delays what it is told to.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cm/manager.h"

namespace weft::cm::test {

inline constexpr auto kA = wire::Address::v4(10, 0, 0, 1), kB = wire::Address::v4(10, 0, 0, 2);
inline constexpr std::uint64_t kService = wire::cm_service_id(wire::PortSpace::tcp, 7471);
inline constexpr std::uint64_t kDatagramService = wire::cm_service_id(wire::PortSpace::udp, 7471);
inline constexpr Time kFlight = microseconds(10);

class Seeded : public RandomNumbers {
 public:
  explicit Seeded(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() override {
    std::uint64_t z = (state_ += 0x9E37'79B9'7F4A'7C15);
    z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
    z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

inline std::vector<std::byte> bytes(std::string_view text) {
  std::vector<std::byte> out;
  for (const char c : text) out.push_back(static_cast<std::byte>(c));
  return out;
}

inline std::string text_of(const CmEvent& event) {
  std::string out;
  for (std::size_t i = 0; i < event.private_bytes && event.private_data[i] != std::byte{0}; ++i) {
    out += static_cast<char>(event.private_data[i]);
  }
  return out;
}

inline std::string name(Happening what) {
  constexpr const char* kNames[] = {"request",      "response",      "established",     "rejected",      "unreachable",
                                    "disconnected", "timewait_over", "service_request", "service_answer"};
  return kNames[static_cast<std::size_t>(what)];
}

// What happens to the n-th datagram sent, counted over both directions.
struct Fault {
  enum class Kind : std::uint8_t { none, lose, repeat, repeat_late, delay } kind = Kind::none;
  std::size_t nth = 0;
  Time late = 0;
};

class Pair {
 public:
  // What the users of the two managers do when something happens to them.
  using Reaction = std::function<void(Pair&, Manager&, const CmEvent&)>;

  explicit Pair(Fault fault = {}, ManagerSettings settings = {})
      : a(of(settings, 1), chance_a), b(of(settings, 2), chance_b), fault_(fault) {}
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  [[nodiscard]] ConnectCall call(std::span<const std::byte> data = {}) const {
    return {.path = {.local = kA, .remote = kB, .mtu = 5},
            .service_id = kService,
            .addresses = {.source_port = 33'000, .source = kA, .destination = kB},
            .side = {.qpn = wire::Qpn(0x1234),
                     .starting_psn = wire::Psn(77),
                     .responder_resources = 3,
                     .initiator_depth = 4,
                     .retry_count = 7,
                     .rnr_retry_count = 6},
            .private_data = data};
  }

  // Carries datagrams and time until nothing is left to happen, or until `until`.
  void run(Time until = seconds(600)) {
    flush();
    for (int steps = 0; steps < 100'000; ++steps) {
      const Time arrival = channel_.empty() ? kNever : channel_.begin()->first;
      const Time next = std::min({arrival, a.next_deadline(), b.next_deadline()});
      if (next > until) return;
      now = next;
      if (arrival == next) {
        const Datagram datagram = channel_.begin()->second;
        channel_.erase(channel_.begin());
        if (datagram.to == kB) {
          b.on_datagram(datagram.from, datagram.to, datagram.bytes, now, from_b);
        } else {
          a.on_datagram(datagram.from, datagram.to, datagram.bytes, now, from_a);
        }
      }
      a.on_time(now, from_a);
      b.on_time(now, from_b);
      flush();
    }
    FAIL() << "no end in sight";
  }

  // Takes what the managers want done: datagrams into the channel, events to the users.
  void flush() {
    while (!from_a.datagrams.empty() || !from_a.events.empty() || !from_b.datagrams.empty() || !from_b.events.empty()) {
      take(a, from_a, a_events, on_a);
      take(b, from_b, b_events, on_b);
    }
  }

  [[nodiscard]] std::vector<std::string> names(const std::vector<CmEvent>& events) const {
    std::vector<std::string> out;
    for (const CmEvent& event : events) out.push_back(name(event.what));
    return out;
  }

  Seeded chance_a{1}, chance_b{2};
  Manager a, b;
  ManagerEffects from_a, from_b;
  std::vector<CmEvent> a_events, b_events;
  Reaction on_a, on_b;
  Time now = seconds(1);
  std::size_t sent = 0;
  std::vector<Datagram> log;
  std::function<bool(const Datagram&)> lose;  // besides the fault

 private:
  static ManagerSettings of(ManagerSettings settings, std::uint8_t id_prefix) {
    settings.id_prefix = id_prefix;
    settings.guid = id_prefix;
    return settings;
  }
  void take(Manager& manager, ManagerEffects& effects, std::vector<CmEvent>& kept, const Reaction& react) {
    const ManagerEffects taken = std::exchange(effects, {});
    for (const Datagram& datagram : taken.datagrams) carry(datagram);
    for (const CmEvent& event : taken.events) {
      kept.push_back(event);
      if (react) react(*this, manager, event);
    }
  }
  void carry(const Datagram& datagram) {
    log.push_back(datagram);
    const bool chosen = sent++ == fault_.nth;
    const Fault::Kind kind = chosen ? fault_.kind : Fault::Kind::none;
    if (kind == Fault::Kind::lose || (lose && lose(datagram))) return;
    channel_.emplace(now + kFlight + (kind == Fault::Kind::delay ? fault_.late : 0), datagram);
    if (kind == Fault::Kind::repeat) channel_.emplace(now + kFlight, datagram);
    if (kind == Fault::Kind::repeat_late) channel_.emplace(now + kFlight + fault_.late, datagram);
  }

  Fault fault_;
  std::multimap<Time, Datagram> channel_;
};

}  // namespace weft::cm::test
