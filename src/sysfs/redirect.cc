#include "sysfs/redirect.h"

#include <cstdlib>
#include <cstring>

namespace weft::sysfs {
namespace {

constexpr const char kSys[] = "/sys";
constexpr std::size_t kSysBytes = sizeof kSys - 1;

struct Root {
  const char* path = nullptr;  // nullptr: there is none
  std::size_t bytes = 0;
};

Root read_root() {
  const char* named = ::secure_getenv("WEFT_SYSFS");
  if (named == nullptr || named[0] != '/') return {};
  std::size_t bytes = std::strlen(named);
  while (bytes > 0 && named[bytes - 1] == '/') --bytes;
  char* copy = bytes > kSysBytes && bytes < PATH_MAX ? strndup(named, bytes) : nullptr;
  return {copy, copy != nullptr ? bytes : 0};
}

// Read once, before there are threads that could change the environment: by our constructor, or by another library's
// that opens files before ours has run.
const Root& root() {
  static constinit bool known = false;
  static constinit Root found;
  if (!known) {
    found = read_root();
    known = true;
  }
  return found;
}

[[gnu::constructor]] void read_root_early() { (void)root(); }

bool skip(const char*& at, const char* prefix) {
  const std::size_t bytes = std::strlen(prefix);
  if (std::strncmp(at, prefix, bytes) != 0) return false;
  at += bytes;
  return true;
}

// Has it come to the end of a name?
bool at_end(const char* at) { return *at == '\0' || *at == '/'; }

// Behind /sys: /class/infiniband, /devices/virtual/infiniband, the same with _verbs, and what is in them.
bool is_of_rdma(const char* at) {
  if (!skip(at, "/class/infiniband") && !skip(at, "/devices/virtual/infiniband")) return false;
  (void)skip(at, "_verbs");
  return at_end(at);
}

// UCX, for one, takes a device for absent that has no character device.
bool is_device(const char* at) { return skip(at, "/dev/infiniband") && at_end(at); }

// The part of a path that stands behind the folder; nullptr if it is not ours.
const char* part_in_folder(const char* path) {
  if (is_device(path)) return path;
  return skip(path, kSys) && is_of_rdma(path) ? path : nullptr;
}

}  // namespace

bool is_ours(const char* path) {
  if (path == nullptr || path[0] != '/' || (path[1] != 's' && path[1] != 'd')) return false;  // most are not
  return part_in_folder(path) != nullptr && root().path != nullptr;
}

const char* into_folder(const char* path, char (&buffer)[PATH_MAX]) {
  const char* part = part_in_folder(path);
  const std::size_t bytes = std::strlen(part) + 1;
  if (root().bytes + bytes > sizeof buffer) return path;
  std::memcpy(buffer, root().path, root().bytes);
  std::memcpy(buffer + root().bytes, part, bytes);
  return buffer;
}

void out_of_folder(char* path) {
  if (path == nullptr || root().path == nullptr || std::strncmp(path, root().path, root().bytes) != 0) return;
  const char* part = path + root().bytes;
  const std::size_t bytes = std::strlen(part) + 1;
  if (is_device(part)) {
    std::memmove(path, part, bytes);
  } else if (is_of_rdma(part)) {
    std::memmove(path + kSysBytes, part, bytes);
    std::memcpy(path, kSys, kSysBytes);
  }
}

}  // namespace weft::sysfs
