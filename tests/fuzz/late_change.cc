// Compiled without the flag that makes others call this.
#include "late_change.h"

namespace weft::fuzz {
namespace {

void on_load(const void* from) {
  LateChange& change = watched.change;
  if (from < watched.begin || from >= watched.end || change.reads == 0 || --change.reads > 0) return;
  for (std::uint8_t i = 0; i < change.count; ++i) watched.begin[change.at + i] = change.bytes[i];
}

}  // namespace
}  // namespace weft::fuzz

// What clang calls.
extern "C" {
void __sanitizer_cov_load1(std::uint8_t* from) { weft::fuzz::on_load(from); }
void __sanitizer_cov_load2(std::uint16_t* from) { weft::fuzz::on_load(from); }
void __sanitizer_cov_load4(std::uint32_t* from) { weft::fuzz::on_load(from); }
void __sanitizer_cov_load8(std::uint64_t* from) { weft::fuzz::on_load(from); }
void __sanitizer_cov_load16(void* from) { weft::fuzz::on_load(from); }
}
