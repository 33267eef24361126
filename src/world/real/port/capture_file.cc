#include "world/real/port/capture_file.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "world/real/os/trusted_file.h"
#include "world/real/port/pcapng.h"

namespace weft::real {
namespace {

constexpr mode_t kMode = 0600;  // captures hold what programs send to each other

auto cannot(const std::string& path, const std::string& why) {
  return tl::unexpected("cannot write the capture file '" + path + "': " + why);
}

std::string reason() { return std::strerror(errno); }

// Held until the file is closed. Whoever begins on a file empties it: not while another writes.
bool is_anothers(const Descriptor& file) { return ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; }

bool is_empty_or_ours(const Descriptor& file) {
  std::vector<std::byte> ours;
  pcapng::begin_section(ours);
  std::vector<std::byte> begin(ours.size());
  const ssize_t got = ::pread(file.get(), begin.data(), begin.size(), 0);
  return got == 0 || (got == static_cast<ssize_t>(ours.size()) && begin == ours);
}

// What a name that was there before us leads to.
tl::expected<Descriptor, std::string> open_present(const std::string& path) {
  const tl::expected<FoundFile, std::string> found = find_file(path);
  if (!found) return cannot(path, found.error());
  if (!found->distrusted.empty()) return cannot(path, found->distrusted);
  const mode_t mode = found->facts.st_mode;
  const bool file = S_ISREG(mode), stream = S_ISFIFO(mode) || S_ISCHR(mode);
  if (!file && !stream) return cannot(path, "it is neither a file nor a pipe nor a character device");
  Descriptor opened = open_found(*found, file ? O_RDWR : O_WRONLY);  // of a pipe, this waits for its reader
  if (!opened) return cannot(path, reason());
  return opened;
}

// Signals of this thread that writing may raise, kept from the program: they would end it. The card is a guest there.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t held;
    sigemptyset(&held);
    for (const int one : kRaised) sigaddset(&held, one);
    sigpending(&before_);
    pthread_sigmask(SIG_BLOCK, &held, &mask_);
  }
  ~SignalsHeld() {
    sigset_t now;
    sigpending(&now);
    for (const int one : kRaised) {
      if (sigismember(&now, one) != 1 || sigismember(&before_, one) == 1) continue;
      sigset_t alone;
      sigemptyset(&alone);
      sigaddset(&alone, one);
      const timespec at_once{};
      sigtimedwait(&alone, nullptr, &at_once);
    }
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  static constexpr std::array kRaised{SIGPIPE, SIGXFSZ};  // nobody reads the pipe any more; RLIMIT_FSIZE
  sigset_t before_{}, mask_{};
};

}  // namespace

tl::expected<CaptureFile, std::string> CaptureFile::open(const std::string& path, bool& taken) {
  taken = false;
  Descriptor made(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
  if (!made && errno != EEXIST) return cannot(path, reason());
  tl::expected<Descriptor, std::string> file = made ? std::move(made) : open_present(path);
  if (!file) return tl::unexpected(file.error());
  struct stat facts {};
  if (::fstat(file->get(), &facts) != 0) return cannot(path, reason());
  if (!S_ISREG(facts.st_mode)) return CaptureFile(std::move(*file));
  taken = is_anothers(*file);
  if (taken) return CaptureFile(Descriptor());
  if (!is_empty_or_ours(*file)) {
    return cannot(path, "it is neither empty nor a capture of Weft's; remove it, or name another");
  }
  if (::ftruncate(file->get(), 0) != 0) return cannot(path, reason());
  return CaptureFile(std::move(*file));
}

int CaptureFile::write(std::span<const std::byte> bytes) const {
  const SignalsHeld held;
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace weft::real
