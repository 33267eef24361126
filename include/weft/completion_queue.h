// Where finished work is told: completion queues to poll, and channels through which they say that polling is worth it.
//
// poll() neither allocates nor waits. An event goes to the channel once for each request_notify(): ask first, then poll
// what is there already, then wait for the event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "weft/handle.h"
#include "weft/types.h"

namespace weft::host {
class CompletionQueue;
}

namespace weft {

enum class CompletionStatus : std::uint8_t {
  success,
  local_length,  // a receive was too small, or a message too long
  local_qp_operation,
  local_protection,  // an Sge outside its region, or without the right
  flushed,           // the queue pair went into an error state first
  window_bind,       // a window could not be bound
  bad_response,
  local_access,
  remote_invalid_request,  // the peer's answers
  remote_access,
  remote_operation,
  retry_exceeded,      // the peer did not answer
  rnr_retry_exceeded,  // the peer had no receive posted
  remote_aborted,
  fatal,
};
[[nodiscard]] std::string_view text(CompletionStatus status);

enum class CompletionKind : std::uint8_t {
  send,
  write,
  read,
  compare_swap,
  fetch_add,
  bind_window,
  local_invalidate,
  receive,
  receive_write_immediate,
};
[[nodiscard]] std::string_view text(CompletionKind kind);

// When status is not success, only id, status, reason and qpn mean anything.
struct Completion {
  std::uint64_t id = 0;  // of the work
  CompletionStatus status{};
  CompletionKind kind{};
  Reason reason{};                           // which rule was broken, when it failed
  std::uint32_t bytes = 0;                   // of the message; of a datagram with its GRH
  std::optional<std::uint32_t> immediate{};  // receives
  std::optional<Key> invalidated{};          // receives: the window that the peer closed
  bool has_grh = false;                      // datagrams: the first kGrhBytes are the network header
  bool solicited = false;
  std::uint8_t traffic_class = 0;  // datagrams
  Qpn qpn{};                       // of ours
  Qpn source_qpn{};                // datagrams: the sender's
  Duration when{};                 // the card finished it

  [[nodiscard]] bool ok() const { return status == CompletionStatus::success; }
};

class CompletionQueue : public detail::Handle<CompletionQueue, host::CompletionQueue*> {
 public:
  static constexpr std::string_view kName = "completion queue";
  CompletionQueue() = default;

  // Takes completions, oldest first; how many.
  [[nodiscard]] std::size_t poll(std::span<Completion> out);
  // Takes one, if there is one.
  [[nodiscard]] bool poll(Completion& one) { return poll({&one, 1}) == 1; }

  // One event to the channel, at the next completion; or at the next that is solicited or failed.
  [[nodiscard]] Result<> request_notify(bool solicited_only = false);
  // An event only after `count` completions, or `period` after the first of them. 1 and 0: at once.
  [[nodiscard]] Result<> moderate(std::uint16_t count, Duration period);
  // Not below what the queue holds; what it holds stays.
  [[nodiscard]] Result<> resize(std::uint32_t entries);

  [[nodiscard]] CqNumber number() const;         // what events call it
  [[nodiscard]] std::uint32_t capacity() const;  // at least what was asked for
  [[nodiscard]] std::uint32_t waiting() const;
  [[nodiscard]] bool overflowed() const;  // completions came that it had no room for: its queue pairs are broken

 private:
  friend class detail::Handle<CompletionQueue, host::CompletionQueue*>;
  friend struct native::Inside;
  using Handle::Handle;
  static Result<> destroy(native::DeviceState& device, host::CompletionQueue* cq);
};

class CompletionChannel : public detail::Handle<CompletionChannel, std::uint32_t> {
 public:
  static constexpr std::string_view kName = "completion channel";
  CompletionChannel() = default;

  // The next queue with an event, if there is one; CompletionQueue::number tells which it is.
  [[nodiscard]] std::optional<CqNumber> next();

 private:
  friend class detail::Handle<CompletionChannel, std::uint32_t>;
  friend struct native::Inside;
  using Handle::Handle;
  static Result<> destroy(native::DeviceState& device, std::uint32_t channel);
};

}  // namespace weft
