// Moves of a device's running connections to other dialects or roles of StaR: carries out at each queue pair what its
// part of a move (host/star/move.h) orders, and looks after those that are under way.
#pragma once

#include <vector>

#include "host/device.h"
#include "host/star/move.h"

namespace weft::host {

// What moves need of the world around them.
class MoverWorld {
 public:
  virtual ~MoverWorld() = default;
  // To the peer of this queue pair, somehow; it may be lost.
  virtual void say(const QueuePair& qp, const wire::MoveMad& m) = 0;
  // The peer asks for this, and the queue pair could do it. Is it welcome?
  [[nodiscard]] virtual bool agrees(const QueuePair& qp, const wire::MoveMad& asked) = 0;
  // A move to this role begins: its packets may come soon. Is all there that they need? Until it is, nobody changes.
  virtual void prepare(StarRole role) = 0;
  [[nodiscard]] virtual bool is_prepared(StarRole role) = 0;
  // It speaks something else now; posters that others keep are void.
  virtual void moved(QueuePair& qp) = 0;
  // Nothing came of a move that this side wanted.
  virtual void refused(QueuePair& qp) = 0;
  // Nobody knows what the peer speaks, and it says nothing: the connection is to break.
  virtual void lost_peer(QueuePair& qp) = 0;
};

class Mover {
 public:
  Mover(Device& device, MoverWorld& world, const MoveTimes& times) : device_(device), world_(world), times_(times) {}

  // The connection is to speak this, and in StaR to play this role. False: it cannot, or does so already, or moves.
  bool begin(Time now, QueuePair& qp, nic::Dialect dialect, StarRole role);
  // The peer of this queue pair has said something of a move.
  void hear(Time now, QueuePair& qp, const wire::MoveMad& m);
  void on_time(Time now);
  [[nodiscard]] Time next_deadline() const { return next_; }
  // Moves that are under way.
  [[nodiscard]] std::size_t under_way() const { return under_way_.size(); }

  // The part that this side plays, whoever has asked.
  [[nodiscard]] static StarRole role_in(const wire::MoveTarget& target, bool is_asker);

 private:
  [[nodiscard]] Move& part_of(QueuePair& qp);
  [[nodiscard]] Move::Own own(const QueuePair& qp, StarRole role);
  void carry_out(QueuePair& qp, const Move::Orders& orders);
  void watch(const QueuePair& qp);

  Device& device_;
  MoverWorld& world_;
  const MoveTimes times_;
  std::vector<wire::Qpn> under_way_;
  Time next_ = kNever;
};

}  // namespace weft::host
