// What a program must find in its environment to meet the card.
#pragma once

#include <string>

#include <tl/expected.hpp>

namespace weft::cli {

// The broker stands beside this executable, and the libraries in ../lib/weft: in the build tree and installed alike.
struct Installation {
  std::string broker, libraries;
};

// Or a sentence that says what is missing.
[[nodiscard]] tl::expected<Installation, std::string> find_installation();

// Programs that are started from here on load Weft's libraries first, and can start its broker.
[[nodiscard]] tl::expected<void, std::string> offer_libraries(const Installation& installation);

// The programs see `folder` as /sys/class/infiniband and its like; or, if it is empty, what the machine has.
void offer_sysfs(const Installation& installation, const std::string& folder);

}  // namespace weft::cli
