// A scene counts time as the real world does: in nanoseconds.
#pragma once

#include "world/real/os/time.h"

namespace weft::scene {

using real::microseconds;
using real::milliseconds;
using real::nanoseconds;
using real::seconds;

}  // namespace weft::scene
