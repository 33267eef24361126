// weft-kernels: calls each kernel that comes with Weft, of a peer's card and of its own, and says what it has found.
#include <cstdio>

#include "ends.h"

int main() {
  tour::Ends ends;
  if (tour::call_kernels_of_a_peer(ends) && tour::call_own_kernels(ends)) return 0;
  std::fflush(stdout);
  examples::give_up("that is not what it should be");
}
