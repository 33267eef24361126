// The broker: a small process that owns port 4791 and StaR's two of the addresses that programs of one user share. It
// opens the sockets and hands each program its own, answers for QP1, knows who listens where, and introduces programs
// on one host to each other. Started by the first program, gone soon after the last. No data passes through it.
#pragma once

#include <memory>

#include "world/real/os/descriptor.h"

namespace weft::real {

// Serves until nobody is left. 0, or 1 with a sentence on standard error. When there is a broker already, 0 at once.
int serve_as_broker();

// A broker that its owner drives: for tests, in one thread and one process. It serves whoever calls at `listener`.
class BrokerTurns {
 public:
  explicit BrokerTurns(Descriptor listener);
  ~BrokerTurns();
  // What there is to do now.
  void turn();

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace weft::real
