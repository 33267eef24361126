// The hosts of a setting, connected: clients, a server, and queue pairs between them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lab/setting.h"
#include "world/sim/chip/chip_host.h"

namespace weft::lab {

// Each direction of each cable is such a link.
[[nodiscard]] sim::LinkSpec link_for(const Setting& setting);

// Can cards pause their neighbours? With a receive buffer that has an end, and a neighbour that would wait.
[[nodiscard]] bool can_pause(const Setting& setting);

// Buffers of one queue pair. A stream has one for all of its messages, as perftest; calls have one for each receive
// that stands posted, and one for what is sent.
[[nodiscard]] inline std::uint64_t buffers(const Setting& setting) {
  return calls(setting) ? receive_depth(setting) + std::uint64_t{1} : 1;
}
// The size of one queue pair's buffer: whole pages, as perftest allots them.
[[nodiscard]] std::uint64_t buffer_bytes(const Setting& setting);

// Room behind it where kernels answer, or what is fetched has a checksum.
inline constexpr std::uint64_t kAnswerBytes = 128;
// Of a host's region; `qps` end there.
[[nodiscard]] std::uint64_t memory_bytes(const Setting& setting, bool serves, std::uint32_t qps);

// One end of a connection, as its thread holds it.
struct End {
  host::QueuePair* qp = nullptr;
  host::Poster poster;
  std::uint32_t thread = 0;
};

// A host, its threads' completion queues, and its ends of connections.
struct Station {
  Station(sim::ChipFabric& fabric, const wire::Address& address, const Setting& setting, std::uint32_t qps,
          std::uint32_t receive_entries, bool serves, std::uint64_t seed);

  sim::ChipHost host;
  std::uint32_t receive_entries;  // of each queue pair
  host::Domain domain = 0;
  std::vector<host::CompletionQueue*> cqs;  // by thread
  std::vector<End> ends;
  std::byte* memory = nullptr;  // written only where kernels are: payloads are lengths
  std::uint64_t address = 0, bytes = 0;
  wire::Key key{};

 private:
  std::unique_ptr<std::byte[]> all_;  // `memory`, and what lies before its first page
};

class Testbed {
 public:
  // Throws std::runtime_error if the cards cannot have what the setting wants.
  explicit Testbed(const Setting& setting);

  [[nodiscard]] sim::ChipFabric& fabric() { return fabric_; }
  [[nodiscard]] Station& server() { return *stations_.front(); }
  [[nodiscard]] std::uint32_t clients() const { return static_cast<std::uint32_t>(stations_.size() - 1); }
  [[nodiscard]] Station& client(std::uint32_t i) { return *stations_[i + 1]; }

 private:
  void connect_all(const Setting& setting);
  End add_end(const Setting& setting, Station& station);
  static void bring_up(const Setting& setting, host::QueuePair& qp, const wire::Address& peer, wire::Qpn peer_qpn);

  sim::ChipFabric fabric_;
  std::vector<std::unique_ptr<Station>> stations_;
};

}  // namespace weft::lab
