// A tree of small files as a folder that appears whole or not at all.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run/sweep.h"
#include "cli/run/sysfs_tree.h"
#include "world/real/os/descriptor.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

// FNV-1a. Not against malice: the folder above belongs to the user alone.
std::uint64_t digest_of(const std::vector<SysfsEntry>& tree) {
  std::uint64_t digest = 0xCBF2'9CE4'8422'2325;
  const auto absorb = [&digest](std::string_view text) {
    for (const char c : text) digest = (digest ^ static_cast<std::uint8_t>(c)) * 0x100'0000'01B3;
    digest = (digest ^ 0xFF) * 0x100'0000'01B3;  // where it ends: no text has this byte
  };
  for (const SysfsEntry& one : tree) absorb(one.path), absorb(one.text);
  return digest;
}

bool is_private(const fs::path& folder) {
  struct stat found {};
  return ::lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == ::geteuid() &&
         (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

fs::path temporary() {
  const char* named = std::getenv("TMPDIR");
  return named != nullptr && *named == '/' ? named : "/tmp";
}

// Ours, and nobody else's to write. Somebody may have taken the usual name before us: then any other will do, one that
// we have made before best of all.
fs::path home_folder() {
  const fs::path usual = temporary() / fmt::format("weft-{}", ::geteuid());
  (void)::mkdir(usual.c_str(), 0755);
  if (is_private(usual)) return usual;
  const std::string like = usual.filename().string() + "-";
  std::error_code error;
  for (fs::directory_iterator one(temporary(), error), end; one != end && !error; one.increment(error)) {
    const std::string name = one->path().filename();
    if (name.starts_with(like) && name.size() == like.size() + 6 && is_private(one->path())) return one->path();
  }
  std::string other = usual.string() + "-XXXXXX";
  if (::mkdtemp(other.data()) == nullptr) throw fs::filesystem_error("mkdtemp", usual, {errno, std::system_category()});
  fs::permissions(other, fs::perms(0755));
  return other;
}

bool is_there(const fs::path& folder, const SysfsEntry& one) {
  std::error_code error;
  if (one.link) return fs::read_symlink(folder / one.path, error) == one.text;
  std::ifstream file(folder / one.path, std::ios::binary);
  return std::string{std::istreambuf_iterator<char>(file), {}} == one.text && file.is_open();
}

bool is_whole(const fs::path& folder, const std::vector<SysfsEntry>& tree) {
  for (const SysfsEntry& one : tree) {
    if (!is_there(folder, one)) return false;
  }
  return true;
}

void write(const fs::path& folder, const std::vector<SysfsEntry>& tree) {
  for (const SysfsEntry& one : tree) {
    const fs::path path = folder / one.path;
    fs::create_directories(path.parent_path());
    if (one.link) {
      fs::create_symlink(one.text, path);
      continue;
    }
    std::ofstream file(path, std::ios::binary);
    if (!(file << one.text).flush()) throw fs::filesystem_error("write", path, {errno, std::system_category()});
    fs::permissions(path, fs::perms(0444));
  }
}

// One at a time publishes and tidies up. The file is nobody's but ours: nobody else can keep it locked.
real::Descriptor lock(const fs::path& home) {
  constexpr int kTries = 20'000;  // milliseconds
  real::Descriptor file(::open((home / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  for (int tries = 0; file && tries < kTries; ++tries) {
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
    ::usleep(1000);
  }
  throw fs::filesystem_error("lock", home, {file ? ETIMEDOUT : errno, std::system_category()});
}

// A name beside `folder` that nobody else has.
fs::path beside(const fs::path& folder, std::string_view what) {
  return fmt::format("{}.{}.{}", folder.string(), what, ::getpid());
}

std::string place(const fs::path& folder, const std::vector<SysfsEntry>& tree) {
  touch(folder);
  if (is_whole(folder, tree)) return folder;
  // Cleaners of /tmp remove single files that nobody has read for long. Programs that look into it meanwhile shall find
  // it whole.
  const fs::path fresh = beside(folder, "new"), old = beside(folder, "old");
  fs::remove_all(fresh);
  write(fresh, tree);
  std::error_code error;
  fs::rename(folder, old, error);
  fs::rename(fresh, folder, error);
  fs::remove_all(old, error);
  fs::remove_all(fresh, error);
  if (!is_whole(folder, tree)) throw fs::filesystem_error("rename", folder, std::make_error_code(std::errc::io_error));
  return folder;
}

}  // namespace

tl::expected<std::string, std::string> publish(const std::vector<SysfsEntry>& tree) {
  const mode_t mask = ::umask(022);
  try {
    const fs::path home = home_folder();
    const real::Descriptor locked = lock(home);
    std::string folder = place(home / fmt::format("sysfs-{:016x}", digest_of(tree)), tree);
    remove_unused(home, folder);
    ::umask(mask);
    return folder;
  } catch (const fs::filesystem_error& error) {
    ::umask(mask);
    return tl::unexpected(fmt::format("cannot write the folder that plays /sys: {}: {} (--no-sysfs does without)",
                                      error.path1().string(), error.code().message()));
  }
}

}  // namespace weft::cli
