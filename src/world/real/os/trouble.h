// What went wrong with the machine, for a program (errno) and for its user (a sentence).
#pragma once

#include <string>

namespace weft::real {

struct Trouble {
  int code = 0;
  std::string what;
};

}  // namespace weft::real
