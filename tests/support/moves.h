// Moves of running connections (host/star/mover.h) in a simulated world: a mover for each host, and what they say to
// each other, in bytes, through a network that is as bad as the links are.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "host/star/mover.h"
#include "support/bed.h"
#include "world/random.h"

namespace weft::test {

// Long enough for connections whose packets are sent again many times.
inline constexpr host::MoveTimes kMoveTimes{.look = microseconds(3),
                                            .first = microseconds(100),
                                            .longest = milliseconds(5),
                                            .asking = milliseconds(10),
                                            .emptying = milliseconds(60),
                                            .holding = milliseconds(200),
                                            .patience = seconds(30)};

class Moves {
 public:
  Moves(sim::World& world, std::deque<Node>& nodes, const BedSpec& spec);

  bool begin(Node& node, host::QueuePair& qp, host::StarRole role);
  [[nodiscard]] std::uint32_t made() const { return made_; }  // by either side; a whole move counts twice
  [[nodiscard]] std::uint32_t refused() const { return refused_; }
  [[nodiscard]] std::uint32_t lost() const { return lost_; }

  bool prepared = true;  // hosts have what StaR's packets need

  // How many copies of a datagram arrive, and how late each: instead of the weather, if a test says so.
  std::function<std::vector<Time>(const wire::MoveMad&)> fate{};

 private:
  using Bytes = std::array<std::byte, wire::kMadBytes>;
  class At final : public host::MoverWorld {
   public:
    At(Moves& all, Node& on) : node(on), mover(on.device(), *this, kMoveTimes), all_(all) {}
    void say(const host::QueuePair& qp, const wire::MoveMad& m) override { all_.say(*this, qp, m); }
    [[nodiscard]] bool agrees(const host::QueuePair&, const wire::MoveMad& asked) override {
      return asked.target.dialect == nic::Dialect::star || asked.target.dialect == all_.usual_;
    }
    void prepare(host::StarRole) override {}
    [[nodiscard]] bool is_prepared(host::StarRole) override { return all_.prepared; }
    void moved(host::QueuePair&) override { ++all_.made_; }
    void refused(host::QueuePair&) override { ++all_.refused_; }
    void lost_peer(host::QueuePair& qp) override {
      ++all_.lost_;
      node.host.lose_peer(qp);
    }

    Node& node;
    host::Mover mover;
    Time armed = kNever;

   private:
    Moves& all_;
  };

  void say(const At& from, const host::QueuePair& qp, wire::MoveMad m);
  void send(const At& from, At& to, const wire::MoveMad& m);
  [[nodiscard]] std::vector<Time> fate_of(const wire::MoveMad& m);
  sim::Task<> deliver(std::size_t from, At& to, Bytes mad, Time delay);
  sim::Task<> wake(At& at, Time when);
  void arm(At& at);

  sim::World& world_;
  nic::Dialect usual_;
  sim::LinkSpec link_;
  world::Random random_;
  std::deque<At> all_;
  std::uint32_t made_ = 0, refused_ = 0, lost_ = 0;
};

}  // namespace weft::test
