// A stream of RPC WRITEs for a kernel of the server: it is begun by a call, fed by the messages, and when enough have
// been seen, a last call asks what the kernel has made of them. That must be all that was sent.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lab/workload.h"

namespace weft::lab {

[[nodiscard]] std::uint64_t stream_opcode(const Setting& setting);
// Of the server, for each queue pair: what the kernel writes, and before that what it has to know.
[[nodiscard]] std::uint64_t stream_memory(const Setting& setting);

class KernelStream final : public StreamClient {
 public:
  using StreamClient::StreamClient;
  void start(Time now);
  void on_written(Time now, std::uint32_t end) override;
  // All kernels have answered.
  [[nodiscard]] bool is_finished() const { return answered_ == station_.ends.size(); }
  // Of HyperLogLog, as parts of the true number, by queue pair.
  [[nodiscard]] const std::vector<double>& errors() const { return errors_; }

 private:
  bool begin(Time& at, std::uint32_t thread) override;
  void take(Time& at, std::uint32_t thread, const nic::Completion& done) override;
  void call(Time& at, std::uint32_t end, bool finish);
  [[nodiscard]] std::byte* values(std::uint32_t end) const;
  [[nodiscard]] std::uint64_t answer_offset() const;

  std::vector<std::uint32_t> first_;  // by queue pair: of its messages, in its send queue
  std::vector<std::uint32_t> sent_;   // when it is asked; 0: it has not been
  std::uint32_t answered_ = 0;
  std::vector<double> errors_;
};

// What shuffle needs to know lies in the server's memory.
class KernelStreamServer final : public Side {
 public:
  using Side::Side;
  [[nodiscard]] bool asks() const override { return false; }
  void start(Time now);

 private:
  void take(Time&, std::uint32_t, const nic::Completion&) override {}
};

}  // namespace weft::lab
