#include "weft/handle.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace weft::detail {

void misuse(std::string_view what) {
  std::fprintf(stderr, "weft: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

void refused(Error error, const char* file, int line) {
  misuse(std::string(file) + ":" + std::to_string(line) + ": " + std::string(text(error)));
}

void cannot_destroy(std::string_view kind, Error why) {
  misuse("a " + std::string(kind) + " went out of scope and cannot be destroyed: " + std::string(text(why)) +
         ". Destroy what refers to it first, or call close().");
}

}  // namespace weft::detail
