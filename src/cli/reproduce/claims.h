// Claims of papers, as experiments/*.toml has them. The files are part of the program.
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "cli/reproduce/verdict.h"

namespace weft::cli {

struct ClaimRow {
  std::string name, claimed, unit, band_text;
  Band band;
  bool calibrated = false;  // chosen to be as claimed
};

struct Claim {
  std::string id, what, source;
  std::vector<ClaimRow> rows;  // at least one
};

// In the order of the file, or what is wrong with it.
[[nodiscard]] tl::expected<std::vector<Claim>, std::string> parse_claims(std::string_view toml);

// Those that the program was built with.
[[nodiscard]] std::vector<Claim> known_claims();

}  // namespace weft::cli
