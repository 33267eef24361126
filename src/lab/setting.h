// One run of an experiment: which cards, how they are connected, what their programs do, for how long, from which seed.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "lab/profile.h"

namespace weft::lab {

enum class Operation : std::uint8_t { send, write, read, rpc_write };  // rpc_write: payload for a kernel
enum class Pattern : std::uint8_t {
  stream,            // every queue pair keeps `depth` messages under way, as perftest's bandwidth tests do
  ping_pong,         // one message at a time, answered by one of the same size: latency is half of that
  rpc,               // calls of several messages, each answered by one (calls.h)
  parameter_server,  // the same, but nobody is answered before everybody has called
  fetch,             // something out of the server's memory, then the next (fetch.h)
};

// What is fetched from.
enum class FetchFrom : std::uint8_t {
  list,    // linked, of `elements`, each of which leads to a value of `bytes`
  table,   // hashed, whose entries lead to such values
  object,  // `bytes`, with a checksum behind them
};
// What RPC WRITEs are for.
enum class StreamKernel : std::uint8_t { shuffle, distinct };

// Whose cards keep no connection state (StaR); those of the others keep it for them.
enum class StatelessCards : std::uint8_t { nobody, server, clients };

enum class Asker : std::uint8_t { clients, server };
enum class LostOn : std::uint8_t {
  both_ways,
  way_out,  // of whoever asks: what comes back always arrives
};

struct Setting {
  Profile profile;  // of every card
  StatelessCards stateless = StatelessCards::nobody;

  // The fabric: clients connected to one server, by a cable if there is one client and by a switch if there are more.
  std::uint32_t clients = 1;
  std::uint64_t link_bits_per_second = 0;  // 0: the profile's
  Time link_delay = nanoseconds(100);      // of each link
  std::uint64_t switch_buffer_bytes = 0;   // of all its ports together; 0: without end, and nobody is paused
  double switch_alpha = 0;                 // a port's share of what is free of it; 0: SONiC's
  double loss = 0;                         // of packets, at random, on links from cards
  LostOn lost_on = LostOn::both_ways;

  // The workload. Whoever asks posts the operations; the others answer.
  Asker asker = Asker::clients;
  Operation operation = Operation::send;
  Pattern pattern = Pattern::stream;
  std::uint32_t bytes = 512;  // of a message
  std::uint32_t mtu = 1024;
  std::uint32_t qps = 128;          // in all
  std::uint32_t threads = 16;       // of each host
  std::uint32_t depth = 16;         // messages under way for each queue pair
  std::uint32_t receive_depth = 0;  // receives posted for each queue pair; 0: twice depth, or twice a call
  std::uint32_t signal_every = 1;
  std::uint32_t call_messages = 3;                      // of a call, in rpc and parameter_server
  FetchFrom structure = FetchFrom::object;              // that is fetched from,
  bool by_kernel = false;                               //   by calls of a kernel, or else by READs
  std::uint32_t elements = 8;                           // of a list or table
  double failures = 0;                                  // of objects: found to be changing, and right the next time
  StreamKernel stream_kernel = StreamKernel::distinct;  // of the server, that takes RPC WRITEs
  std::uint32_t partitions = 1024;                      // of shuffle
  std::uint64_t work_bits_per_second = 0;  // that a thread works on a message, before it posts it or after a READ
  std::uint32_t group_size = 0;  // connections that take turns with others in groups (group_schedule.h); 0: none do
  Time group_slot = microseconds(20);  // how long it is a group's turn
  std::uint32_t ack_timeout = 14;      // 4.096 us times 2 to the power of it, IBA 9.7.6.1.3: perftest's default, 67 ms
  std::uint32_t inline_bytes = 0;      // messages up to this size travel in their work entry
  // The memory that messages come from and go to, spread evenly; 0: each queue pair has a buffer, as in perftest.
  std::uint64_t region_bytes = 0;
  std::uint64_t page_bytes = 4096;

  // Messages, all queue pairs together: those that are measured, and those before. 0: enough for every queue pair to
  // have had several turns.
  std::uint64_t messages = 0, warm_up_messages = 0;
  std::uint64_t total_bytes = 0;        // not 0: so many bytes of messages are measured, instead
  Time time_limit = milliseconds(500);  // of simulated time; a run that has not ended by then has failed
  std::uint64_t seed = 1;
};

[[nodiscard]] inline bool calls(const Setting& s) {
  return s.pattern == Pattern::rpc || s.pattern == Pattern::parameter_server;
}
// Does anybody call a kernel?
[[nodiscard]] inline bool calls_kernels(const Setting& s) {
  return s.pattern == Pattern::fetch ? s.by_kernel : s.operation == Operation::rpc_write;
}
[[nodiscard]] inline std::uint32_t receive_depth(const Setting& s) {
  return s.receive_depth != 0 ? s.receive_depth : 2 * (calls(s) ? s.call_messages : s.depth);
}
// Room of each send queue. Of calls there is room for as many as may be uncompleted, and one. Answers that are looked
// for in memory may come before acknowledgements.
[[nodiscard]] inline std::uint32_t send_entries(const Setting& s) {
  constexpr std::uint32_t kUnacknowledged = 8;
  if (calls(s)) return 4 * s.call_messages;
  const bool polls =
      s.pattern == Pattern::fetch || (s.pattern == Pattern::ping_pong && s.operation == Operation::write);
  return s.depth + (polls || calls_kernels(s) ? kUnacknowledged : 0);
}
[[nodiscard]] inline std::uint64_t link_rate(const Setting& s) {
  return s.link_bits_per_second != 0 ? s.link_bits_per_second : s.profile.link_bits_per_second;
}

}  // namespace weft::lab
