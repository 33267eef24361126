// weft bench loss: what is left of a connection's goodput when packets are lost, with selective repeat (srnic) and with
// go-back-N (roce), measured in turn.
#pragma once

#include <string>

namespace weft::cli {

struct LossBench {
  std::string weft;     // path of the weft command
  std::string address;  // where the programs meet
  unsigned rounds = 5;
  bool json = false;
};

// The exit code.
[[nodiscard]] int run_loss_bench(const LossBench& bench);

}  // namespace weft::cli
