// What flipped bits do to a packet. Only here do packets of the simulated world become bytes: as IP packets with their
// ICRC, damaged, and read again as a receiving port reads them.
#pragma once

#include "world/sim/parcel.h"
#include "world/sim/random.h"

namespace weft::sim {

// Flips one bit, or now and then a burst of up to four bytes. Afterwards either parcel.refusal says why its receiver
// will refuse it, or, if the damage hit what no check covers, the parcel is what was read. Where it goes does not
// change.
void corrupt(Parcel& parcel, Random& random);

}  // namespace weft::sim
