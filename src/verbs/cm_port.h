// What librdmacm.so.1 asks of libibverbs.so.1 beyond the verbs: the way to QP1. The two libraries are separate files;
// these abstract classes, reached through one exported function, are all that they share. Each has a C++ runtime of its
// own, which ends the program when it meets an exception of the other's: none crosses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/types.h"

struct ibv_context;

namespace weft::verbs {

class CmReceiver {
 public:
  virtual ~CmReceiver() = default;
  // From a thread of the device's, with no lock held: hand it on and return soon.
  virtual void on_mad(const wire::Address& from, const wire::Address& to, std::span<const std::byte> mad) = 0;
};

class CmPort {
 public:
  virtual ~CmPort() = default;
  // The device's addresses, by GID index.
  [[nodiscard]] virtual std::span<const wire::Address> addresses() const = 0;
  // Joins the network; management datagrams go to `receiver` until close(). 0 or errno. Once per context.
  [[nodiscard]] virtual int open(CmReceiver& receiver) = 0;
  virtual void close() = 0;
  // Is there a way to QP1 of this address? If not, a sentence is on standard error.
  [[nodiscard]] virtual bool reaches(const wire::Address& address) = 0;
  // The most significant byte of every communication id that this program gives out: answers find it by that.
  [[nodiscard]] virtual std::uint8_t lane_number() const = 0;
  // Takes a port of a port space (0x0106 TCP, 0x0111 UDP, 0x013F IB, 0x0002 IPOIB) for this program; 0 chooses a free
  // one, and `port` says which. An address of zeros is all addresses. 0 or errno (EADDRINUSE).
  [[nodiscard]] virtual int bind_service(std::uint16_t space, const wire::Address& address, std::uint16_t& port) = 0;
  virtual void release_service(std::uint16_t space, const wire::Address& address, std::uint16_t port) = 0;
  // Requests (REQ, SIDR_REQ) for this bound port come to this program from now on, or no longer. All other messages are
  // found by the communication id they are for.
  virtual void listen(std::uint16_t space, const wire::Address& address, std::uint16_t port, bool on) = 0;
  // Sends 256 bytes from QP1 of `from`, one of addresses(), to QP1 of `to`. Datagrams: they may be lost.
  virtual void send_mad(const wire::Address& from, const wire::Address& to, std::span<const std::byte> mad) = 0;
};

}  // namespace weft::verbs

// libibverbs.so.1 exports this in the version node WEFT_PRIVATE. Null for a context that is not Weft's.
extern "C" weft::verbs::CmPort* weft_cm_port(ibv_context* context);
