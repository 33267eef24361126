// What flipped bits do to a packet. Only here do packets of the simulated world become bytes: as IP packets with their
// ICRC, damaged, and read again as a receiving port reads them.
#pragma once

#include "world/random.h"
#include "world/sim/parcel.h"

namespace weft::sim {

// Damages it as world/damage.h does. Afterwards either parcel.refusal says why its receiver
// will refuse it, or, if the damage hit what no check covers, the parcel is what was read. Where it goes does not
// change.
void corrupt(Parcel& parcel, world::Random& random);

}  // namespace weft::sim
