// A card in the middle of its life, and somebody who does everything to it: damaged and forged packets, work, time,
// regions and queue pairs that come and go. What happens next is chosen by chance or by a fuzzer's bytes. Whatever it
// is, these hold, or Attack::Broken is thrown:
//   * memory that nobody registered, that another domain registered or that nobody may write never changes;
//   * a packet changes no queue pair but the one it is addressed to;
//   * one packet costs the card a bounded number of packets;
//   * work completes once, in the order in which it was posted.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <stdexcept>

#include "frames.h"
#include "victim.h"

namespace weft::trust {

class Choices {
 public:
  virtual ~Choices() = default;
  // 0 ... below - 1
  virtual std::uint64_t next(std::uint64_t below) = 0;
  bool one_in(std::uint64_t n) { return next(n) == 0; }
};

class Attack {
 public:
  struct Broken : std::runtime_error {
    using std::runtime_error::runtime_error;
  };

  explicit Attack(Choices& choices);
  void step();
  // The connection that nobody has attacked carries data as ever.
  void check_bystander();

  [[nodiscard]] Victim& victim() { return victim_; }
  [[nodiscard]] std::uint64_t packets() const { return packets_; }

 private:
  struct Life {  // one queue pair's, from its creation to its end
    Connection c;
    std::uint64_t sends = 0, sends_done = 0, receives = 0, receives_done = 0;
  };
  static constexpr std::size_t kLives = 6, kSharing = 2;  // one of them has a shared receive queue
  // A fuzzer makes a card for each input: there is room for the areas, and for what lies around them.
  static constexpr std::size_t kMemoryBytes = 24 * 1024;

  // -- what can happen --
  void packet();
  void work();
  void receive();
  void change();
  void new_life(std::size_t i);
  void post_receives(Life& life, std::uint64_t count);

  // -- packets --
  [[nodiscard]] Crafted request(const Connection& c);
  [[nodiscard]] Crafted srnic_request(const Connection& c);
  [[nodiscard]] Crafted srnic_response(const Connection& c);
  [[nodiscard]] Crafted response(const Connection& c);
  [[nodiscard]] wire::Opcode choose_request(const nic::Context& context, wire::Service service);
  void damage(Bytes& frame);

  // -- choices --
  [[nodiscard]] Life& life() { return lives_[choices_.next(kLives)]; }
  [[nodiscard]] const Area& area() { return areas_[choices_.next(areas_.size())]; }
  [[nodiscard]] wire::Key key();
  [[nodiscard]] nic::Sge sge();

  // -- what must hold --
  void check(const Effects& effects, const Life* only);
  void check_completions(const Effects& effects);
  void check_shared();
  static void check_requester(const nic::Context& context);
  static void require(bool holds, const char* what) {
    if (!holds) throw Broken(what);
  }

  Choices& choices_;
  Victim victim_;
  std::array<Area, 4> areas_;
  Area untouchable_[2];
  std::deque<wire::Key> windows_;
  host::SharedReceiveQueue* srq_ = nullptr;
  Connection bystander_;
  std::array<Life, kLives> lives_;
  std::uint64_t packets_ = 0;
};

}  // namespace weft::trust
