// Every verb of reliable connections, in both directions, checked byte for byte.
#pragma once

#include "cli/demo/pattern.h"
#include "cli/demo/station.h"

namespace weft::cli {

// Two ends and all that happens between them: one coroutine for both.
class ReliablePair {
 public:
  ReliablePair(Stage stage, DemoStation& a, DemoStation& b, std::uint64_t number);
  [[nodiscard]] Task<> run();

 private:
  // One message of each verb from one end to the other; false: the connection is broken.
  [[nodiscard]] Task<bool> round(DemoEnd& from, DemoEnd& to);
  [[nodiscard]] Task<bool> send(Row row, DemoEnd& from, DemoEnd& to, WorkRequest work);
  [[nodiscard]] Task<bool> write(Row row, DemoEnd& from, DemoEnd& to, WorkRequest work);
  [[nodiscard]] Task<bool> read(DemoEnd& from, DemoEnd& to);
  [[nodiscard]] Task<bool> compare_swap(DemoEnd& from, DemoEnd& to);
  [[nodiscard]] Task<bool> fetch_add(DemoEnd& from, DemoEnd& to);
  // A shared status in `to` that `from` writes through, and that is closed again.
  [[nodiscard]] Task<bool> window_one(DemoEnd& from, DemoEnd& to);
  [[nodiscard]] Task<bool> window_two(DemoEnd& from, DemoEnd& to);

  Stage stage_;
  Draw draw_;
  DemoEnd a_, b_;
  Window a_one_, a_two_, b_one_, b_two_;
};

}  // namespace weft::cli
