// Words and rates for the numbers of verbs. The words are those that programs and people know from rdma-core.
#include <array>
#include <cstddef>
#include <span>

#include <infiniband/verbs.h>

namespace {

constexpr const char* kUnknown = "unknown";

constexpr std::array kStatuses{"success",
                               "local length error",
                               "local QP operation error",
                               "local EE context operation error",
                               "local protection error",
                               "Work Request Flushed Error",
                               "memory management operation error",
                               "bad response error",
                               "local access error",
                               "remote invalid request error",
                               "remote access error",
                               "remote operation error",
                               "transport retry counter exceeded",
                               "RNR retry counter exceeded",
                               "local RDD violation error",
                               "remote invalid RD request",
                               "aborted error",
                               "invalid EE context number",
                               "invalid EE context state",
                               "fatal error",
                               "response timeout error",
                               "general error",
                               "TM error",
                               "TM software rendezvous"};
static_assert(kStatuses.size() == IBV_WC_TM_RNDV_INCOMPLETE + 1);

constexpr std::array kEvents{"CQ error",
                             "local work queue catastrophic error",
                             "invalid request local work queue error",
                             "local access violation work queue error",
                             "communication established",
                             "send queue drained",
                             "path migrated",
                             "path migration request error",
                             "local catastrophic error",
                             "port active",
                             "port error",
                             "LID change",
                             "P_Key change",
                             "SM change",
                             "SRQ catastrophic error",
                             "SRQ limit reached",
                             "last WQE reached",
                             "client reregistration",
                             "GID table change",
                             "WQ fatal"};
static_assert(kEvents.size() == IBV_EVENT_WQ_FATAL + 1);

constexpr std::array kNodes{kUnknown,
                            "InfiniBand channel adapter",
                            "InfiniBand switch",
                            "InfiniBand router",
                            "iWARP NIC",
                            "usNIC",
                            "usNIC UDP",
                            "unspecified"};
static_assert(kNodes.size() == IBV_NODE_UNSPECIFIED + 1);

constexpr std::array kPortStates{"no state change (NOP)", "down", "init", "armed", "active", "active defer"};
static_assert(kPortStates.size() == IBV_PORT_ACTIVE_DEFER + 1);

const char* word(std::span<const char* const> words, int value) {
  return value >= 0 && static_cast<std::size_t>(value) < words.size() ? words[value] : kUnknown;
}

struct Rate {
  ibv_rate rate;
  int mbps;
  int multiple;  // of 2.5 Gb/s; 0: it is none
};
// What rdma-core says, rounding included: 28 Gb/s counts as 11 times 2.5, 14 Gb/s as no multiple.
constexpr std::array kRates{
    Rate{IBV_RATE_2_5_GBPS, 2500, 1},     Rate{IBV_RATE_5_GBPS, 5000, 2},        Rate{IBV_RATE_10_GBPS, 10000, 4},
    Rate{IBV_RATE_20_GBPS, 20000, 8},     Rate{IBV_RATE_30_GBPS, 30000, 12},     Rate{IBV_RATE_40_GBPS, 40000, 16},
    Rate{IBV_RATE_60_GBPS, 60000, 24},    Rate{IBV_RATE_80_GBPS, 80000, 32},     Rate{IBV_RATE_120_GBPS, 120000, 48},
    Rate{IBV_RATE_14_GBPS, 14062, 0},     Rate{IBV_RATE_56_GBPS, 56250, 0},      Rate{IBV_RATE_112_GBPS, 112500, 0},
    Rate{IBV_RATE_168_GBPS, 168750, 0},   Rate{IBV_RATE_25_GBPS, 25781, 0},      Rate{IBV_RATE_100_GBPS, 103125, 0},
    Rate{IBV_RATE_200_GBPS, 206250, 0},   Rate{IBV_RATE_300_GBPS, 309375, 0},    Rate{IBV_RATE_28_GBPS, 28125, 11},
    Rate{IBV_RATE_50_GBPS, 53125, 20},    Rate{IBV_RATE_400_GBPS, 425000, 160},  Rate{IBV_RATE_600_GBPS, 637500, 240},
    Rate{IBV_RATE_800_GBPS, 850000, 320}, Rate{IBV_RATE_1200_GBPS, 1275000, 480}};

}  // namespace

extern "C" {

const char* ibv_wc_status_str(ibv_wc_status status) { return word(kStatuses, status); }
const char* ibv_event_type_str(ibv_event_type event) { return word(kEvents, event); }
const char* ibv_node_type_str(ibv_node_type type) { return word(kNodes, type); }
const char* ibv_port_state_str(ibv_port_state state) { return word(kPortStates, state); }

int ibv_rate_to_mult(ibv_rate rate) {
  for (const Rate& r : kRates) {
    if (r.rate == rate && r.multiple != 0) return r.multiple;
  }
  return -1;
}

ibv_rate mult_to_ibv_rate(int multiple) {
  for (const Rate& r : kRates) {
    if (r.multiple == multiple && multiple != 0) return r.rate;
  }
  return IBV_RATE_MAX;
}

int ibv_rate_to_mbps(ibv_rate rate) {
  for (const Rate& r : kRates) {
    if (r.rate == rate) return r.mbps;
  }
  return -1;
}

ibv_rate mbps_to_ibv_rate(int mbps) {
  for (const Rate& r : kRates) {
    if (r.mbps == mbps) return r.rate;
  }
  return IBV_RATE_MAX;
}

}  // extern "C"
