// In the place of src/world/real/lane/lane_lock.h: all of a scene is one thread, and who waits for the lock lets the
// others run. The real one is about what processors see of each other, which no scene can show.
#pragma once

#include "real_parts/stage.h"

namespace weft::real {

class LaneLock {
 public:
  LaneLock() = default;
  LaneLock(const LaneLock&) = delete;
  LaneLock& operator=(const LaneLock&) = delete;

  void lock() {
    while (!try_lock()) scene::wait_while(held_);
  }
  [[nodiscard]] bool try_lock() {
    if (held_) return false;
    held_ = true;
    return true;
  }
  void unlock() { held_ = false; }

 private:
  bool held_ = false;
};

}  // namespace weft::real
