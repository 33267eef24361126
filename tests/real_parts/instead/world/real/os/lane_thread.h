// In the place of src/world/real/os/lane_thread.h: a fiber of the scene.
#pragma once

#include <cstddef>

#include "real_parts/stage.h"
#include "world/real/os/time.h"

namespace weft::real {

class LaneThread {
 public:
  template <class Run>
  [[nodiscard]] bool start(Run run) {
    number_ = scene::start_thread(run);
    return true;
  }
  [[nodiscard]] bool joinable() const { return number_ != 0; }
  void join() {
    scene::join_thread(number_);
    number_ = 0;
  }

 private:
  std::size_t number_ = 0;
};

inline void yield_processor() { scene::yield_processor(); }
inline void doze(Time how_long) { (void)scene::wait_to_read(-1, how_long); }

}  // namespace weft::real
