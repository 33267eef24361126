// Asks for a path of the sysfs view by every function that the view answers; prints a line for each that fails.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace {

const char* const kFolder = "/sys/class/infiniband/weft0";
const char* const kFile = "/sys/class/infiniband/weft0/node_type";

int failures = 0;

void check(const char* what, bool good) {
  if (good) return;
  std::printf("%s: %s\n", what, std::strerror(errno));
  ++failures;
}

bool is_type(int fd) {
  char text[16] = "";
  const bool good = fd >= 0 && ::read(fd, text, sizeof text - 1) == 6 && std::strcmp(text, "1: CA\n") == 0;
  if (fd >= 0) ::close(fd);
  return good;
}

bool is_type(FILE* file) {
  char text[16] = "";
  const bool good =
      file != nullptr && std::fgets(text, sizeof text, file) != nullptr && std::strcmp(text, "1: CA\n") == 0;
  if (file != nullptr) std::fclose(file);
  return good;
}

void opening() {
  check("open", is_type(::open(kFile, O_RDONLY)));
  check("open64", is_type(::open64(kFile, O_RDONLY)));
  check("openat", is_type(::openat(AT_FDCWD, kFile, O_RDONLY)));
  check("openat64", is_type(::openat64(AT_FDCWD, kFile, O_RDONLY)));
  check("fopen", is_type(std::fopen(kFile, "r")));
  check("fopen64", is_type(::fopen64(kFile, "r")));
  check("freopen", is_type(std::freopen(kFile, "r", std::fopen("/dev/null", "r"))));
}

void looking() {
  struct stat s {};
  struct stat64 s64 {};
  struct statx sx {};
  struct statfs sf {};
  struct statvfs sv {};
  check("stat", ::stat(kFolder, &s) == 0 && S_ISDIR(s.st_mode));
  check("stat64", ::stat64(kFolder, &s64) == 0 && S_ISDIR(s64.st_mode));
  check("lstat", ::lstat(kFolder, &s) == 0 && S_ISLNK(s.st_mode));
  check("lstat64", ::lstat64(kFolder, &s64) == 0 && S_ISLNK(s64.st_mode));
  check("fstatat", ::fstatat(AT_FDCWD, kFolder, &s, 0) == 0 && S_ISDIR(s.st_mode));
  check("fstatat64", ::fstatat64(AT_FDCWD, kFolder, &s64, 0) == 0 && S_ISDIR(s64.st_mode));
  check("statx", ::statx(AT_FDCWD, kFolder, 0, STATX_BASIC_STATS, &sx) == 0 && S_ISDIR(sx.stx_mode));
  check("statfs", ::statfs(kFolder, &sf) == 0);
  check("statvfs", ::statvfs(kFolder, &sv) == 0);
  check("access", ::access(kFile, R_OK) == 0);
  check("eaccess", ::eaccess(kFile, R_OK) == 0);
  check("faccessat", ::faccessat(AT_FDCWD, kFile, R_OK, 0) == 0);
}

void links() {
  const std::string target = "../../devices/virtual/infiniband/weft0",
                    resolved = "/sys/devices/virtual/infiniband/weft0";
  char out[4096] = "";
  check("readlink", ::readlink(kFolder, out, sizeof out - 1) > 0 && out == target);
  std::memset(out, 0, sizeof out);
  check("readlinkat", ::readlinkat(AT_FDCWD, kFolder, out, sizeof out - 1) > 0 && out == target);
  check("realpath", ::realpath(kFolder, out) == out && out == resolved);
  char* found = ::realpath(kFolder, nullptr);
  check("realpath, allocating", found != nullptr && found == resolved);
  std::free(found);
  found = ::canonicalize_file_name(kFolder);
  check("canonicalize_file_name", found != nullptr && found == resolved);
  std::free(found);
  check("what realpath found", is_type(::open((resolved + "/node_type").c_str(), O_RDONLY)));
}

void folders() {
  DIR* folder = ::opendir("/sys/class/infiniband");
  check("opendir", folder != nullptr);
  bool listed = false;
  for (const dirent* one; folder != nullptr && (one = ::readdir(folder)) != nullptr;) {
    listed |= std::strcmp(one->d_name, "weft0") == 0;
  }
  check("readdir", listed);
  if (folder != nullptr) ::closedir(folder);
  dirent** names = nullptr;
  check("scandir", ::scandir("/sys/class/infiniband", &names, nullptr, alphasort) == 3);
  glob_t found{};
  check("glob", ::glob("/sys/class/infiniband/weft*", 0, nullptr, &found) == 0 && found.gl_pathc == 1 &&
                    std::strcmp(found.gl_pathv[0], kFolder) == 0);
  ::globfree(&found);
  check("chdir", ::chdir(kFolder) == 0 && is_type(::open("node_type", O_RDONLY)));
}

void devices() {
  struct stat s {};
  check("/dev/infiniband/uverbs0", ::stat("/dev/infiniband/uverbs0", &s) == 0 && S_ISCHR(s.st_mode));
  check("/dev/infiniband/rdma_cm", ::access("/dev/infiniband/rdma_cm", R_OK | W_OK) == 0);
  char out[4096] = "";
  check("realpath of /dev/infiniband",
        ::realpath("/dev/infiniband", out) == out && std::strcmp(out, "/dev/infiniband") == 0);
}

// Where nothing is ours, nothing changes.
void others() {
  check("other names", ::access("/sys/class/infiniband_other", F_OK) != 0 && errno == ENOENT);
  check("other devices", ::access("/dev/infinibands", F_OK) != 0 && ::access("/dev/null", F_OK) == 0);
  check("other folders", ::access("/sys/class/net/lo", F_OK) == 0);
  check("what is not there", ::open("/sys/class/infiniband/mlx5_0/node_type", O_RDONLY) < 0 && errno == ENOENT);
  const int fd = ::open("/tmp", O_TMPFILE | O_RDWR, 0600);  // a mode behind flags without O_CREAT
  struct stat s {};
  check("O_TMPFILE", fd < 0 || (::fstat(fd, &s) == 0 && (s.st_mode & 0777) == 0600));
}

}  // namespace

int main() {
  opening();
  looking();
  links();
  folders();
  devices();
  others();
  return failures == 0 ? 0 : 1;
}
