// What a running lane tells the weft command about itself, as JSON.
#include <nlohmann/json.hpp>

#include "nic/counters.h"
#include "world/real/address_text.h"
#include "world/real/engine.h"

namespace weft::real {
namespace {

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

nlohmann::json facts_of(const host::QueuePair& qp) {
  const nic::Context& c = qp.context();
  nlohmann::json out{{"qpn", qp.qpn().raw()},
                     {"state", kStates[static_cast<std::size_t>(c.state)]},
                     {"service", c.service == wire::Service::rc   ? "RC"
                                 : c.service == wire::Service::uc ? "UC"
                                                                  : "UD"},
                     {"peer", text_of(c.peer)},
                     {"peer_qpn", c.peer_qpn.raw()},
                     {"sends_posted", c.sq_posted},
                     {"sends_done", c.sq_done}};
  if (c.broken_by != Refusal::none) {
    out["broken_by"] = weft::text(c.broken_by).counter;
    out["meaning"] = weft::text(c.broken_by).meaning;
  }
  return out;
}

}  // namespace

std::string Lane::Engine::report(const std::string& question) {
  nlohmann::json out = nlohmann::json::object();
  out["counters"] = counters_of(device_.card().counters);
  out["port"] = {{"system_calls_to_send", port_.sent_calls()},
                 {"not_sent", port_.not_sent()},
                 {"neighbours", port_.neighbours()},
                 {"driver", driver_ == Driver::program ? "program" : "thread"}};
  if (question == "qps") {
    nlohmann::json qps = nlohmann::json::array();
    device_.for_each_qp([&](const host::QueuePair& qp) { qps.push_back(facts_of(qp)); });
    out["qps"] = std::move(qps);
  }
  return out.dump();
}

}  // namespace weft::real
