// A program and its lane: it posts, polls, computes, sleeps until there is an event, and uses memory again as soon as
// it may. It looks at every byte that it was told has arrived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "real_parts/ledger.h"
#include "real_parts/memory.h"
#include "real_parts/times.h"
#include "world/real/lane/lane.h"

namespace weft::scene {

class Scene;

class Program final : public real::LaneOwner {
 public:
  static constexpr std::size_t kRounds = 3;  // in which all programs get ready

  Program(Scene& scene, std::size_t index, Ledger& ledger, const SceneSpec& spec);

  [[nodiscard]] std::size_t index() const { return index_; }
  [[nodiscard]] real::Lane& lane() { return lane_; }
  [[nodiscard]] Arena& arena() { return arena_; }

  // All that it does.
  void live();
  [[nodiscard]] bool is_done() const;
  // It shall do this as soon as it can.
  void intend(const FaultSpec& fault) { intentions_.push_back(fault); }

  // The target of a message that has arrived; "" or what is wrong with it.
  [[nodiscard]] std::string look_at(const Message& m) const;

  bool dead = false, dies_inside = false;
  Time stopped_until = 0;

  void on_completion_event(std::uint32_t) override { event_ = true; }
  void on_async_event() override {}
  void on_mad(const wire::Address&, const wire::Address&, std::span<const std::byte>) override {}

 private:
  // -- before anything happens
  void make_queue_pairs();
  void connect();
  void register_memory();

  void step();
  [[nodiscard]] bool may_post(const Side& side, const Connection& c) const;
  [[nodiscard]] bool can_post() const;
  void post_row();
  void post(std::size_t connection, std::size_t side);
  void post_receives(std::size_t connection, std::size_t side);
  std::size_t poll();
  void on_completion(const nic::Completion& done);
  void on_sent(const WorkId& id, const nic::Completion& done);
  void on_received(const WorkId& id, const nic::Completion& done);
  void on_error(Side& side, const nic::Completion& done);
  void reuse(const Message& m);
  [[nodiscard]] bool carry_out(const FaultSpec& intention);
  void change_driver();
  [[nodiscard]] bool drop_region(Connection& c, std::size_t side);
  [[nodiscard]] bool drop_queue_pair(Connection& c, std::size_t side);
  [[nodiscard]] bool is_mine(const Side& side) const { return side.lane == index_; }

  Scene& scene_;
  std::size_t index_;
  Ledger& ledger_;
  Habit habit_;
  Arena arena_;
  real::Lane lane_;
  host::Domain domain_{};
  std::uint32_t channel_ = 0;
  host::CompletionQueue* cq_ = nullptr;
  std::vector<nic::Completion> taken_;
  std::vector<FaultSpec> intentions_;
  bool waits_ = false, event_ = false;
  Time at_ = 0;
};

}  // namespace weft::scene
