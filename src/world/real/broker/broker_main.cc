// weft-broker: started by the first program that needs it. It leaves its starter at once, so that no program finds a
// child it does not know.
#include <csignal>
#include <cstdio>
#include <initializer_list>

#include <fcntl.h>
#include <unistd.h>

#include "world/real/broker/broker.h"

int main(int argc, char**) {
  if (argc > 1) {
    std::puts(
        "weft-broker: hands the programs of one user their lanes of a shared address. Takes no arguments; "
        "programs start it by themselves.");
    return 2;
  }
  if (fork() != 0) _exit(0);  // at once, without what a sanitizer does at the end: the starter waits
  setsid();
  // Nor does it keep anything of the starter's: files, or that a thread of it is deaf to signals.
  (void)close_range(STDERR_FILENO + 1, ~0U, 0);
  sigset_t none{};
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, fd);
  if (chdir("/") != 0) return 1;
  // At once, too: when many programs start at the same time, all brokers but one end here.
  _exit(weft::real::serve_as_broker());
}
