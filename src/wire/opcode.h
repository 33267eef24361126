// All 256 BTH opcodes in one table: which service, which verb, which place in a message, which headers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "wire/dialect.h"

namespace weft::wire {

// clang-format off
enum class Opcode : std::uint8_t {
  rc_send_first = 0x00, rc_send_middle = 0x01, rc_send_last = 0x02, rc_send_last_imm = 0x03,
  rc_send_only = 0x04, rc_send_only_imm = 0x05,
  rc_write_first = 0x06, rc_write_middle = 0x07, rc_write_last = 0x08, rc_write_last_imm = 0x09,
  rc_write_only = 0x0A, rc_write_only_imm = 0x0B,
  rc_read_request = 0x0C,
  rc_read_response_first = 0x0D, rc_read_response_middle = 0x0E, rc_read_response_last = 0x0F,
  rc_read_response_only = 0x10,
  rc_ack = 0x11, rc_atomic_ack = 0x12, rc_compare_swap = 0x13, rc_fetch_add = 0x14,
  rc_send_last_invalidate = 0x16, rc_send_only_invalidate = 0x17,
  // Calls of kernels (StRoM) and what answers them, between Weft cards only: to others some of these mean FLUSH and
  // ATOMIC WRITE.
  rc_rpc = 0x18, rc_rpc_write_first = 0x19, rc_rpc_write_middle = 0x1A, rc_rpc_write_last = 0x1B,
  rc_rpc_write_only = 0x1C, rc_reply = 0x1D, rc_reply_imm = 0x1E,
  uc_send_first = 0x20, uc_send_middle = 0x21, uc_send_last = 0x22, uc_send_last_imm = 0x23,
  uc_send_only = 0x24, uc_send_only_imm = 0x25,
  uc_write_first = 0x26, uc_write_middle = 0x27, uc_write_last = 0x28, uc_write_last_imm = 0x29,
  uc_write_only = 0x2A, uc_write_only_imm = 0x2B,
  ud_send_only = 0x64, ud_send_only_imm = 0x65,
  cnp = 0x81,
  // The srnic dialect, in the range for manufacturers: each is its RC opcode + 0xC0. Responses are acknowledged too.
  srnic_send_first = 0xC0, srnic_send_middle = 0xC1, srnic_send_last = 0xC2, srnic_send_last_imm = 0xC3,
  srnic_send_only = 0xC4, srnic_send_only_imm = 0xC5,
  srnic_write_first = 0xC6, srnic_write_middle = 0xC7, srnic_write_last = 0xC8, srnic_write_last_imm = 0xC9,
  srnic_write_only = 0xCA, srnic_write_only_imm = 0xCB,
  srnic_read_request = 0xCC,
  srnic_read_response_first = 0xCD, srnic_read_response_middle = 0xCE, srnic_read_response_last = 0xCF,
  srnic_read_response_only = 0xD0,
  srnic_ack = 0xD1, srnic_atomic_response = 0xD2, srnic_compare_swap = 0xD3, srnic_fetch_add = 0xD4,
  srnic_send_last_invalidate = 0xD6, srnic_send_only_invalidate = 0xD7,
  // What has arrived of requests, of responses? Nothing of a message is in them, and an acknowledgement answers them.
  srnic_probe = 0xD8, srnic_response_probe = 0xD9,
  srnic_response_ack = 0xDE,
  // With an ACK for what the other side has sent: + 0x20.
  srnic_send_only_srnic_ack = 0xE4, srnic_write_only_srnic_ack = 0xEA,
  // Calls and their replies: + 0xE0.
  srnic_rpc = 0xF8, srnic_rpc_write_first = 0xF9, srnic_rpc_write_middle = 0xFA, srnic_rpc_write_last = 0xFB,
  srnic_rpc_write_only = 0xFC, srnic_reply = 0xFD, srnic_reply_imm = 0xFE,
  // StaR's packets (wire/star.h). They have ports and headers of their own: no BTH has these opcodes. To a stateless
  // card:
  star_rd = 0xF0, star_gd = 0xF1, star_cqep = 0xF2, star_ea = 0xF3,
  // and from one.
  star_rda = 0xF4, star_gda = 0xF5, star_wqep = 0xF6, star_ea_up = 0xF7,
};
// clang-format on

// `stateless`: for a card that has no queue pair for it.
enum class Service : std::uint8_t { none, rc, uc, ud, cnp, stateless };
// clang-format off
enum class Verb : std::uint8_t {
  none, send, write, read_request, read_response, ack, atomic_ack, compare_swap, fetch_add, response_ack, probe,
  response_probe, cnp, star, rpc, rpc_write, reply,
};
// clang-format on
// Where in its message a packet stands. Requests and responses of one packet are `only`.
enum class Step : std::uint8_t { none, first, middle, last, only };

// Bytes of StaR's header and extension, to a stateless card and from one.
inline constexpr std::uint8_t kStarDownBytes = 60, kStarUpBytes = 28;

struct OpcodeInfo {
  Service service = Service::none;  // none: reserved or not supported
  Verb verb = Verb::none;
  Step step = Step::none;
  bool reth = false, aeth = false, atomic_eth = false, atomic_ack_eth = false;
  bool immediate = false, ieth = false, deth = false;
  Dialect dialect = Dialect::roce;         // that it belongs to; datagrams and CNPs are roce's
  bool sequence = false;                   // a Sequence: where in its message, and in the send queue, a packet stands
  bool target = false, srnic_ack = false;  // a Reth without its length; what srnic acknowledgements say
  bool payload = false;                    // may carry payload bytes
  std::uint8_t header_bytes = 0;           // BTH and every extension, before the payload
  std::string_view name{};

  // May stand in a BTH.
  [[nodiscard]] constexpr bool known() const { return service != Service::none && verb != Verb::star; }
  [[nodiscard]] constexpr bool is_response() const {
    return verb == Verb::read_response || verb == Verb::ack || verb == Verb::atomic_ack;
  }
  [[nodiscard]] constexpr bool starts() const { return step == Step::first || step == Step::only; }
  [[nodiscard]] constexpr bool ends() const { return step == Step::last || step == Step::only; }
};

namespace detail {

constexpr std::uint8_t header_bytes(const OpcodeInfo& o) {
  // BTH 12, then the extensions; a CNP carries 16 reserved bytes in their place.
  return static_cast<std::uint8_t>(12 + (o.deth ? 8 : 0) + (o.reth ? 16 : 0) + (o.atomic_eth ? 28 : 0) +
                                   (o.aeth ? 4 : 0) + (o.atomic_ack_eth ? 8 : 0) + (o.immediate ? 4 : 0) +
                                   (o.ieth ? 4 : 0) + (o.verb == Verb::cnp ? 16 : 0) + (o.sequence ? 8 : 0) +
                                   (o.target ? 12 : 0) + (o.srnic_ack ? 8 : 0));
}

// What RC and UC share: SEND and WRITE, 0x00-0x0B of the service's 32 opcodes. Only the packet that opens a WRITE says
// where it goes.
constexpr void add_send_and_write(std::array<OpcodeInfo, 256>& table, std::size_t base, Service service,
                                  std::array<std::string_view, 12> names) {
  constexpr std::array kSteps{Step::first, Step::middle, Step::last, Step::last, Step::only, Step::only};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Step step = kSteps[i % 6];
    OpcodeInfo o{.service = service, .verb = i < 6 ? Verb::send : Verb::write, .step = step};
    o.reth = o.verb == Verb::write && o.starts();
    o.immediate = i % 6 == 3 || i % 6 == 5;
    o.payload = true;
    o.name = names[i];
    table[base + i] = o;
  }
}

// Calls of kernels, which travel as WRITEs do: only the packet that opens one says which kernel it is for.
constexpr void add_calls(std::array<OpcodeInfo, 256>& table) {
  constexpr std::string_view kNames[] = {
      "RC RPC",   "RC RPC WRITE first",     "RC RPC WRITE middle", "RC RPC WRITE last", "RC RPC WRITE only",
      "RC REPLY", "RC REPLY with immediate"};
  constexpr std::array kVerbs{Verb::rpc,       Verb::rpc_write, Verb::rpc_write, Verb::rpc_write,
                              Verb::rpc_write, Verb::reply,     Verb::reply};
  constexpr std::array kSteps{Step::only, Step::first, Step::middle, Step::last, Step::only, Step::only, Step::only};
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    OpcodeInfo o{.service = Service::rc, .verb = kVerbs[i], .step = kSteps[i]};
    o.reth = o.starts();
    o.immediate = i == 6;
    o.payload = true;
    o.name = kNames[i];
    table[0x18 + i] = o;
  }
}

// From an RC packet to its srnic sibling: each has a Sequence; WRITEs, calls and replies have a target; ACKs have an
// SrnicAck.
constexpr OpcodeInfo srnic_sibling(OpcodeInfo o, std::string_view name) {
  o.dialect = Dialect::srnic;
  o.sequence = true;
  if (o.verb == Verb::write || o.verb == Verb::rpc || o.verb == Verb::rpc_write || o.verb == Verb::reply) {
    o.reth = false;
    o.target = true;
  }
  o.aeth = false;
  o.srnic_ack = o.verb == Verb::ack;
  o.name = name;
  return o;
}

constexpr void add_srnic(std::array<OpcodeInfo, 256>& table) {
  constexpr std::string_view kNames[] = {"srnic SEND first",
                                         "srnic SEND middle",
                                         "srnic SEND last",
                                         "srnic SEND last with immediate",
                                         "srnic SEND only",
                                         "srnic SEND only with immediate",
                                         "srnic WRITE first",
                                         "srnic WRITE middle",
                                         "srnic WRITE last",
                                         "srnic WRITE last with immediate",
                                         "srnic WRITE only",
                                         "srnic WRITE only with immediate",
                                         "srnic READ request",
                                         "srnic READ response first",
                                         "srnic READ response middle",
                                         "srnic READ response last",
                                         "srnic READ response only",
                                         "srnic ACK",
                                         "srnic ATOMIC response",
                                         "srnic COMPARE SWAP",
                                         "srnic FETCH ADD",
                                         "",
                                         "srnic SEND last with invalidate",
                                         "srnic SEND only with invalidate"};
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (table[i].known()) table[0xC0 + i] = srnic_sibling(table[i], kNames[i]);
  }
  constexpr std::string_view kCalls[] = {"srnic RPC",
                                         "srnic RPC WRITE first",
                                         "srnic RPC WRITE middle",
                                         "srnic RPC WRITE last",
                                         "srnic RPC WRITE only",
                                         "srnic REPLY",
                                         "srnic REPLY with immediate"};
  for (std::size_t i = 0; i < std::size(kCalls); ++i) table[0xF8 + i] = srnic_sibling(table[0x18 + i], kCalls[i]);
  table[0xDE] = table[0xD1];
  table[0xDE].verb = Verb::response_ack;
  table[0xDE].name = "srnic RESPONSE ACK";
  table[0xD8] = {.service = Service::rc, .verb = Verb::probe, .step = Step::only};
  table[0xD8].dialect = Dialect::srnic;
  table[0xD8].sequence = true;
  table[0xD8].name = "srnic PROBE";
  table[0xD9] = table[0xD8];
  table[0xD9].verb = Verb::response_probe;
  table[0xD9].name = "srnic RESPONSE PROBE";
  table[0xE4] = table[0xC4];
  table[0xE4].name = "srnic SEND only with ACK";
  table[0xEA] = table[0xCA];
  table[0xEA].name = "srnic WRITE only with ACK";
  table[0xE4].srnic_ack = table[0xEA].srnic_ack = true;
}

// StaR's header and extension stand in the place of the BTH.
constexpr void add_star(std::array<OpcodeInfo, 256>& table) {
  constexpr std::string_view kNames[] = {"StaR RD",  "StaR GD",  "StaR CQEP", "StaR EA",
                                         "StaR RDA", "StaR GDA", "StaR WQEP", "StaR EA to the stateful side"};
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    OpcodeInfo& o = table[0xF0 + i];
    const bool down = i < 4;
    o = {.service = down ? Service::stateless : Service::rc, .verb = Verb::star, .step = Step::only};
    o.dialect = Dialect::star;
    o.payload = true;
    o.header_bytes = down ? kStarDownBytes : kStarUpBytes;
    o.name = kNames[i];
  }
}

constexpr std::array<OpcodeInfo, 256> make_opcodes() {
  std::array<OpcodeInfo, 256> table{};
  add_send_and_write(table, 0x00, Service::rc,
                     {"RC SEND first", "RC SEND middle", "RC SEND last", "RC SEND last with immediate", "RC SEND only",
                      "RC SEND only with immediate", "RC WRITE first", "RC WRITE middle", "RC WRITE last",
                      "RC WRITE last with immediate", "RC WRITE only", "RC WRITE only with immediate"});
  add_send_and_write(table, 0x20, Service::uc,
                     {"UC SEND first", "UC SEND middle", "UC SEND last", "UC SEND last with immediate", "UC SEND only",
                      "UC SEND only with immediate", "UC WRITE first", "UC WRITE middle", "UC WRITE last",
                      "UC WRITE last with immediate", "UC WRITE only", "UC WRITE only with immediate"});
  const auto at = [&](Opcode opcode) -> OpcodeInfo& { return table[static_cast<std::uint8_t>(opcode)]; };
  const auto rc = [](Verb verb, Step step, std::string_view name) {
    return OpcodeInfo{.service = Service::rc, .verb = verb, .step = step, .name = name};
  };

  at(Opcode::rc_read_request) = rc(Verb::read_request, Step::only, "RC READ request");
  at(Opcode::rc_read_request).reth = true;
  at(Opcode::rc_read_response_first) = rc(Verb::read_response, Step::first, "RC READ response first");
  at(Opcode::rc_read_response_middle) = rc(Verb::read_response, Step::middle, "RC READ response middle");
  at(Opcode::rc_read_response_last) = rc(Verb::read_response, Step::last, "RC READ response last");
  at(Opcode::rc_read_response_only) = rc(Verb::read_response, Step::only, "RC READ response only");
  for (std::size_t i = 0x0D; i <= 0x10; ++i) {
    table[i].aeth = table[i].step != Step::middle;
    table[i].payload = true;
  }
  at(Opcode::rc_ack) = rc(Verb::ack, Step::only, "RC ACK");
  at(Opcode::rc_ack).aeth = true;
  at(Opcode::rc_atomic_ack) = rc(Verb::atomic_ack, Step::only, "RC ATOMIC ACK");
  at(Opcode::rc_atomic_ack).aeth = at(Opcode::rc_atomic_ack).atomic_ack_eth = true;
  at(Opcode::rc_compare_swap) = rc(Verb::compare_swap, Step::only, "RC COMPARE SWAP");
  at(Opcode::rc_compare_swap).atomic_eth = true;
  at(Opcode::rc_fetch_add) = rc(Verb::fetch_add, Step::only, "RC FETCH ADD");
  at(Opcode::rc_fetch_add).atomic_eth = true;
  at(Opcode::rc_send_last_invalidate) = rc(Verb::send, Step::last, "RC SEND last with invalidate");
  at(Opcode::rc_send_only_invalidate) = rc(Verb::send, Step::only, "RC SEND only with invalidate");
  for (std::size_t i = 0x16; i <= 0x17; ++i) table[i].ieth = table[i].payload = true;

  at(Opcode::ud_send_only) = {.service = Service::ud, .verb = Verb::send, .step = Step::only, .name = "UD SEND only"};
  at(Opcode::ud_send_only_imm) = at(Opcode::ud_send_only);
  at(Opcode::ud_send_only_imm).immediate = true;
  at(Opcode::ud_send_only_imm).name = "UD SEND only with immediate";
  for (std::size_t i = 0x64; i <= 0x65; ++i) table[i].deth = table[i].payload = true;
  at(Opcode::cnp) = {.service = Service::cnp, .verb = Verb::cnp, .step = Step::only, .name = "CNP"};

  add_calls(table);
  add_srnic(table);
  for (auto& o : table) {
    if (o.known()) o.header_bytes = header_bytes(o);
  }
  add_star(table);
  return table;
}

}  // namespace detail

inline constexpr std::array<OpcodeInfo, 256> kOpcodes = detail::make_opcodes();

constexpr const OpcodeInfo& info(Opcode opcode) { return kOpcodes[static_cast<std::uint8_t>(opcode)]; }

static_assert(info(Opcode::rc_write_only).header_bytes == 28 && info(Opcode::rc_write_only_imm).header_bytes == 32);
static_assert(info(Opcode::rc_write_middle).header_bytes == 12 && info(Opcode::uc_send_last_imm).header_bytes == 16);
static_assert(info(Opcode::rc_read_request).header_bytes == 28 && !info(Opcode::rc_read_request).payload);
static_assert(info(Opcode::rc_read_response_middle).header_bytes == 12 && info(Opcode::rc_ack).header_bytes == 16);
static_assert(info(Opcode::rc_atomic_ack).header_bytes == 24 && info(Opcode::rc_compare_swap).header_bytes == 40);
static_assert(info(Opcode::ud_send_only_imm).header_bytes == 24 && info(Opcode::cnp).header_bytes == 28);
static_assert(info(Opcode::srnic_send_middle).header_bytes == 20 &&
              info(Opcode::srnic_write_middle).header_bytes == 32);
static_assert(info(Opcode::srnic_ack).header_bytes == 28 && info(Opcode::srnic_read_request).header_bytes == 36);
static_assert(!info(Opcode{0x15}).known() && !info(Opcode{0x2C}).known() && !info(Opcode{0xFF}).known());

}  // namespace weft::wire
