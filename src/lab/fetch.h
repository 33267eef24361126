// Programs that take something out of a server's memory, one thing at a time on each queue pair: the value of a random
// key of a linked list or a hash table, or an object with a checksum. By READs, a round trip for each step; or by a
// call of a kernel, which takes the steps on the server's card.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/workload.h"

namespace weft::lab {

// What the server has: a structure that all queue pairs take from, or an object for each.
[[nodiscard]] std::uint64_t fetched_memory(const Setting& setting);

// Its program has nothing to do but to have it there. An object is found to be changing as often as `failures` says:
// its owner has written a part of it when the kernel reads it, and all of it when the kernel reads it again.
class FetchServer final : public Side {
 public:
  using Side::Side;
  [[nodiscard]] bool asks() const override { return false; }
  void start(Time now);
  void before_kernel_reads(const void* at, std::size_t bytes) override;

 private:
  void take(Time&, std::uint32_t, const nic::Completion&) override {}
  void make_chain(std::uint32_t elements);
  std::vector<bool> changing_;  // by object
};

class FetchClient final : public Side {
 public:
  FetchClient(const Setting& setting, Station& station, std::uint32_t number, Peers peers, Meter& meter,
              std::uint64_t seed);
  [[nodiscard]] bool asks() const override { return true; }
  void start(Time now);
  void on_written(Time now, std::uint32_t end) override;
  // From posting to having what was wanted, of what is measured.
  [[nodiscard]] const std::vector<Time>& latencies() const { return latencies_; }

 private:
  struct Fetch {
    Time began = 0;
    std::uint32_t element = 0;  // that has the key,
    std::uint32_t next = 0;     //   and the one that is read next
    bool has_failed = false;
  };
  bool begin(Time& at, std::uint32_t thread) override;
  void take(Time& at, std::uint32_t thread, const nic::Completion& done) override;
  void fetch(Time& at, std::uint32_t end);
  void read(Time& at, std::uint32_t end);
  void read_some(Time& at, std::uint32_t end, std::uint64_t from, std::uint32_t bytes);
  void call(Time& at, std::uint32_t end);
  void finish(Time& at, std::uint32_t end);
  [[nodiscard]] std::byte* answer(std::uint32_t end) const;

  std::vector<Fetch> fetches_;           // by queue pair
  std::vector<Time> free_at_;            // by thread
  std::vector<std::uint32_t> to_begin_;  // by thread: the next of its queue pairs
  std::vector<Time> latencies_;
};

}  // namespace weft::lab
