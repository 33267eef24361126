#include "session.h"

#include <cstdio>

#include <sys/socket.h>
#include <unistd.h>

namespace soak {

void wrong(const char* what, std::uint64_t at, std::uint64_t bytes) {
  std::printf("WRONG %s: at %lu of %lu bytes\n", what, at, bytes);
  std::fflush(stdout);
  std::_Exit(3);
}

Session::~Session() {
  if (socket_ >= 0) ::close(socket_);
}

void Session::say_hello(std::uint64_t seed) {
  Hello hello;
  hello.seed = seed;
  self_.name.copy(hello.name.data(), hello.name.size() - 1);
  hello.address = link_->address();
  if (send(socket_, &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello) return;
  if (greeted_) return end("TCP: no hello could be sent");
  drop();
}

void Session::end(const char* why) {
  if (ended_) return;
  ended_ = true;
  if (why == nullptr) {
    (void)send(socket_, &kBye, 1, MSG_NOSIGNAL);
    return;
  }
  ++self_.totals.lost;
  std::printf("lost %s %s\n", peer_.c_str(), why);
  std::fflush(stdout);
}

void Session::on_socket() {
  char bytes[sizeof(Hello)];
  const ssize_t n = recv(socket_, bytes, sizeof bytes, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    // What the card has heard comes first: its reason says more.
    on_completions();
    return greeted_ ? end("TCP: the other side is gone") : drop();
  }
  heard_.insert(heard_.end(), bytes, bytes + n);
  if (!greeted_ && heard_.size() >= sizeof(Hello)) {
    Hello hello;
    std::memcpy(&hello, heard_.data(), sizeof hello);
    heard_.erase(heard_.begin(), heard_.begin() + sizeof hello);
    if (hello.magic != Hello{}.magic) return end("TCP: that is no hello");
    greeted_ = true;
    peer_ = hello.name.data();
    on_hello(hello);
  }
  if (greeted_ && !heard_.empty() && heard_.front() == kBye) ended_ = true;
}

void Session::on_completions() {
  if (!link_) return;
  std::array<ibv_wc, 16> found;
  for (int n; !ended_ && (n = link_->poll(found)) > 0;) {
    for (int i = 0; i < n && !ended_; ++i) {
      const ibv_wc& wc = found[static_cast<std::size_t>(i)];
      if (wc.status == IBV_WC_SUCCESS) {
        on_completion(wc);
      } else {
        end(ibv_wc_status_str(wc.status));
      }
    }
  }
}

}  // namespace soak
