// A program that has polled in vain for a while lets others have its processor.
#pragma once

namespace weft::real {

// Two programs that poll may find themselves on one processor, taking turns while another is idle. The kernel moves
// neither for long, because both have just run. So a thread that finds time and again that others ran while it yielded
// moves to another of its processors, and may then be moved as before.
void yield_processor();

}  // namespace weft::real
