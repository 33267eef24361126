#include "world/real/settings/setting_table.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "world/real/settings/addresses.h"

namespace weft::real {
namespace {

constexpr std::uint32_t kMaxQps = 131072;  // all the 17 bits of a queue pair number: none is left for chance then
constexpr std::uint32_t kMaxSourcePorts = 16;
constexpr std::uint32_t kMaxWeight = 255, kMaxWorks = 32768, kMaxBurst = 1U << 30;

std::string quoted(std::string_view text) { return std::string("'").append(text).append("'"); }

template <class Number>
bool read_whole(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

// Calls each(part) until one answers with an error.
template <class Each>
std::string for_each_part(std::string_view list, Each each) {
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    std::string_view part = list.substr(at, comma - at);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (std::string error = each(part); !error.empty()) return error;
    at = comma + 1;
  }
  return {};
}

template <class Choice>
struct Word {
  std::string_view word;
  Choice choice;
};

template <class Choice, std::size_t kCount>
std::string read_word(std::string_view value, const std::array<Word<Choice>, kCount>& words, Choice& out) {
  std::string accepted;
  for (const Word<Choice>& one : words) {
    if (one.word == value) {
      out = one.choice;
      return {};
    }
    accepted.append(accepted.empty() ? "" : ", ").append(one.word);
  }
  return quoted(value) + " is none of " + accepted;
}

std::string read_addresses(std::string_view value, Settings& settings) {
  std::vector<wire::Address> read;
  std::string error = for_each_part(value, [&read](std::string_view part) -> std::string {
    tl::expected<wire::Address, std::string> address = parse_address(part);
    if (!address) return address.error();
    if (std::find(read.begin(), read.end(), *address) != read.end()) return quoted(part) + " stands there twice";
    if (read.size() == kMaxAddresses) return "more than " + std::to_string(kMaxAddresses) + " addresses";
    read.push_back(*address);
    return {};
  });
  if (error.empty()) settings.addresses = std::move(read);
  return error;
}

std::string read_transport(std::string_view value, Settings& settings) {
  using Choice = TransportChoice;
  static constexpr std::array kWords{Word<Choice>{"auto", Choice::automatic}, Word<Choice>{"roce", Choice::roce},
                                     Word<Choice>{"srnic", Choice::srnic}, Word<Choice>{"star", Choice::star}};
  return read_word(value, kWords, settings.transport);
}

std::string read_role(std::string_view value, Settings& settings) {
  using Choice = host::StarRole;
  static constexpr std::array kWords{Word<Choice>{"stateless", Choice::stateless},
                                     Word<Choice>{"stateful", Choice::stateful}};
  return read_word(value, kWords, settings.role);
}

std::string read_stateless_beyond(std::string_view value, Settings& settings) {
  std::uint32_t number = 0;
  if (!read_whole(value, number) || number > kMaxQps) {
    return quoted(value) + " is not a whole number from 0 to " + std::to_string(kMaxQps);
  }
  settings.stateless_beyond = number;
  return {};
}

std::string read_capabilities(std::string_view value, Settings& settings) {
  static constexpr std::array kWords{Word<bool>{"on", true}, Word<bool>{"off", false}};
  return read_word(value, kWords, settings.capabilities);
}

std::string read_congestion(std::string_view value, Settings& settings) {
  using Choice = nic::CongestionControl;
  static constexpr std::array kWords{Word<Choice>{"dctcp", Choice::dctcp}, Word<Choice>{"none", Choice::none}};
  return read_word(value, kWords, settings.congestion);
}

std::string read_window(std::string_view value, Settings& settings) {
  std::uint32_t number = 0;
  if (!read_whole(value, number) || number == 0 || number > nic::kMaxWindow) {
    return quoted(value) + " is not a whole number from 1 to " + std::to_string(nic::kMaxWindow);
  }
  settings.window = number;
  return {};
}

std::string read_bitmaps(std::string_view value, Settings& settings) {
  static constexpr std::array kWords{Word<bool>{"both", true}, Word<bool>{"responder", false}};
  return read_word(value, kWords, settings.requester_bitmaps);
}

std::string read_wire(std::string_view value, Settings& settings) {
  using Choice = WireChoice;
  static constexpr std::array kWords{Word<Choice>{"auto", Choice::automatic}, Word<Choice>{"udp", Choice::udp},
                                     Word<Choice>{"shm", Choice::shm}};
  return read_word(value, kWords, settings.wire);
}

std::string read_one_copy(std::string_view value, Settings& settings) {
  static constexpr std::array kWords{Word<OneCopy>{"auto", OneCopy::measured}, Word<OneCopy>{"on", OneCopy::on},
                                     Word<OneCopy>{"off", OneCopy::off}};
  return read_word(value, kWords, settings.one_copy);
}

std::string read_merge(std::string_view value, Settings& settings) {
  static constexpr std::array kWords{Word<bool>{"on", true}, Word<bool>{"off", false}};
  return read_word(value, kWords, settings.merge);
}

std::string read_source_ports(std::string_view value, Settings& settings) {
  std::uint32_t number = 0;
  if (!read_whole(value, number) || number == 0 || number > kMaxSourcePorts) {
    return quoted(value) + " is not a whole number from 1 to " + std::to_string(kMaxSourcePorts);
  }
  settings.source_ports = number;
  return {};
}

std::string read_faults(std::string_view value, Settings& settings) {
  world::FaultPlan::Parsed parsed = world::FaultPlan::parse(value);
  if (!parsed.plan) return std::move(parsed.error);
  settings.impairments = std::move(*parsed.plan);
  return {};
}

// What a plan says behind a semicolon is about writing plans.
std::string set_part(world::FaultPlan& plan, std::string_view key, std::string_view value) {
  const std::string error = plan.set(key, value);
  return error.substr(0, error.find(';'));
}

std::string read_loss(std::string_view value, Settings& s) { return set_part(s.impairments, "loss", value); }
std::string read_dup(std::string_view value, Settings& s) { return set_part(s.impairments, "duplication", value); }
std::string read_reorder(std::string_view value, Settings& s) { return set_part(s.impairments, "reordering", value); }
std::string read_corrupt(std::string_view value, Settings& s) { return set_part(s.impairments, "corruption", value); }
std::string read_ecn(std::string_view value, Settings& s) { return set_part(s.impairments, "ecn", value); }

std::string read_drop_nth(std::string_view value, Settings& settings) {
  world::FaultPlan plan = settings.impairments;
  std::erase_if(plan.script, [](const world::ScriptedFault& one) { return one.fault == world::Fault::drop; });
  std::string error = for_each_part(value, [&plan](std::string_view part) { return set_part(plan, "drop", part); });
  if (error.empty()) settings.impairments = std::move(plan);
  return error;
}

std::string read_impair(std::string_view value, Settings& settings) {
  enum Choice { out = 1, in = 2, both = 3 };
  static constexpr std::array kWords{Word<int>{"out", out}, Word<int>{"in", in}, Word<int>{"both", both}};
  int choice = 0;
  std::string error = read_word(value, kWords, choice);
  if (!error.empty()) return error;
  settings.impair_outbound = (choice & out) != 0;
  settings.impair_inbound = (choice & in) != 0;
  return {};
}

std::string read_seed(std::string_view value, Settings& settings) {
  return read_whole(value, settings.seed) ? "" : quoted(value) + " is not a whole number below 2^64";
}

std::string read_pcap(std::string_view value, Settings& settings) {
  settings.pcap = value;
  return {};
}

std::string read_stats(std::string_view value, Settings& settings) {
  static constexpr std::array kWords{Word<bool>{"1", true},      Word<bool>{"0", false},  Word<bool>{"true", true},
                                     Word<bool>{"false", false}, Word<bool>{"yes", true}, Word<bool>{"no", false},
                                     Word<bool>{"on", true},     Word<bool>{"off", false}};
  return read_word(value, kWords, settings.stats);
}

// A whole number from 1 to `most`.
template <class Number>
std::string read_count(std::string_view value, std::uint32_t most, Number& out) {
  std::uint32_t number = 0;
  if (!read_whole(value, number) || number == 0 || number > most) {
    return quoted(value) + " is not a whole number from 1 to " + std::to_string(most);
  }
  out = static_cast<Number>(number);
  return {};
}

std::string read_max_qps(std::string_view value, Settings& settings) {
  return read_count(value, kMaxQps, settings.max_qps);
}

std::string read_policy(std::string_view value, Settings& settings) {
  using Choice = nic::Policy;
  static constexpr std::array kWords{Word<Choice>{"round-robin", Choice::round_robin},
                                     Word<Choice>{"weighted", Choice::weighted},
                                     Word<Choice>{"strict", Choice::strict}};
  return read_word(value, kWords, settings.policy);
}

std::string read_weights(std::string_view value, Settings& settings) {
  nic::Weights weights = nic::usual_weights();
  std::size_t level = 0;
  std::string error = for_each_part(value, [&](std::string_view part) -> std::string {
    if (level == weights.size()) return "more than " + std::to_string(weights.size()) + " weights";
    return read_count(part, kMaxWeight, weights[level++]);
  });
  if (error.empty()) settings.weights = weights;
  return error;
}

std::string read_works(std::string_view value, Settings& settings) {
  return read_count(value, kMaxWorks, settings.works_per_turn);
}

std::string read_burst(std::string_view value, Settings& settings) {
  return read_count(value, kMaxBurst, settings.burst_bytes);
}

constexpr std::array kSettings{
    SettingRow{"addr", "WEFT_ADDR", "A[,B...]", "IP addresses of the device; without, those of this machine",
               read_addresses},
    SettingRow{"transport", "WEFT_TRANSPORT", "auto|roce|srnic|star",
               "What reliable connections speak; auto: srnic with Weft cards, roce with others; star needs a role",
               read_transport},
    SettingRow{"role", "WEFT_ROLE", "stateless|stateful",
               "Who keeps the state of connections in star: the peer's card, or this one", read_role},
    SettingRow{"stateless_beyond", "WEFT_STATELESS_BEYOND", "N",
               "Connections beyond which, in auto, peers with fewer are asked to keep the state; 0: none are",
               read_stateless_beyond},
    SettingRow{"capabilities", "WEFT_CAPABILITIES", "on|off",
               "Whether a stateless card checks who may touch its memory; off: it trusts its peers' cards",
               read_capabilities},
    SettingRow{"cc", "WEFT_CC", "dctcp|none", "Congestion control of srnic connections", read_congestion},
    SettingRow{"window", "WEFT_WINDOW", "N", "Packets of a connection that may be under way", read_window},
    SettingRow{"bitmaps", "WEFT_BITMAPS", "both|responder",
               "Who keeps bitmaps while srnic recovers from loss; responder: requesters keep none", read_bitmaps},
    SettingRow{"wire", "WEFT_WIRE", "auto|udp|shm",
               "How packets travel; auto: shared memory on this machine, else UDP; shm: else not at all", read_wire},
    SettingRow{
        "one_copy", "WEFT_ONE_COPY", "auto|on|off",
        "Long messages through shared memory are copied once, straight from the sender's memory; off: twice; auto: "
        "whichever is faster",
        read_one_copy},
    SettingRow{
        "merge", "WEFT_MERGE", "on|off",
        "Packets to another machine that leave together are segments of one datagram; off: each is one of its own",
        read_merge},
    SettingRow{"source_ports", "WEFT_SOURCE_PORTS", "N",
               "UDP source ports over which queue pairs that talk to another machine are spread", read_source_ports},
    SettingRow{"faults", "WEFT_FAULTS", "PLAN", "A whole plan of what goes wrong: loss=1%,delay=3,hole=1s..2s",
               read_faults},
    SettingRow{"loss", "WEFT_LOSS", "P", "Packets lost: a percentage (1%) or a fraction (0.01)", read_loss},
    SettingRow{"dup", "WEFT_DUP", "P", "Packets that are sent twice", read_dup},
    SettingRow{"reorder", "WEFT_REORDER", "P", "Packets that the next one overtakes", read_reorder},
    SettingRow{"corrupt", "WEFT_CORRUPT", "P", "Packets with flipped bits", read_corrupt},
    SettingRow{"ecn", "WEFT_ECN", "P", "Packets marked \"congestion experienced\"", read_ecn},
    SettingRow{"drop_nth", "WEFT_DROP_NTH", "N[,N...]", "Loses these packets of a port; the first is 1", read_drop_nth},
    SettingRow{"impair", "WEFT_IMPAIR", "out|in|both", "Which packets the above is done to; out: those that leave",
               read_impair},
    SettingRow{"seed", "WEFT_SEED", "N", "What goes wrong follows from this number", read_seed},
    SettingRow{"pcap", "WEFT_PCAP", "FILE", "Captures all packets for Wireshark; %p is the process", read_pcap},
    SettingRow{"stats", "WEFT_STATS", "0|1", "Prints counters on standard error when the program ends", read_stats},
    SettingRow{"max_qps", "WEFT_MAX_QPS", "N", "Queue pairs that the device has room for", read_max_qps},
    SettingRow{"policy", "WEFT_POLICY", "round-robin|weighted|strict",
               "Whose turn it is; by service level if not round-robin, higher first if strict", read_policy},
    SettingRow{"weights", "WEFT_WEIGHTS", "N[,N...]", "Turns of service levels 0, 1, ... when weighted", read_weights},
    SettingRow{"works_per_turn", "WEFT_WORKS_PER_TURN", "N", "Work requests that a queue pair may send in a turn",
               read_works},
    SettingRow{"burst_bytes", "WEFT_BURST_BYTES", "N", "Bytes after which a queue pair's turn is over", read_burst}};

}  // namespace

std::span<const SettingRow> all_settings() { return kSettings; }

const SettingRow* find_setting(std::string_view key) {
  const auto* found =
      std::find_if(kSettings.begin(), kSettings.end(), [&](const SettingRow& s) { return s.key == key; });
  return found == kSettings.end() ? nullptr : found;
}

}  // namespace weft::real
