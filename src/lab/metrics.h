// Everything that a run measures.
#pragma once

#include <array>
#include <string_view>

namespace weft::lab {

struct Metric {
  std::string_view name, unit, what;
};

inline constexpr std::array kMetrics{
    Metric{"goodput_gbps", "Gb/s", "payload of messages that completed at the receiver"},
    Metric{"mac_gbps", "Gb/s", "bits of the senders' frames, headers and FCS included, that were delivered"},
    Metric{"raw_gbps", "Gb/s", "bits of all frames that went onto the wire, repeated ones included"},
    Metric{"message_rate", "M/s", "messages completed"},
    Metric{"call_rate", "M/s", "calls answered (rpc, parameter_server)"},
    Metric{"latency_us", "us", "of a message, median (ping_pong: half a round trip; calls: from call to answer)"},
    Metric{"latency_mean_us", "us", "the same, mean"},
    Metric{"latency_p99_us", "us", "of a message, 99th percentile"},
    Metric{"pcie_gbps", "Gb/s", "bytes over the bus of the busier card, both directions, TLP overhead included"},
    Metric{"pcie_extra_gbps", "Gb/s", "bytes over the bus that are no payload of messages"},
    Metric{"pcie_control_percent", "%",
           "bytes over the bus that loss recovery caused, of all; of the card where they are most"},
    Metric{"context_misses", "1/message", "contexts that were not on chip"},
    Metric{"work_misses", "1/message", "work entries that were not on chip though the card has a cache for them"},
    Metric{"translation_misses", "1/message", "translations that were not on chip"},
    Metric{"pcie_down_use", "%", "of the time that the bus to a card was busy, the largest"},
    Metric{"pcie_up_use", "%", "of the time that the bus from a card was busy, the largest"},
    Metric{"wire_use", "%", "of the time that the sender's link was busy"},
    Metric{"server_link_use", "%", "of the server's link, its busier direction: frames of all kinds, preambles, gaps"},
    Metric{"pipeline_use", "%", "of the time that a sender's pipeline was busy, the largest"},
    Metric{"asker_busy_percent", "%",
           "of a core: what a thread takes to post and to take completions, where operations are posted"},
    Metric{"answerer_busy_percent", "%", "the same, where they are answered; looking in vain is not counted"},
    Metric{"retransmitted_percent", "%", "packets sent again, of all"},
    Metric{"dropped_percent", "%", "packets that a switch or a card had no room for, of all"},
    Metric{"pausing_percent", "%",
           "of the time that a receiver of messages paused its peer or the switch, the largest"},
    Metric{"paused_percent", "%", "of the time that senders of messages were paused, mean of them"},
    Metric{"span_ms", "ms", "simulated time that what is measured takes, from the first message to the last"},
    Metric{"estimate_error_percent", "%",
           "of HyperLogLog's estimates, against what was sent: root of the mean square over queue pairs"},
    Metric{"tlb_splits", "1/message", "accesses that are split because they go across the end of a page of the TLB"},
    Metric{"events", "1/message", "events of the simulation itself"},
    // A signalled operation's way, by the measuring points of Azure's Estats: T1 posted, T2 its work entry is on the
    // card, T3 its last packet has left, T4 its acknowledgement or response is here, T5 its completion is generated, T6
    // the program has polled it. Means.
    Metric{"t12_us", "us", "T2 - T1: doorbell and fetching of work"},
    Metric{"t23_us", "us", "T3 - T2: fetching of payload, and waiting for the wire"},
    Metric{"t34_us", "us", "T4 - T3: the network and the other card, both ways"},
    Metric{"t45_us", "us", "T5 - T4: what the card does with the answer"},
    Metric{"t56_us", "us", "T6 - T5: the completion's way to the program"},
    Metric{"t16_us", "us", "T6 - T1: all of it"},
};

}  // namespace weft::lab
