#include "world/sim/faults.h"

#include <algorithm>

namespace weft::sim {

bool LinkFaults::let_go(std::uint32_t ticket, ParcelId& parcel) {
  const auto found = std::find_if(held_.begin(), held_.end(), [&](const Held& one) { return one.ticket == ticket; });
  if (found == held_.end()) return false;
  parcel = found->parcel;
  held_.erase(found);
  return true;
}

}  // namespace weft::sim
