// The folder that plays /sys: `weft run` makes one and names it in WEFT_SYSFS. Without it the machine's own is named,
// in which the device does not appear; programs take that for a device without optional properties.
#pragma once

namespace weft::verbs {

[[nodiscard]] const char* sysfs_root();

}  // namespace weft::verbs
