// What values are called, for people.
#include <array>
#include <cstdio>

#include "host/error.h"
#include "native/convert.h"
#include "weft/error.h"
#include "weft/types.h"
#include "wire/refusal.h"

namespace weft {
namespace {

template <std::size_t N, class Enum>
std::string_view name_in(const std::array<std::string_view, N>& names, Enum value) {
  const auto i = static_cast<std::size_t>(value);
  return i < N ? names[i] : "?";
}

constexpr std::array<std::string_view, 14> kVerbs{"SEND",
                                                  "SEND with immediate",
                                                  "SEND with invalidate",
                                                  "WRITE",
                                                  "WRITE with immediate",
                                                  "READ",
                                                  "compare and swap",
                                                  "fetch and add",
                                                  "local invalidate",
                                                  "bind window",
                                                  "RPC",
                                                  "RPC WRITE",
                                                  "local RPC",
                                                  "local RPC WRITE"};
constexpr std::array<std::string_view, 15> kStatuses{"success",
                                                     "local length error",
                                                     "local queue pair operation error",
                                                     "local protection error",
                                                     "flushed",
                                                     "window bind error",
                                                     "bad response",
                                                     "local access error",
                                                     "remote invalid request",
                                                     "remote access error",
                                                     "remote operation error",
                                                     "retries exceeded",
                                                     "receiver not ready, retries exceeded",
                                                     "remote abort",
                                                     "fatal error"};
constexpr std::array<std::string_view, 9> kKinds{"SEND",
                                                 "WRITE",
                                                 "READ",
                                                 "compare and swap",
                                                 "fetch and add",
                                                 "bind window",
                                                 "local invalidate",
                                                 "receive",
                                                 "receive of WRITE with immediate"};
constexpr std::array<std::string_view, 7> kStates{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERROR"};
constexpr std::array<std::string_view, 10> kEvents{"completion",
                                                   "completion queue overflowed",
                                                   "queue pair broke",
                                                   "queue pair broke: invalid request",
                                                   "queue pair broke: access error",
                                                   "communication established",
                                                   "send queue drained",
                                                   "last receive reached",
                                                   "shared receive queue below its limit",
                                                   "shared receive queue broke"};
static_assert(kVerbs.size() == static_cast<std::size_t>(Verb::local_rpc_write) + 1);
static_assert(kStatuses.size() == static_cast<std::size_t>(CompletionStatus::fatal) + 1);
static_assert(kKinds.size() == static_cast<std::size_t>(CompletionKind::receive_write_immediate) + 1);
static_assert(kStates.size() == static_cast<std::size_t>(QpState::error) + 1);
static_assert(kEvents.size() == static_cast<std::size_t>(Event::srq_error) + 1);

RefusalText refusal_text(Reason reason) {
  if (reason.code() >= kRefusals.size()) return {"unknown", "a reason that this version does not know"};
  return kRefusals[reason.code()];
}

}  // namespace

std::string_view text(Error error) {
  if (error == Error::closed) return "the handle is empty: closed, moved from, or never opened";
  return error <= Error::not_supported ? host::text(static_cast<host::Error>(error)) : "unknown error";
}

std::string_view text(Verb verb) { return name_in(kVerbs, verb); }
std::string_view text(CompletionStatus status) { return name_in(kStatuses, status); }
std::string_view text(CompletionKind kind) { return name_in(kKinds, kind); }
std::string_view text(QpState state) { return name_in(kStates, state); }
std::string_view text(Event::Kind kind) { return name_in(kEvents, kind); }

std::string_view Reason::name() const { return refusal_text(*this).counter; }
std::string_view Reason::meaning() const { return refusal_text(*this).meaning; }

std::string text(const Address& address) {
  const auto& b = address.bytes;
  std::array<char, 48> line{};
  if (address.is_v4()) {
    std::snprintf(line.data(), line.size(), "%u.%u.%u.%u", b[12], b[13], b[14], b[15]);
  } else {
    std::size_t at = 0;
    for (std::size_t i = 0; i < 16; i += 2) {
      at += static_cast<std::size_t>(
          std::snprintf(&line[at], line.size() - at, i == 0 ? "%x" : ":%x", b[i] << 8 | b[i + 1]));
    }
  }
  return line.data();
}

}  // namespace weft
