// Work that a program builds between ibv_wr_start and ibv_wr_complete: all of it is posted, or none. It is staged here,
// in room that was made with the queue pair, because others must not see half of it.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "host/queue_pair.h"
#include "verbs/ibverbs/objects.h"

namespace weft::verbs {

struct Builder {
  explicit Builder(const host::QpLimits& limits);

  struct Staged {
    host::WorkRequest request;
    nic::Fragment inline_piece{};  // where its inline bytes were copied to
    Window* window = nullptr;      // to be bound
  };

  [[nodiscard]] Staged* begin(const ibv_qp_ex& qp, nic::WorkKind kind);
  [[nodiscard]] Staged* current() { return error == 0 && count > 0 ? &work[count - 1] : nullptr; }
  void fail(int code) {
    if (error == 0) error = code;
  }
  // The first data of the current work; a second time replaces it. Null: too much.
  [[nodiscard]] nic::Sge* sge_room(std::size_t wanted);
  [[nodiscard]] std::byte* inline_room(std::size_t bytes);
  void clear() {
    error = 0;
    count = 0;
  }

  std::mutex building;  // from start to complete or abort
  int error = 0;        // the first thing that was wrong; complete returns it
  std::uint32_t count = 0;
  std::vector<Staged> work;

 private:
  std::uint32_t max_sges_, max_inline_;
  std::vector<nic::Sge> sges_;
  std::vector<std::byte> inline_bytes_;
};

// Operations that a queue pair of this type can do, as flags of ibv_qp_create_send_ops_flags.
[[nodiscard]] std::uint64_t possible_operations(ibv_qp_type type);
// Gives the queue pair its ibv_wr_* functions, as far as it asked for them.
void set_builders(QueuePair& qp, std::uint64_t operations);

}  // namespace weft::verbs
