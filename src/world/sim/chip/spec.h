// What a card costs as hardware: the numbers that the timing shell charges by. Profiles (profiles/*.toml) set them,
// each with its source; 0 is free or without limit unless it says otherwise.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "nic/caches/cache_tags.h"

namespace weft::sim {

struct PcieSpec {
  std::uint32_t generation = 0;  // 1 ... 5; 0: the bus costs nothing
  std::uint32_t lanes = 16;
  std::uint32_t max_payload = 256;       // bytes of a write or a completion (MPS)
  std::uint32_t max_read_request = 512;  // MRRS
  std::uint32_t tags = 0;                // read requests under way
  Time read_latency = 0;                 // from asking to the first byte of the answer, on an idle bus
  Time read_jitter = 0;                  // that a request takes more or less, drawn evenly
  Time write_latency = 0;                // from the card to what the host sees
  Time doorbell_latency = 0;             // from the store to the card
  Time command_time = 0;                 // that a read or write of payload keeps the engine for its direction busy
};

struct CacheSpec {
  std::uint32_t entries = 0;  // 0: no cache, all of it is on chip
  nic::CacheShape shape{};
  std::uint32_t entry_bytes = 0;  // what a miss reads, and a changed entry that makes room writes back
};

// Where the card has what is under way: work that was sent and receives that were begun, READs that are being answered,
// and in srnic notes on what is out of order and what is to be sent again (nic::BusRead names them).
enum class UnderWay : std::uint8_t {
  host_memory,  // nothing is kept: it is read when something is heard of it, and changes are written
  on_chip,      // the card keeps it
};

// Kernels on the card. They run at the chip's clock.
struct KernelSpec {
  std::uint32_t datapath_bytes = 0;  // that a kernel takes in a cycle; 0: any number
  std::uint32_t step_cycles = 0;     // of latency, from what a step is given to what it asks for or says
  // What a kernel has written and the bus has not taken yet; with more it waits. 0: it never does.
  std::uint32_t write_buffer_bytes = 0;
};

// Translations of large pages, all of them on chip: what they do not reach cannot be registered, and no access goes
// across the end of a page.
struct TlbSpec {
  std::uint32_t entries = 0;  // 0: the card has no such table
  std::uint64_t page_bytes = 0;
};

struct ChipSpec {
  double clock_mhz = 0;              // 0: any number of cycles takes no time
  std::uint32_t datapath_bytes = 0;  // that move in a cycle
  // Cycles. Latencies first, then what keeps a stage busy.
  std::uint32_t transmit_cycles = 0, receive_cycles = 0;
  std::uint32_t turn_cycles = 0, work_cycles = 0, packet_cycles = 0;

  PcieSpec pcie{};
  bool doorbell_carries_work = false;  // the first entry of an idle queue comes with its doorbell (write-combining)
  bool posts_on_chip = false;  // each post is a store with its whole entry, and the card keeps that until it is done
  std::uint32_t completion_bytes = 64;

  CacheSpec contexts{};
  std::uint32_t misses_under_way = 0;  // reads of contexts, work entries and translations that were not on chip
  // Reads of work and receive entries wait in the queue of the DMA unit, which holds nobody else up: they are no such
  // misses, and limited by the bus and its tags alone.
  bool entries_queue = false;
  UnderWay under_way = UnderWay::host_memory;
  // Of stateless connections (StaR). What their packets and posts need of host memory is asked for and waited for by
  // nobody else; so many such reads may be under way, beside misses_under_way. 0: as many as the bus has tags.
  std::uint32_t stateless_reads = 0;
  std::uint32_t capability_cycles = 0;  // from a capability to its MAC; the unit is a pipeline and keeps nobody waiting
  std::uint32_t rule_cycles = 0;        // of a stateful card's registry: from a key to what it opens
  KernelSpec kernels{};
  TlbSpec tlb{};
  std::uint64_t sram_bytes = 0;  // what the chip has; a profile that needs more is refused

  std::uint32_t transmit_buffer_bytes = 0, receive_buffer_bytes = 0;
  bool pause = false;  // PFC: a receive buffer that fills pauses the peer; without it, what does not fit is dropped

  std::uint32_t control_bytes = 32;  // a message of the control queue
  // What the host's retransmission software takes for one: that a packet came out of order, and all other news.
  Time control_arrival_time = 0, control_news_time = 0;
  Time rewind_delay = 0;  // from hearing that packets are missing to going back (go-back-N)
};

// What the host's threads cost.
struct ThreadSpec {
  Time post = 0;        // a work request
  Time doorbell = 0;    // the store that rings it
  Time poll = 0;        // looking, and finding nothing
  Time completion = 0;  // taking one
};

}  // namespace weft::sim
