#include "lab/setting_fields.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "lab/profile_fields.h"

namespace weft::lab {
namespace {

constexpr std::array<std::string_view, 2> kAskers{"clients", "server"};
constexpr std::array<std::string_view, 2> kLostOn{"both_ways", "way_out"};
constexpr std::array<std::string_view, 4> kOperations{"send", "write", "read", "rpc_write"};
constexpr std::array<std::string_view, 5> kPatterns{"stream", "ping_pong", "rpc", "parameter_server", "fetch"};
constexpr std::array<std::string_view, 3> kStructures{"list", "table", "object"};
constexpr std::array<std::string_view, 2> kStreamKernels{"shuffle", "distinct"};
constexpr std::array<std::string_view, 3> kStateless{"nobody", "server", "clients"};
static_assert(static_cast<int>(Operation::rpc_write) == 3 && static_cast<int>(Pattern::fetch) == 4 &&
              static_cast<int>(StatelessCards::clients) == 2 && static_cast<int>(FetchFrom::object) == 2 &&
              static_cast<int>(StreamKernel::distinct) == 1);

template <class What, class Member>
constexpr Field<Setting> field(std::string_view key, std::string_view meaning, const What& what, Member member,
                               double least = 0, double most = 0) {
  if constexpr (std::is_same_v<What, Kind>) {
    return make_field<Setting>(key, meaning, what, member, least, most);
  } else {
    return make_field<Setting>(key, meaning, std::span<const std::string_view>(what), member);
  }
}

using enum Kind;
// clang-format off
constexpr std::array kFields{
    field("clients", "cards that talk to the server: by a cable if there is one, by a switch if there are more",
          count, [](auto& s) -> auto& { return s.clients; }, 1, 4096),
    field("link_rate", "of each link; 0: the profile's",
          rate, [](auto& s) -> auto& { return s.link_bits_per_second; }, 0, 1e13),
    field("link_delay", "of each link, one way",
          time, [](auto& s) -> auto& { return s.link_delay; }, 0, 1e12),
    field("switch_buffer", "of all its ports together; 0: without end, and nobody is paused behind it",
          size, [](auto& s) -> auto& { return s.switch_buffer_bytes; }, 0, 1e12),
    field("switch_alpha", "a port's share of what is free of switch_buffer; 0: 12.5% with pause and 50% without",
          fraction, [](auto& s) -> auto& { return s.switch_alpha; }, 0, 1),
    field("loss", "of packets, at random, on links from cards",
          fraction, [](auto& s) -> auto& { return s.loss; }, 0, 1),
    field("lost_on", "both_ways; way_out: of whoever asks, and what comes back always arrives",
          kLostOn, [](auto& s) -> auto& { return s.lost_on; }),
    field("asker", "who posts the operations",
          kAskers, [](auto& s) -> auto& { return s.asker; }),
    field("operation", "what is posted; rpc_write: payload for a kernel of the server (stream_kernel)",
          kOperations, [](auto& s) -> auto& { return s.operation; }),
    field("pattern", "stream: every queue pair keeps depth messages under way; ping_pong: a message, then its answer; "
          "rpc: call_messages, then one that answers them; parameter_server: nobody is answered before all have "
          "called; fetch: something out of the server's memory (structure), then the next",
          kPatterns, [](auto& s) -> auto& { return s.pattern; }),
    field("bytes", "of a message",
          size, [](auto& s) -> auto& { return s.bytes; }, 1, 1U << 30),
    field("mtu", "payload of a packet at most",
          size, [](auto& s) -> auto& { return s.mtu; }, 256, 4096),
    field("qps", "queue pairs in all",
          count, [](auto& s) -> auto& { return s.qps; }, 1, 1 << 20),
    field("threads", "of each host",
          count, [](auto& s) -> auto& { return s.threads; }, 1, 4096),
    field("depth", "messages under way for each queue pair",
          count, [](auto& s) -> auto& { return s.depth; }, 1, 32768),
    field("receive_depth", "receives that stand posted for each queue pair; 0: twice depth, or twice call_messages",
          count, [](auto& s) -> auto& { return s.receive_depth; }, 0, 32768),
    field("signal_every", "every so many messages one asks for a completion",
          count, [](auto& s) -> auto& { return s.signal_every; }, 1, 32768),
    field("call_messages", "of a call in rpc and parameter_server",
          count, [](auto& s) -> auto& { return s.call_messages; }, 1, 8),
    field("structure", "what fetch takes from: a list, a hash table, an object with a checksum",
          kStructures, [](auto& s) -> auto& { return s.structure; }),
    field("by_kernel", "fetch: by calls of a kernel of the server, or else by READs",
          truth, [](auto& s) -> auto& { return s.by_kernel; }),
    field("elements", "fetch: of a list or table",
          count, [](auto& s) -> auto& { return s.elements; }, 1, 1 << 20),
    field("failures", "fetch: objects that are found to be changing, and are right the next time",
          fraction, [](auto& s) -> auto& { return s.failures; }, 0, 1),
    field("stream_kernel", "what rpc_write is for",
          kStreamKernels, [](auto& s) -> auto& { return s.stream_kernel; }),
    field("partitions", "of shuffle; a power of two",
          count, [](auto& s) -> auto& { return s.partitions; }, 1, 1024),
    field("work_rate", "that a thread works on a message, before it posts it or after it has read it; 0: not at all",
          rate, [](auto& s) -> auto& { return s.work_bits_per_second; }, 0, 1e13),
    field("group_size", "rpc, parameter_server: connections of a group; groups take turns to post. 0: they do not",
          count, [](auto& s) -> auto& { return s.group_size; }, 0, 1 << 20),
    field("group_slot", "how long it is a group's turn",
          time, [](auto& s) -> auto& { return s.group_slot; }, 1e6, 1e12),
    field("stateless", "whose cards keep no connection state (StaR), while the others' keep it for both",
          kStateless, [](auto& s) -> auto& { return s.stateless; }),
    field("ack_timeout", "after 4.096 us times 2 to the power of it without an answer work is sent again; 0: never",
          count, [](auto& s) -> auto& { return s.ack_timeout; }, 0, 31),
    field("inline_bytes", "messages up to this size travel in their work entry",
          size, [](auto& s) -> auto& { return s.inline_bytes; }, 0, 1024),
    field("region_bytes", "memory that messages come from and go to, spread evenly; 0: a buffer for each queue pair",
          size, [](auto& s) -> auto& { return s.region_bytes; }, 0, 1e12),
    field("page_bytes", "of that memory; a translation each",
          size, [](auto& s) -> auto& { return s.page_bytes; }, 4096, 1 << 30),
    field("messages", "that are measured, all queue pairs together; 0: several turns for each queue pair",
          count, [](auto& s) -> auto& { return s.messages; }, 0, 1e9),
    field("total_bytes", "of messages that are measured, instead of so many messages; 0: messages says how many",
          size, [](auto& s) -> auto& { return s.total_bytes; }, 0, 1e15),
    field("warm_up_messages", "before those; 0: a few turns for each queue pair",
          count, [](auto& s) -> auto& { return s.warm_up_messages; }, 0, 1e9),
    field("time_limit", "of simulated time; a run that has not ended by then has failed",
          time, [](auto& s) -> auto& { return s.time_limit; }, 1e6, 1e15),
    field("seed", "all chance follows from it",
          count, [](auto& s) -> auto& { return s.seed; }),
};
// clang-format on

}  // namespace

std::optional<SettingField> find_setting_field(std::string_view key) {
  for (const auto& f : kFields) {
    if (f.key == key) return SettingField(f);
  }
  if (const auto* profile = find_profile_field(key)) return SettingField(*profile);
  return std::nullopt;
}

std::vector<SettingField> all_setting_fields() {
  std::vector<SettingField> all;
  for (const auto& f : kFields) all.emplace_back(f);
  for (const auto& f : profile_fields()) all.emplace_back(f);
  return all;
}

std::vector<std::string_view> all_setting_keys() {
  std::vector<std::string_view> keys;
  for (const SettingField& f : all_setting_fields()) keys.push_back(f.info().key);
  return keys;
}

std::string fingerprint(const Setting& setting) {
  std::string text = fmt::format("{} {}", setting.profile.name, setting.seed);
  for (const SettingField& f : all_setting_fields()) fmt::format_to(std::back_inserter(text), ",{:a}", f.get(setting));
  return text;
}

}  // namespace weft::lab
