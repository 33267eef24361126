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
  const char* named = std::getenv("WEFT_SYSFS");
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

// Behind /sys: /class/infiniband, /devices/virtual/infiniband, the same with _verbs, and what is in them.
bool is_of_rdma(const char* at) {
  if (!skip(at, "/class/infiniband") && !skip(at, "/devices/virtual/infiniband")) return false;
  (void)skip(at, "_verbs");
  return *at == '\0' || *at == '/';
}

}  // namespace

bool is_ours(const char* path) {
  // Most paths are refused by their first bytes.
  return path != nullptr && std::strncmp(path, kSys, kSysBytes) == 0 && is_of_rdma(path + kSysBytes) &&
         root().path != nullptr;
}

const char* into_folder(const char* path, char (&buffer)[PATH_MAX]) {
  const char* rest = path + kSysBytes;
  const std::size_t rest_bytes = std::strlen(rest) + 1;
  if (root().bytes + rest_bytes > sizeof buffer) return path;
  std::memcpy(buffer, root().path, root().bytes);
  std::memcpy(buffer + root().bytes, rest, rest_bytes);
  return buffer;
}

void out_of_folder(char* path) {
  if (path == nullptr || root().path == nullptr || std::strncmp(path, root().path, root().bytes) != 0) return;
  const char* rest = path + root().bytes;
  if (!is_of_rdma(rest)) return;
  std::memmove(path + kSysBytes, rest, std::strlen(rest) + 1);
  std::memcpy(path, kSys, kSysBytes);
}

}  // namespace weft::sysfs
