// --stats: counters on standard error when the program ends, whether it closes its devices before or not.
#pragma once

namespace weft::real {

class PrintsStats {
 public:
  virtual ~PrintsStats() = default;
  virtual void print_stats() = 0;
};

void remember_to_print(PrintsStats& lane);
void forget_to_print(PrintsStats& lane);

}  // namespace weft::real
