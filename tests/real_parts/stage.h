// What stands in the place of the operating system while a scene is played: whoever waits, or could lose its processor,
// calls here. The headers below instead/ hand the calls of world/real/os on. All of it is the seed's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <sys/socket.h>
#include <sys/uio.h>

#include "real_parts/times.h"

namespace weft::scene {

// -- time and chance
[[nodiscard]] Time clock_now();
[[nodiscard]] std::uint64_t processor_ticks();
[[nodiscard]] std::uint64_t draw_number();

// -- threads
// A number from 1 on.
[[nodiscard]] std::size_t start_thread(std::function<void()> run);
void join_thread(std::size_t number);
void may_be_preempted();
void yield_processor();
// Until there is something to read, or so much time has passed. -1 is no descriptor. False: there is nothing.
[[nodiscard]] bool wait_to_read(int fd, Time most);
void wait_while(const bool& held);
// A lane's thread is about to wait: because the program drives, or because nobody has to.
void note_wait(bool program_drives);

// -- processes
[[nodiscard]] std::int32_t own_process();
// As process_vm_readv: others may do something in the middle of it.
[[nodiscard]] ssize_t read_memory_of(std::int32_t process, const iovec* to, const iovec* from, std::size_t count);

// -- the network: as recvmsg and sendmsg, and nobody waits
[[nodiscard]] long receive(int socket, msghdr& message);
[[nodiscard]] long send(int socket, const msghdr& message);

}  // namespace weft::scene
