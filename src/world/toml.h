// The TOML parser, as all of Weft uses it: for settings, profiles and plans. Only this file includes toml++.
#pragma once

// Header-only, so that programs that load Weft's libraries need no other; and only the parser.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
// The parser of toml++ 3.3 asserts that a key begins where it looks for one, and then finds out whether it does. Files
// are input, and bad input is never an assertion: with this one out of the way "[[[[" is an error like any other.
// NDEBUG would make the compiler take what is asserted for granted.
#define TOML_ASSERT(condition) static_cast<void>(0)
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
