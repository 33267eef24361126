// What a user may set about the card that runs inside a program: flags of `weft run`, then WEFT_* in the environment,
// then weft.toml.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "host/star/role.h"
#include "nic/card_state.h"
#include "nic/schedule/schedule_policy.h"
#include "wire/types.h"
#include "world/fault_plan.h"

namespace weft::real {

enum class WireChoice : std::uint8_t { automatic, udp, shm };
enum class TransportChoice : std::uint8_t { automatic, roce, srnic, star };

// Long payloads by shared memory: copied twice, through a ring; once, by the kernel, where it allows that; or as is
// measured to be faster (copy_choice.h).
enum class OneCopy : std::uint8_t { off, on, measured };

struct Settings {
  std::vector<wire::Address> addresses;  // of the device's port; empty: machine_addresses()
  TransportChoice transport = TransportChoice::automatic;
  host::StarRole role = host::StarRole::none;  // of reliable connections, if the transport is star, and only then
  // With transport automatic: so many connections this card keeps state for, whoever its peers are; 0: for all.
  std::uint32_t stateless_beyond = 10'000;
  bool capabilities = true;  // false: a stateless card trusts whatever its peers' cards say
  nic::CongestionControl congestion = nic::CongestionControl::dctcp;
  std::optional<std::uint32_t> window{};  // packets of a connection under way
  bool requester_bitmaps = true;
  WireChoice wire = WireChoice::automatic;
  OneCopy one_copy = OneCopy::measured;
  bool merge = true;               // packets to other hosts are segments of one datagram
  std::uint32_t source_ports = 1;  // over which queue pairs that talk to other hosts are spread
  world::FaultPlan impairments{};  // of packets that leave and, if so said, that arrive
  bool impair_outbound = true, impair_inbound = false;
  std::uint64_t seed = 1;  // of the impairments
  std::string pcap;        // file for the tap; empty: none
  bool stats = false;      // counters on standard error when the program ends
  std::uint32_t max_qps = 16384;
  nic::Policy policy = nic::Policy::round_robin;  // whose turn it is among queue pairs that have something to send
  nic::Weights weights = nic::usual_weights();    // turns of each service level, when it is weighted
  std::uint32_t works_per_turn = 8;               // SRNIC's n
  std::uint32_t burst_bytes = 16 * 1024;
  std::string file;  // that was read for them; empty: none

  // The addresses that were set, or else the machine's.
  [[nodiscard]] std::vector<wire::Address> port_addresses() const;

  // From WEFT_* and, below them, the file that WEFT_CONFIG names or ./weft.toml; or a sentence that says what is wrong.
  // A file that belongs to neither this user nor root, or that others may write, is not read: of ./weft.toml that is
  // said on standard error, once; of a file that is named it is an error. A program that runs with rights its user does
  // not have (setuid) takes nothing from either.
  [[nodiscard]] static tl::expected<Settings, std::string> from_environment();

  // The same, where `variable` answers what the environment would: nullptr if there is no such variable.
  using Lookup = std::function<const char*(const char* variable)>;
  [[nodiscard]] static tl::expected<Settings, std::string> from(const Lookup& variable);
};

}  // namespace weft::real
