// Enumerations of programs may hold any number: C does not mind, and C++ must not look at such a one as what it is not.
#pragma once

#include <cstring>
#include <type_traits>

namespace weft::verbs {

template <class Enum>
int raw(const Enum& from) {
  static_assert(std::is_enum_v<Enum> && sizeof(Enum) == sizeof(int));
  int value = 0;
  std::memcpy(&value, &from, sizeof value);
  return value;
}

}  // namespace weft::verbs
