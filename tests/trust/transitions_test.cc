// Every transition of a queue pair with every mask of attributes (checklist 56), against the specification's table (IBA
// 11.2.5.2, table 91, as the Linux verbs have it) written down a second time, attribute by attribute.
#include <sstream>

#include "expect.h"
#include "host/qp_transitions.h"

namespace weft::trust {
namespace {

using host::Error;
using host::QpMask;
using nic::QpState;
using wire::Service;

constexpr QpState kStates[] = {QpState::reset, QpState::init, QpState::rtr,  QpState::rts,
                               QpState::sqd,   QpState::sqe,  QpState::error};
constexpr Service kServices[] = {Service::rc, Service::uc, Service::ud};
constexpr std::string_view kStateNames[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
constexpr std::string_view kAttributes[] = {
    "state",     "current",   "drain",    "rights",     "pkey",        "port",         "qkey",
    "path",      "mtu",       "timeout",  "retries",    "rnr_retries", "receive_psn",  "reads",
    "alternate", "rnr_timer", "send_psn", "peer_reads", "migration",   "capabilities", "peer_qpn"};

// SERVICE FROM TO: what it requires / what it may have besides. What is not here is forbidden.
constexpr std::string_view kSpecification = R"(
  rc,uc,ud RESET,INIT,RTR,RTS,SQD,SQE,ERR RESET : /
  rc,uc,ud INIT,RTR,RTS,SQD,SQE,ERR ERR : /
  rc,uc RESET INIT : pkey port rights /
  ud    RESET INIT : pkey port qkey /
  rc,uc INIT INIT : / pkey port rights
  ud    INIT INIT : / pkey port qkey
  rc    INIT RTR : path mtu peer_qpn receive_psn peer_reads rnr_timer / alternate rights pkey
  uc    INIT RTR : path mtu peer_qpn receive_psn / alternate rights pkey
  ud    INIT RTR : / pkey qkey
  rc    RTR RTS : timeout retries rnr_retries send_psn reads / current alternate rights rnr_timer migration
  uc    RTR RTS : send_psn / current alternate rights migration
  ud    RTR RTS : send_psn / current qkey
  rc    RTS RTS : / current rights alternate migration rnr_timer
  uc    RTS RTS : / current rights alternate migration
  ud    RTS RTS : / current qkey
  rc,uc,ud RTS SQD : / drain
  rc    SQD RTS : / current alternate rights rnr_timer migration
  uc    SQD RTS : / current alternate rights migration
  ud    SQD RTS : / current qkey
  rc    SQD SQD : / port path timeout retries rnr_retries reads peer_reads alternate rights pkey rnr_timer migration
  uc    SQD SQD : / path alternate rights pkey migration
  ud    SQD SQD : / pkey qkey
  uc    SQE RTS : / current rights
  ud    SQE RTS : / current qkey
)";

struct Rule {
  bool valid = false;
  std::uint32_t required = 0, allowed = 0;
};
using Rules = std::array<std::array<std::array<Rule, 7>, 7>, 3>;  // service, from, to

template <std::size_t N>
std::size_t place_of(const std::string_view (&names)[N], std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return i;
  }
  ADD_FAILURE() << "no such word: " << name;
  return 0;
}

std::vector<std::string> split(const std::string& words, char by) {
  std::vector<std::string> out;
  std::istringstream in(words);
  for (std::string word; std::getline(in, word, by);) {
    if (!word.empty()) out.push_back(word);
  }
  return out;
}

Rules read_specification() {
  constexpr std::string_view kServiceNames[] = {"rc", "uc", "ud"};
  Rules rules{};
  for (const std::string& line : split(std::string(kSpecification), '\n')) {
    std::istringstream in(line);
    std::string services, from, to, word;
    if (!(in >> services >> from >> to >> word)) continue;
    Rule rule{.valid = true};
    bool required = true;
    while (in >> word) {
      if (word == "/") {
        required = false;
        continue;
      }
      const std::uint32_t bit = 1U << place_of(kAttributes, word);
      rule.allowed |= bit;
      if (required) rule.required |= bit;
    }
    for (const auto& s : split(services, ',')) {
      for (const auto& f : split(from, ',')) {
        rules[place_of(kServiceNames, s)][place_of(kStateNames, f)][place_of(kStateNames, to)] = rule;
      }
    }
  }
  return rules;
}

const Rules& specification() {
  static const Rules kRules = read_specification();
  return kRules;
}

const Rule& rule(Service service, QpState from, QpState to) {
  const std::size_t s = service == Service::rc ? 0 : service == Service::uc ? 1 : 2;
  return specification()[s][static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
}

Error expected(const Rule& r, std::uint32_t mask) {
  if (!r.valid) return Error::bad_transition;
  if ((mask & r.required) != r.required) return Error::missing_attribute;
  return (mask & ~r.allowed) != 0 ? Error::extra_attribute : Error::none;
}

TEST(TrustTransitions, T56_EveryStateToEveryOtherWithEveryMask) {
  std::uint64_t wrong = 0, allowed = 0;
  for (const Service service : kServices) {
    for (const QpState from : kStates) {
      for (const QpState to : kStates) {
        const Rule r = rule(service, from, to);
        for (std::uint32_t mask = 0; mask < 1U << 21; mask += 2) {  // bit 0, the state itself, does not count
          const Error wanted = expected(r, mask);
          if (host::judge_transition(service, from, to, mask) != wanted) ++wrong;
          if (wanted == Error::none) ++allowed;
        }
        ASSERT_EQ(wrong, 0U) << "service " << int(service) << " " << kStateNames[std::size_t(from)] << " to "
                             << kStateNames[std::size_t(to)];
      }
    }
  }
  EXPECT_GT(allowed, 4096U);
}

TEST(TrustTransitions, T56_StatesThatAreNone) {
  Victim victim;
  Connection c = victim.connect();
  host::QpAttributes a;
  for (unsigned state = 7; state < 256; ++state) {
    a.state = static_cast<QpState>(state);
    ASSERT_EQ(c.qp->modify(a, QpMask::state), Error::invalid_argument) << state;
  }
  EXPECT_TRUE(nothing(victim.settle()));
}

// ---- the real thing ---------------------------------------------------------------------------------------------

Connection brought_to(Victim& victim, Service service, QpState state) {
  if (state != QpState::sqe) return victim.connect({.service = service, .until = state});
  Connection c = victim.connect({.service = service});
  const nic::Sge nowhere{.address = 0, .length = 8, .key = wire::Key(0)};
  host::WorkRequest send{.id = 1, .sges = {&nowhere, 1}};
  send.to.destination = kPeerAddress;
  (void)victim.post(c, send);
  return c;
}

host::QpAttributes good_attributes(QpState from, QpState to) {
  host::QpAttributes a = ConnectOptions{}.attributes;
  a.state = to;
  a.current_state = from;
  return a;
}

// What this device does not have, though the specification allows it.
constexpr std::uint32_t kUnsupported = QpMask::alternate_path | QpMask::migration | QpMask::capabilities;

// Modifies a queue pair that is in state `from`. Expect: this answer, and if it is a refusal, nothing changed.
void modify(Service service, QpState from, QpState to, std::uint32_t mask) {
  SCOPED_TRACE(testing::Message() << "service " << int(service) << " " << kStateNames[std::size_t(from)] << " to "
                                  << kStateNames[std::size_t(to)] << " mask " << mask);
  Victim victim;
  Connection c = brought_to(victim, service, from);
  ASSERT_EQ(c.state(), from);
  Error wanted = expected(rule(service, from, to), mask & ~QpMask::state);
  if (wanted == Error::none && (mask & kUnsupported) != 0) wanted = Error::not_supported;
  EXPECT_EQ(c.qp->modify(good_attributes(from, to), mask), wanted);
  if (wanted == Error::none) {
    EXPECT_EQ(c.state(), to);
  } else {
    EXPECT_EQ(c.state(), from);
    EXPECT_TRUE(nothing(victim.settle()));
  }
}

TEST(TrustTransitions, T56_EachSingleAttributeMissingOrTooMany) {
  for (const Service service : kServices) {
    for (const QpState from : kStates) {
      if (service == Service::rc && from == QpState::sqe) continue;  // cannot be reached
      for (const QpState to : kStates) {
        const std::uint32_t right = QpMask::state | rule(service, from, to).required;
        modify(service, from, to, right);
        for (unsigned bit = 1; bit < 21; ++bit) modify(service, from, to, right ^ 1U << bit);
      }
    }
  }
}

TEST(TrustTransitions, T56_BitsThatAreNoAttribute) {
  Victim victim;
  Connection c = victim.connect();
  for (unsigned bit = 21; bit < 32; ++bit) {
    EXPECT_NE(c.qp->modify(good_attributes(QpState::rts, QpState::rts), QpMask::state | 1U << bit), Error::none);
  }
  EXPECT_TRUE(nothing(victim.settle()));
}

TEST(TrustTransitions, T56_CurrentStateThatIsNotCurrent) {
  Victim victim;
  Connection c = victim.connect();
  host::QpAttributes a = good_attributes(QpState::rts, QpState::rts);
  for (const QpState claimed : kStates) {
    a.current_state = claimed;
    const Error wanted = claimed == QpState::rts ? Error::none : Error::bad_state;
    EXPECT_EQ(c.qp->modify(a, QpMask::state | QpMask::current_state), wanted);
  }
}

TEST(TrustTransitions, T56_ValuesOutOfRange) {
  Victim victim;
  Connection c = victim.connect({.until = QpState::sqd});
  const auto refuses = [&](std::uint32_t bit, auto&& spoil, Error wanted = Error::invalid_argument) {
    host::QpAttributes a = good_attributes(QpState::sqd, QpState::sqd);
    spoil(a);
    EXPECT_EQ(c.qp->modify(a, bit), wanted) << bit;
    EXPECT_TRUE(nothing(victim.settle()));
    // A value counts only where the mask names it.
    const std::uint32_t other = bit == QpMask::rights ? QpMask::pkey_index : QpMask::rights;
    EXPECT_EQ(c.qp->modify(a, other), Error::none) << bit;
    (void)victim.settle();
  };
  refuses(QpMask::port, [](auto& a) { a.port = 0; });
  refuses(QpMask::port, [](auto& a) { a.port = 2; });
  refuses(QpMask::pkey_index, [](auto& a) { a.pkey_index = 1; });
  refuses(QpMask::path, [](auto& a) { a.gid_index = 3; });
  refuses(QpMask::path, [](auto& a) { a.gid_index = 255; });
  refuses(QpMask::ack_timeout, [](auto& a) { a.ack_timeout = 32; });
  refuses(QpMask::retry_count, [](auto& a) { a.retry_count = 8; });
  refuses(QpMask::rnr_retry, [](auto& a) { a.rnr_retry = 8; });
  refuses(QpMask::min_rnr_timer, [](auto& a) { a.min_rnr_timer = 32; });
  refuses(
      QpMask::max_reads, [](auto& a) { a.max_reads = 129; }, Error::limit_exceeded);
  refuses(
      QpMask::max_peer_reads, [](auto& a) { a.max_peer_reads = 129; }, Error::limit_exceeded);
}

TEST(TrustTransitions, T56_OnlyTheNamedCountsAreLookedAt) {
  // A program fills in what the mask names; the rest of its structure may hold anything.
  Victim victim;
  Connection c = victim.connect({.until = QpState::sqd});
  host::QpAttributes a = good_attributes(QpState::sqd, QpState::sqd);
  a.ack_timeout = a.rnr_retry = a.min_rnr_timer = 255;
  EXPECT_EQ(c.qp->modify(a, QpMask::retry_count), Error::none);
}

TEST(TrustTransitions, T56_MtuThatIsNone) {
  for (const std::uint16_t mtu : {0, 1, 128, 255, 257, 1000, 3000, 8192, 65535}) {
    Victim victim;
    Connection c = victim.connect({.until = QpState::init});
    host::QpAttributes a = good_attributes(QpState::init, QpState::rtr);
    a.mtu = mtu;
    EXPECT_EQ(c.qp->modify(a, QpMask::state | rule(Service::rc, QpState::init, QpState::rtr).required),
              Error::invalid_argument);
    a.mtu = 2048;  // an MTU, but not this port's
    EXPECT_EQ(c.qp->modify(a, QpMask::state | rule(Service::rc, QpState::init, QpState::rtr).required),
              Error::limit_exceeded);
    EXPECT_TRUE(nothing(victim.settle()));
  }
}

TEST(TrustTransitions, T56_PostingInEveryState) {
  for (const Service service : kServices) {
    for (const QpState state : kStates) {
      if (service == Service::rc && state == QpState::sqe) continue;
      Victim victim;
      const Area area = victim.allocate(64);
      Connection c = brought_to(victim, service, state);
      const nic::Sge sge = area.sge();
      host::WorkRequest send{.id = 1, .sges = {&sge, 1}};
      send.to.destination = kPeerAddress;
      const bool sends = state != QpState::reset && state != QpState::init && state != QpState::rtr;
      EXPECT_EQ(c.qp->post_send(send), sends ? Error::none : Error::bad_state) << kStateNames[std::size_t(state)];
      EXPECT_EQ(c.qp->post_receive({.id = 2, .sges = {&sge, 1}}),
                state == QpState::reset ? Error::bad_state : Error::none);
      const Effects got = victim.settle();
      if (state == QpState::error) {  // both come back at once
        ASSERT_EQ(got.completions.size(), 2U);
        EXPECT_EQ(got.completions[0].status, nic::Status::flushed);
        EXPECT_EQ(got.completions[1].status, nic::Status::flushed);
      }
    }
  }
}

}  // namespace
}  // namespace weft::trust
