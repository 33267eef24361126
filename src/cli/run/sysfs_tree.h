// The folder that plays /sys for programs under `weft run`: class/infiniband and class/infiniband_verbs with the one
// device that Weft is, and /dev/infiniband.
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "wire/types.h"
#include "world/real/settings/addresses.h"

namespace weft::cli {

struct SysfsEntry {
  std::string path;  // from the folder
  std::string text;  // a file's content, with its newline; or where a link leads
  bool link = false;
};

// The device with these addresses, at least one, on a machine with these interfaces and processors.
[[nodiscard]] std::vector<SysfsEntry> sysfs_tree(const std::vector<wire::Address>& addresses,
                                                 const std::vector<real::Interface>& interfaces,
                                                 std::size_t processors);

// Writes it and answers the folder, or a sentence that says why not. The folder's name follows from its content: all
// programs of a user with the same addresses share one, it is written once, whole, and stays for the next. Those that
// no program uses any more are removed.
[[nodiscard]] tl::expected<std::string, std::string> publish(const std::vector<SysfsEntry>& tree);

}  // namespace weft::cli
