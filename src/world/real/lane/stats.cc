#include "world/real/lane/stats.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace weft::real {
namespace {

struct Lanes {
  std::mutex lock;
  std::vector<PrintsStats*> open;
};
// Never destroyed: lanes may outlive everything that is.
Lanes& lanes() {
  static Lanes& all = *new Lanes;
  return all;
}

void print_all() {
  const std::lock_guard guard(lanes().lock);
  for (PrintsStats* lane : lanes().open) lane->print_stats();
}

}  // namespace

void remember_to_print(PrintsStats& lane) {
  static const int registered = std::atexit(print_all);
  (void)registered;
  const std::lock_guard guard(lanes().lock);
  lanes().open.push_back(&lane);
}

void forget_to_print(PrintsStats& lane) {
  const std::lock_guard guard(lanes().lock);
  std::erase(lanes().open, &lane);
}

}  // namespace weft::real
