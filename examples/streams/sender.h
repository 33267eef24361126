// The sender: streams in each of several ways, and how fast they were.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/card.h"
#include "introduction.h"

namespace streams {

// Plain WRITEs; a kernel that does nothing; and those that ship.
inline constexpr std::array kWays{"write", "dropped", "filter", "distinct", "checksum", "shuffle"};

class Sender {
 public:
  // Messages of so many bytes.
  Sender(const examples::Socket& receiver, std::uint32_t message_bytes);

  // Bytes a second.
  [[nodiscard]] double measure(const std::string& way, std::uint32_t milliseconds);

 private:
  static constexpr std::uint32_t kDepth = examples::Card::kEntries;
  static constexpr std::size_t kAnswerBytes = 4096;  // at the begin of the memory; messages lie behind

  std::uint64_t send_stream(const std::string& way, std::int64_t until_ns);
  void post(const std::string& way, std::uint32_t slot);
  void begin(const std::string& way);
  void finish(const std::string& way);
  template <class Parameters>
  void call(const std::string& way, Parameters parameters);
  [[nodiscard]] std::uint32_t poll();

  std::uint32_t message_bytes_;
  examples::Card card_{64};
  std::vector<std::byte> memory_;
  ibv_mr* mr_;
  examples::QueuePair qp_;
  Introduction peer_;
  std::uint32_t next_ = 0;
};

}  // namespace streams
