#include "world/real/broker/broker_place.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace weft::real {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSocket = "weft-broker-", kLock = ".lock";
constexpr int kCallers = 256;  // who wait until the broker takes their call
constexpr int kTries = 16;     // others may leave the folder, and remove it, while we come

std::string session_folder() { return fmt::format("/run/user/{}", geteuid()); }
std::string own_folder() { return fmt::format("/tmp/weft-broker-{}", geteuid()); }

// The network namespace's number. It is no other namespace's as long as somebody is in this one, as a broker is.
ino_t network_namespace() {
  struct stat facts {};
  return ::stat("/proc/self/ns/net", &facts) == 0 ? facts.st_ino : 0;
}

std::string socket_in(const std::string& folder) {
  return fmt::format("{}/{}{}", folder, kSocket, network_namespace());
}

ino_t inode_of(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 ? facts.st_ino : 0;
}

// Locked, and still of this name: who leaves removes the file, perhaps just after it was opened. Empty: EWOULDBLOCK,
// somebody has it; or why it cannot be had.
Descriptor lock_file(const std::string& path, int flags) {
  for (int tries = 0; tries < kTries; ++tries) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600));
    if (!file || flock(file.get(), LOCK_EX | LOCK_NB) != 0) return {};
    struct stat facts {};
    if (fstat(file.get(), &facts) == 0 && facts.st_ino == inode_of(path)) return file;
  }
  errno = EWOULDBLOCK;
  return {};
}

// A lock that belongs to an open file description and not to a process: it goes with its descriptors, from hand to
// hand. Nobody locks the first byte, as lane numbers begin at 1.
struct flock byte_lock(off_t byte, off_t bytes) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = bytes;
  return lock;
}
bool has_byte_lock(int file, off_t byte, off_t bytes) {
  struct flock lock = byte_lock(byte, bytes);
  return file >= 0 && fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}
constexpr off_t kAllBytes = 0;  // to the end, wherever that is

// Where it stands in the lock file which process has a number. It counts for as long as the number is locked.
constexpr off_t place_of_owner(std::uint8_t lane_number) { return lane_number * off_t{sizeof(pid_t)}; }

// As /proc/PID/stat has it; nothing: there is no such process.
std::optional<char> state_of(pid_t process) {
  std::ifstream facts(fmt::format("/proc/{}/stat", process));
  std::string line;
  std::getline(facts, line);
  const std::size_t name_ends = line.rfind(") ");  // a name may have any letters
  if (name_ends == std::string::npos || name_ends + 2 >= line.size()) return std::nullopt;
  return line[name_ends + 2];
}
bool is_running(pid_t process) {
  constexpr std::string_view kStoppedOrEnded = "TtZX";
  const auto state = state_of(process);
  return state && kStoppedOrEnded.find(*state) == std::string_view::npos;
}

// Removes the files of brokers that were killed, in network namespaces that may be gone, with all their lanes.
void remove_leftovers(const std::string& folder) {
  std::error_code error;
  for (const fs::directory_entry& one : fs::directory_iterator(folder, error)) {
    const std::string name = one.path().filename();
    if (!name.starts_with(kSocket) || !name.ends_with(kLock)) continue;
    const Descriptor lock = lock_file(one.path(), 0);
    if (!lock || has_byte_lock(lock.get(), 0, kAllBytes)) continue;
    ::unlink((folder + "/" + name.substr(0, name.size() - kLock.size())).c_str());
    ::unlink(one.path().c_str());
  }
}

Descriptor listen_at(const std::string& path) {
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.data(), std::min(path.size(), sizeof name.sun_path - 1));
  ::unlink(path.c_str());
  const bool listens = socket &&
                       bind(socket.get(), static_cast<sockaddr*>(static_cast<void*>(&name)), sizeof name) == 0 &&
                       ::listen(socket.get(), kCallers) == 0;
  return listens ? std::move(socket) : Descriptor();
}

Trouble trouble(int code, const std::string& path) {
  return {code, fmt::format("the broker cannot listen at {}: {}", path, std::strerror(code))};
}

}  // namespace

std::string text_of_user(uid_t user) {
  passwd entry{}, *found = nullptr;
  std::array<char, 4096> text{};
  const bool known = getpwuid_r(user, &entry, text.data(), text.size(), &found) == 0 && found != nullptr;
  return known ? fmt::format("{} (uid {})", entry.pw_name, user) : fmt::format("uid {}", user);
}

tl::expected<void, Trouble> check_private(const std::string& folder) {
  struct stat facts {};
  if (::lstat(folder.c_str(), &facts) != 0) {
    return tl::unexpected(Trouble{errno, fmt::format("no folder {}: {}", folder, std::strerror(errno))});
  }
  if (!S_ISDIR(facts.st_mode)) {
    return tl::unexpected(
        Trouble{ENOTDIR, fmt::format("{} is no folder, and belongs to {}: your broker would listen there. Remove it",
                                     folder, text_of_user(facts.st_uid))});
  }
  if (facts.st_uid != geteuid()) {
    return tl::unexpected(Trouble{EACCES, fmt::format("the folder {} belongs to {}, and not to {}: no broker of yours "
                                                      "can listen there. Have it removed",
                                                      folder, text_of_user(facts.st_uid), text_of_user(geteuid()))});
  }
  if ((facts.st_mode & 077) != 0) {
    return tl::unexpected(Trouble{EACCES, fmt::format("the folder {} is open to others (mode {:04o}): remove it, or "
                                                      "chmod 700",
                                                      folder, facts.st_mode & 07777)});
  }
  return {};
}

tl::expected<std::string, Trouble> broker_folder() {
  if (check_private(session_folder())) return session_folder();
  const std::string own = own_folder();
  (void)::mkdir(own.c_str(), 0700);
  if (const auto good = check_private(own); !good) return tl::unexpected(good.error());
  return own;
}

tl::expected<std::vector<std::string>, Trouble> broker_sockets() {
  std::vector<std::string> out;
  if (check_private(session_folder())) out.push_back(socket_in(session_folder()));
  const auto own = check_private(own_folder());
  if (own) out.push_back(socket_in(own_folder()));
  // Somebody else's folder stands where ours would be: that is no trouble for one who does not need it.
  if (!own && own.error().code != ENOENT && out.empty()) return tl::unexpected(own.error());
  return out;
}

tl::expected<BrokerListener, Trouble> BrokerListener::take() {
  std::string path;
  for (int tries = 0; tries < kTries; ++tries) {
    const auto folder = broker_folder();
    if (!folder) return tl::unexpected(folder.error());
    remove_leftovers(*folder);
    path = socket_in(*folder);
    BrokerListener out;
    out.lock_ = lock_file(path + std::string(kLock), O_CREAT);
    if (!out.lock_ && errno == ENOENT) continue;  // the folder has just gone
    if (!out.lock_) return tl::unexpected(trouble(errno == EWOULDBLOCK ? EADDRINUSE : errno, path));
    out.folder_ = *folder;
    out.path_ = path;
    out.socket_ = listen_at(path);
    if (!out.socket_) return tl::unexpected(trouble(errno, path));
    out.inode_ = inode_of(path);
    return out;
  }
  return tl::unexpected(trouble(ENOENT, path));
}

BrokerListener& BrokerListener::operator=(BrokerListener&& other) noexcept {
  if (this == &other) return *this;
  release();
  folder_ = std::exchange(other.folder_, {});
  path_ = std::exchange(other.path_, {});
  socket_ = std::move(other.socket_);
  lock_ = std::move(other.lock_);
  inode_ = other.inode_;
  return *this;
}

bool BrokerListener::is_found() const { return socket_ && inode_of(path_) == inode_; }

Descriptor BrokerListener::lock_number(std::uint8_t lane_number, pid_t owner) const {
  errno = ENOENT;
  if (!lock_) return {};
  Descriptor file(::open((path_ + std::string(kLock)).c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  struct flock lock = byte_lock(lane_number, 1);
  if (!file || fcntl(file.get(), F_OFD_SETLK, &lock) != 0) return {};
  (void)!pwrite(file.get(), &owner, sizeof owner, place_of_owner(lane_number));
  return file;
}

bool BrokerListener::is_number_locked(std::uint8_t lane_number) const {
  return has_byte_lock(lock_.get(), lane_number, 1);
}

bool BrokerListener::is_owner_running(std::uint8_t lane_number) const {
  if (!is_number_locked(lane_number)) return false;
  pid_t owner = 0;
  const bool known = pread(lock_.get(), &owner, sizeof owner, place_of_owner(lane_number)) == sizeof owner && owner > 0;
  return !known || is_running(owner);
}

// Whoever calls just now finds nobody, and starts another.
void BrokerListener::release() {
  if (!lock_) return;
  const std::string lock = path_ + std::string(kLock);
  struct stat facts {};
  if (is_found()) ::unlink(path_.c_str());
  const bool is_needed = has_byte_lock(lock_.get(), 0, kAllBytes);
  if (!is_needed && fstat(lock_.get(), &facts) == 0 && facts.st_ino == inode_of(lock)) ::unlink(lock.c_str());
  socket_.reset();
  lock_.reset();
  if (folder_ == own_folder()) (void)::rmdir(folder_.c_str());
}

}  // namespace weft::real
