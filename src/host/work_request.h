// What a program asks a queue pair to do.
#pragma once

#include <cstdint>
#include <span>

#include "nic/formats.h"
#include "nic/kernels/kernel.h"
#include "nic/memory/memory.h"
#include "nic/world.h"
#include "wire/types.h"

namespace weft::host {

struct WorkRequest {
  std::uint64_t id = 0;
  nic::WorkKind kind = nic::WorkKind::send;
  bool signaled = true, solicited = false, fence = false;
  std::span<const nic::Sge> sges{};
  // Bytes that are copied now; the caller's buffer is free when the call returns. Instead of sges.
  std::span<const nic::Fragment> inline_data{};
  bool is_inline = false;
  std::uint32_t immediate = 0;
  wire::Key invalidate{};            // send_invalidate, local_invalidate
  std::uint64_t remote_address = 0;  // write, read, atomics
  wire::Key remote_key{};
  std::uint64_t compare_add = 0, swap = 0;  // compare and swap; fetch and add
  nic::AddressVector to{};                  // datagrams
  std::uint8_t hop_limit = 64;
  std::uint8_t service_level = 0;  // of datagrams: their queue pair is scheduled by that of the last one posted
  wire::Qpn remote_qpn{};
  wire::Qkey remote_qkey{};
  nic::WindowBinding binding{};  // bind_window
};

// A call of a kernel of this card, or payload for one.
struct LocalRequest {
  std::uint64_t id = 0, opcode = 0;
  bool is_payload = false;
  bool signaled = true;
  wire::Key key{};                              // what the kernel may use of this program's memory
  nic::CallHead answer{};                       // of a call: where its answer goes, and key and room there
  std::span<const nic::Fragment> parameters{};  // of a call; they are copied
  std::span<const nic::Sge> payload{};
};

struct ReceiveRequest {
  std::uint64_t id = 0;
  std::span<const nic::Sge> sges{};
};

}  // namespace weft::host
