// All contexts of the program, for the moments that concern all of them.
//
// A fork: the card stays with the parent. The child's copy of a context is marked lost, so that it neither waits for a
// lock that no thread of its own will ever give back, nor drives the parent's card. It may open the device anew.
//
// The program's end: what its queue pairs still owe their peers leaves, also if the program has not closed the device.
#pragma once

namespace weft::verbs {

class Context;

void enlist(Context& context);
void strike(Context& context);

}  // namespace weft::verbs
