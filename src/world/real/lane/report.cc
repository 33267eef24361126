// What a running lane tells the weft command about itself, as JSON.
#include <cerrno>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "host/memory_use.h"
#include "nic/counters.h"
#include "world/real/lane/engine.h"
#include "world/real/os/clock.h"
#include "world/real/os/time.h"
#include "world/real/settings/address_text.h"

namespace weft::real {
namespace {

constexpr std::string_view kDialects[] = {"roce", "srnic", "undecided", "star"};
constexpr std::string_view kRoles[] = {"none", "stateless", "stateful"};
constexpr std::string_view kStates[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

nlohmann::json counters_of(const nic::Counters& counters) {
  nlohmann::json out = nlohmann::json::object();
  for (std::size_t i = 0; i < nic::kCounterNames.size(); ++i) {
    out[std::string(nic::kCounterNames[i])] = counters.get(static_cast<nic::Counter>(i));
  }
  for (std::size_t i = 1; i < static_cast<std::size_t>(Refusal::count_); ++i) {
    const auto why = static_cast<Refusal>(i);
    if (counters.get(why) != 0) out[std::string(weft::text(why).counter)] = counters.get(why);
  }
  return out;
}

// How many reliable connections speak what, and how often one has begun to speak something else while it ran.
nlohmann::json dialects_of(const host::Device& device, const RoleMoves& moves) {
  std::array<std::uint32_t, std::size(kDialects)> counts{};
  device.for_each_qp([&](const host::QueuePair& qp) {
    const nic::Context& c = qp.context();
    if (c.service == wire::Service::rc) ++counts[static_cast<std::size_t>(c.dialect)];
  });
  nlohmann::json out{{"moves_made", moves.made()}, {"moves_refused", moves.refused()}};
  for (std::size_t i = 0; i < counts.size(); ++i) out[fmt::format("connections_{}", kDialects[i])] = counts[i];
  return out;
}

nlohmann::json json_of(const host::QueuePair& qp) {
  const nic::Context& c = qp.context();
  nlohmann::json out{{"qpn", qp.qpn().raw()},
                     {"state", kStates[static_cast<std::size_t>(qp.state())]},
                     {"service", c.service == wire::Service::rc   ? "RC"
                                 : c.service == wire::Service::uc ? "UC"
                                                                  : "UD"},
                     {"peer", text_of(c.peer)},
                     {"peer_qpn", c.peer_qpn.raw()},
                     {"sends_posted", c.sq_posted},
                     {"sends_done", c.sq_done}};
  if (c.service == wire::Service::rc) out["dialect"] = kDialects[static_cast<std::size_t>(c.dialect)];
  if (qp.options().role != host::StarRole::none) out["role"] = kRoles[static_cast<std::size_t>(qp.options().role)];
  if (c.broken_by != Refusal::none) {
    out["broken_by"] = weft::text(c.broken_by).counter;
    out["meaning"] = weft::text(c.broken_by).meaning;
  }
  return out;
}

// What usually is behind a refusal that breaks a queue pair: what a colleague would ask first.
std::string_view likely_cause(const nic::Context& c) {
  switch (c.broken_by) {
    case Refusal::retry_exceeded:
      if (c.dialect == nic::Dialect::srnic && !c.established) {
        return "the peer does not speak srnic: it is no Weft card, or runs with --transport roce (weft stat there "
               "counts "
               "rx_wrong_dialect). Use --transport auto. Or the peer cannot be reached at all";
      }
      return "the peer's program has ended, its queue pair is destroyed or not yet RTR, the GID index or address is "
             "wrong, or UDP port 4791 is filtered on the way";
    case Refusal::star_no_partner:
      return "the peer speaks no StaR, or plays the same role: run one side with --transport star --role stateless and "
             "the other with --role stateful";
    case Refusal::star_peer_gone:
      return "the stateless side's queue pair has broken: weft explain there names the rule";
    case Refusal::rnr_retry_exceeded:
      return "the peer posts too few receives, or too late; raise rnr_retry (7: for ever)";
    case Refusal::peer_access_error:
      return "the remote key, address or length is wrong, the region is deregistered, or it lacks the right that this "
             "operation needs: weft explain on the peer's queue pair names the rule";
    case Refusal::peer_invalid_request:
      return "the peer's receive is shorter than the message, its queue pair does not allow the operation, or more "
             "READs "
             "are under way than it agreed to: weft explain on the peer's queue pair names the rule";
    case Refusal::peer_operation_error: return "the peer could not carry the request out: look there";
    case Refusal::peer_no_kernel:
      return "deploy a kernel for this op-code there, or one for any (WEFT_KERNEL_ANY); a call that has room for an "
             "answer is told so in it, and breaks nothing";
    case Refusal::key_unknown:
    case Refusal::key_stale:
      return "a key that was never given out or whose region is deregistered: compare the rkey or lkey with "
             "ibv_reg_mr's";
    case Refusal::key_wrong_domain:
      return "the region was registered with another protection domain than the queue pair's";
    case Refusal::key_no_permission:
      return "the region was registered without the access flag that this operation needs";
    case Refusal::out_of_bounds: return "the address or the length reaches outside the registered region";
    case Refusal::receive_too_small: return "the posted receive is shorter than the message";
    case Refusal::operation_not_allowed: return "the queue pair's qp_access_flags lack the right for this operation";
    case Refusal::cq_overflow:
      return "the completion queue is smaller than the work that completes into it: poll more often "
             "or make it larger";
    case Refusal::too_many_reads: return "the requester's max_rd_atomic is larger than this side's max_dest_rd_atomic";
    default: return "see the rule above";
  }
}

std::string ago(Time now, Time then) {
  const double s = static_cast<double>(now - then) / static_cast<double>(seconds(1));
  return s < 1e-3 ? fmt::format("{:.1f} us", s * 1e6)
         : s < 1  ? fmt::format("{:.1f} ms", s * 1e3)
                  : fmt::format("{:.1f} s", s);
}

nlohmann::json json_of(const Journal::Refused& r, Time now) {
  return {{"ago", ago(now, r.when)},
          {"rule", weft::text(r.why).counter},
          {"meaning", weft::text(r.why).meaning},
          {"opcode", wire::info(r.opcode).name},
          {"psn", r.psn.raw()},
          {"from", text_of(r.from)}};
}

}  // namespace

nlohmann::json Lane::Engine::explain(wire::Qpn qpn) {
  const host::QueuePair* qp = device_.find_qp(qpn);
  if (qp == nullptr) return nlohmann::json::object();
  nlohmann::json out = json_of(*qp);
  const nic::Context& c = qp->context();
  out["unacked_psn"] = c.unacked_psn.raw();
  out["next_psn"] = c.next_psn.raw();
  out["history"] = nlohmann::json::array();
  const Time now = clock_now();
  if (const Journal::Record* r = journal_.of(qp->slot(), qpn); r != nullptr) {
    for (std::size_t i = 0; i < r->changes; ++i) {
      const Journal::Change& change = r->history[i];
      out["history"].push_back(
          {{"ago", ago(now, change.when)}, {"state", kStates[static_cast<std::size_t>(change.state)]}});
    }
    out["refused"] = r->refused;
    if (r->first) out["first_refused"] = json_of(*r->first, now);
    if (r->last && r->refused > 1) out["last_refused"] = json_of(*r->last, now);
  }
  if (c.broken_by != Refusal::none) out["likely_cause"] = likely_cause(c);
  return out;
}

namespace {

nlohmann::json json_of(const host::MemoryUse& use) {
  return {{"queue_pairs", use.queue_pairs},
          {"stateless_queue_pairs", use.stateless},
          {"regions", use.regions},
          {"windows", use.windows},
          {"context_state_bytes", use.context_state},
          {"context_table_bytes", use.context_table},
          {"scheduler_bytes", use.scheduler},
          {"region_table_bytes", use.region_table},
          {"queue_table_bytes", use.queue_tables},
          {"cache_bytes", use.caches},
          {"ring_bytes", use.rings},
          {"translation_table_bytes", use.translation_table},
          {"star_bytes", use.star},
          {"recovery_bytes", use.recovery},
          {"registered_bytes", use.registered}};
}

}  // namespace

std::string Lane::Engine::report(const std::string& question) {
  if (unsigned qpn = 0; std::sscanf(question.c_str(), "explain %u", &qpn) == 1) return explain(wire::Qpn(qpn)).dump();
  nlohmann::json out = nlohmann::json::object();
  if (question == "memory") {
    out["memory"] = json_of(host::memory_use(device_));
    return out.dump();
  }
  out["counters"] = counters_of(device_.card().counters);
  out["port"] = {{"system_calls_to_send", port_.sent_calls()},
                 {"not_sent", port_.not_sent()},
                 {"sent_in_fragments", port_.fragmented()},
                 {"dropped_by_sockets", port_.dropped()},
                 {"lost_on_purpose", inspection_.lost_on_purpose()},
                 {"not_handed_on", not_handed_on_},
                 {"local_peers", port_.local_peers()},
                 {"driver", policy_.program_drives() ? "program" : "thread"}};
  out["dialects"] = dialects_of(device_, moves_);
  if (question == "qps") {
    nlohmann::json qps = nlohmann::json::array();
    device_.for_each_qp([&](const host::QueuePair& qp) { qps.push_back(json_of(qp)); });
    out["qps"] = std::move(qps);
  }
  return out.dump();
}

void Lane::Engine::print_stats() {
  if (!settings_.stats || std::exchange(stats_printed_, true) || !port_.is_open()) return;
  fmt::print(stderr, "weft: counters of {} (pid {})\n", program_invocation_short_name, getpid());
  const auto line = [](std::string_view name, std::uint64_t value, std::string_view meaning) {
    if (value != 0) fmt::print(stderr, "  {:<28} {:>14}  {}\n", name, value, meaning);
  };
  const nic::Counters& counters = device_.card().counters;
  for (std::size_t i = 0; i < nic::kCounterNames.size(); ++i) {
    line(nic::kCounterNames[i], counters.get(static_cast<nic::Counter>(i)), nic::kCounterMeanings[i]);
  }
  for (std::size_t i = 1; i < static_cast<std::size_t>(Refusal::count_); ++i) {
    const auto why = static_cast<Refusal>(i);
    line(weft::text(why).counter, counters.get(why), weft::text(why).meaning);
  }
  line("system_calls_to_send", port_.sent_calls(), "sendmmsg calls");
  line("not_sent", port_.not_sent(),
       "packets that the kernel or a full ring refused, or that --wire shm has no way for");
  line("sent_in_fragments", port_.fragmented(), "packets too long for the way there: a smaller path MTU would fit");
  line("dropped_by_sockets", port_.dropped(),
       "datagrams that found a socket full (sysctl net.core.rmem_max=8388608), or were for nobody here");
  line("lost_on_purpose", inspection_.lost_on_purpose(), "packets lost as --loss, --drop-nth or --faults ask");
  line("not_handed_on", not_handed_on_, "packets for other programs that the broker did not take at once");
}

}  // namespace weft::real
