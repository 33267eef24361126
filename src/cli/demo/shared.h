// Several connections that take their receives from one shared queue. It is kept short, and filled again when the card
// says that it is below its limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cli/demo/station.h"

namespace weft::cli {

// A host's shared receive queue and the memory of its receives.
class SharedInbox {
 public:
  SharedInbox(Stage stage, DemoStation& station);
  // Fills the queue whenever it is low. Runs for ever.
  [[nodiscard]] Task<> keep();

  [[nodiscard]] const SharedReceiveQueue& queue() const { return queue_; }
  [[nodiscard]] std::span<std::byte> slot(std::uint64_t number, std::size_t length);
  void give_back(std::uint64_t slot) { free_.push_back(slot); }

 private:
  void fill_up();

  Stage stage_;
  DemoStation& station_;
  Buffer memory_;
  SharedReceiveQueue queue_;
  std::vector<std::uint64_t> free_;
};

// A connection whose far end takes its receives from an inbox.
class SharedLane {
 public:
  SharedLane(Stage stage, DemoStation& from, DemoStation& to, SharedInbox& inbox, std::uint64_t number);
  [[nodiscard]] Task<> run();

 private:
  [[nodiscard]] Task<bool> burst();

  Stage stage_;
  std::uint64_t number_;
  std::uint64_t sent_ = 0;
  SharedInbox& inbox_;
  DemoEnd from_, to_;
};

}  // namespace weft::cli
