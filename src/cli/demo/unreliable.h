// Messages that arrive or do not: unreliable connections and datagrams. What arrives must be right, and what does not
// must not be half there.
#pragma once

#include <vector>

#include "cli/demo/station.h"

namespace weft::cli {

// One direction of an unreliable connection.
class UnreliableLane {
 public:
  UnreliableLane(Stage stage, DemoStation& from, DemoStation& to, std::uint64_t number);
  [[nodiscard]] Task<> send();
  [[nodiscard]] Task<> receive();  // runs for ever

 private:
  void post_receive(std::uint64_t slot);

  Stage stage_;
  std::uint64_t number_;
  std::vector<Duration> posted_;
  DemoEnd from_, to_;
};

// A host's datagram queue pair. All of them talk to all others.
class DatagramPost {
 public:
  DatagramPost(Stage stage, DemoStation& station);
  // To each of `others`, which must stay where they are.
  [[nodiscard]] Task<> send(const std::vector<DatagramPost*>& others);
  [[nodiscard]] Task<> receive(const std::vector<DatagramPost*>& others);  // runs for ever

 private:
  void post_receive(std::uint64_t slot);
  [[nodiscard]] bool check(const std::vector<DatagramPost*>& others, const Completion& got);

  Stage stage_;
  std::vector<Duration> posted_;
  DemoEnd end_;
};

}  // namespace weft::cli
