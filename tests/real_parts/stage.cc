#include "real_parts/stage.h"

#include <cerrno>

#include <poll.h>

#include "real_parts/scene.h"

namespace weft::scene {
namespace {

bool is_readable(int fd) {
  pollfd p{fd, POLLIN, 0};
  return fd >= 0 && ::poll(&p, 1, 0) > 0;
}

}  // namespace

Time clock_now() { return Scene::current().read_clock(); }
std::uint64_t processor_ticks() { return Scene::current().ticks(); }
std::uint64_t draw_number() { return Scene::current().draw().next(); }

std::size_t start_thread(std::function<void()> run) { return Scene::current().start_thread(std::move(run)); }
void join_thread(std::size_t number) { Scene::current().join_thread(number); }
void may_be_preempted() { Scene::current().may_be_preempted(); }

// Others have the processor for a while.
void yield_processor() {
  Scene& scene = Scene::current();
  scene.wait(scene.now() + scene.draw().between(nanoseconds(500), microseconds(50)), -1, {});
}

bool wait_to_read(int fd, Time most) {
  Scene& scene = Scene::current();
  scene.wait(most == kNever ? kNever : scene.now() + most, fd, {});
  return is_readable(fd);
}

void wait_while(const bool& held) {
  Scene::current().wait(kNever, -1, [&held] { return !held; });
}

void note_wait(bool program_drives) { Scene::current().note_wait(program_drives); }

std::int32_t own_process() { return Scene::current().own_process(); }

ssize_t read_memory_of(std::int32_t process, const iovec* to, const iovec* from, std::size_t count) {
  ssize_t all = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!Scene::current().copy_from(process, to[i], from[i])) {
      errno = ESRCH;
      return all > 0 ? all : -1;
    }
    all += static_cast<ssize_t>(to[i].iov_len);
  }
  return all;
}

long receive(int socket, msghdr& message) {
  Scene& scene = Scene::current();
  return scene.network().receive(scene.now(), socket, message);
}

long send(int socket, const msghdr& message) {
  Scene& scene = Scene::current();
  const long sent = scene.network().send(scene.now(), socket, message);
  scene.may_be_preempted();
  return sent;
}

}  // namespace weft::scene
