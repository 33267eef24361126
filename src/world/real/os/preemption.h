// Where it matters that a thread may lose its processor just now. Nothing happens here in a program; in scenes
// (tests/real_parts) somebody else runs.
#pragma once

namespace weft::real {

inline void may_be_preempted() {}

}  // namespace weft::real
