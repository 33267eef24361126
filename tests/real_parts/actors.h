// Who acts in a scene: the program and the thread of each lane, each a fiber that runs until it waits for something.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include <poll.h>

#include "real_parts/fiber.h"
#include "real_parts/times.h"

namespace weft::scene {

// Thrown out of whatever an actor does when its lane is killed.
struct Killed {};

struct Actor {
  std::size_t lane = 0;
  bool is_thread = false;
  bool is_dead = false;
  bool program_drives = false;  // as far as its last wait says
  // Until when it waits, and for what.
  Time until = 0;
  int fd = -1;
  std::function<bool()> condition{};
  std::unique_ptr<Fiber> fiber{};

  [[nodiscard]] bool is_over() const { return fiber->is_over(); }
};

class Actors {
 public:
  // A number from 1 on.
  std::size_t add(std::size_t lane, bool is_thread, std::function<void()> body) {
    auto actor = std::make_unique<Actor>();
    actor->lane = lane;
    actor->is_thread = is_thread;
    actor->fiber = std::make_unique<Fiber>([body = std::move(body)] {
      try {
        body();
      } catch (const Killed&) {
      }
    });
    all_.push_back(std::move(actor));
    return all_.size();
  }
  [[nodiscard]] Actor& operator[](std::size_t number) { return *all_[number - 1]; }
  [[nodiscard]] const std::vector<std::unique_ptr<Actor>>& all() const { return all_; }
  // Nullptr: nobody acts, and whoever calls belongs to no lane.
  [[nodiscard]] Actor* current() const { return current_; }

  void resume(Actor& actor) {
    current_ = &actor;
    actor.fiber->resume();
    current_ = nullptr;
  }

  // Those of lanes that are not stopped, who can do something now.
  template <class IsStopped>
  const std::vector<Actor*>& ready(Time now, const IsStopped& is_stopped) {
    ready_.clear();
    waiting_.clear();
    polled_.clear();
    for (const auto& actor : all_) {
      if (actor->is_over() || is_stopped(actor->lane)) continue;
      if (now >= actor->until || (actor->condition && actor->condition())) {
        ready_.push_back(actor.get());
      } else if (actor->fd >= 0) {
        waiting_.push_back(actor.get());
        polled_.push_back({actor->fd, POLLIN, 0});
      }
    }
    if (!polled_.empty() && ::poll(polled_.data(), polled_.size(), 0) > 0) {
      for (std::size_t i = 0; i < polled_.size(); ++i) {
        if (polled_[i].revents != 0) ready_.push_back(waiting_[i]);
      }
    }
    return ready_;
  }

 private:
  std::vector<std::unique_ptr<Actor>> all_;
  Actor* current_ = nullptr;
  std::vector<Actor*> ready_, waiting_;
  std::vector<pollfd> polled_;
};

}  // namespace weft::scene
