#include "verbs/ibverbs/sysfs.h"

#include <cstddef>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace weft::verbs {

const char* sysfs_root() {
  static const auto* const root = [] {
    const char* named = ::secure_getenv("WEFT_SYSFS");
    if (named == nullptr || *named == '\0') named = ::secure_getenv("SYSFS_PATH");  // rdma-core's name for it
    auto* path = new std::string(named != nullptr && *named != '\0' ? named : "/sys");
    while (path->size() > 1 && path->back() == '/') path->pop_back();
    return path;
  }();
  return root->c_str();
}

}  // namespace weft::verbs

extern "C" {

const char* ibv_get_sysfs_path() { return weft::verbs::sysfs_root(); }

// How many bytes were read, without the newline at the end; -1 and errno.
int ibv_read_sysfs_file(const char* dir, const char* file, char* buf, size_t size) {
  const int fd = ::open((std::string(dir) + "/" + file).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t length = ::read(fd, buf, size);
  ::close(fd);
  if (length > 0 && buf[length - 1] == '\n') --length;
  if (length >= 0 && static_cast<size_t>(length) < size) buf[length] = '\0';
  return static_cast<int>(length);
}

// Drivers call this about their own devices; there is none.
int ibv_read_ibdev_sysfs_file(char*, size_t, void*, const char*, ...) { return -1; }

}  // extern "C"
