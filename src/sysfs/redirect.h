// Which paths lead into the folder that plays /sys (WEFT_SYSFS), and how they are written there and back. In it, dev is
// what /dev/infiniband leads to.
#pragma once

#include <climits>

namespace weft::sysfs {

// Is this a path of RDMA devices, and is there a folder for them? All other paths are none of our business.
[[nodiscard]] bool is_ours(const char* path);

// `path`, which is ours, in the folder; or itself when that is too long to write.
[[nodiscard]] const char* into_folder(const char* path, char (&buffer)[PATH_MAX]);

// A path that leads into the folder, as programs know it: shorter, so in its own place. Others stay as they are.
void out_of_folder(char* path);

}  // namespace weft::sysfs
