// A caller and a server whose kernels it calls: host 0 and host 1 of a bed.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nic/kernels/kernel.h"
#include "support/bed.h"

namespace weft::test {

// The caller's arena: parameters from the start, answers from the middle on.
inline constexpr std::uint64_t kAnswers = 32 * 1024;

template <class T>
[[nodiscard]] std::span<const std::byte> bytes_of_object(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
[[nodiscard]] inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

[[nodiscard]] inline std::string text_of(std::span<const std::byte> bytes) {
  std::string text(bytes.size(), '\0');
  if (!bytes.empty()) std::memcpy(text.data(), bytes.data(), bytes.size());
  return text;
}

class CallScene {
 public:
  explicit CallScene(const BedSpec& spec = {}, QpSpec calling = {}, QpSpec serving = {})
      : bed(spec), both(bed.connect(with_calls(calling), with_service(serving))) {}

  [[nodiscard]] const Endpoint& caller() const { return both.a; }
  [[nodiscard]] const Endpoint& server() const { return both.b; }
  [[nodiscard]] sim::Memory& memory() const { return server().node().arena; }
  [[nodiscard]] host::Device& card() const { return server().node().device(); }

  struct Call {
    std::uint64_t id = 1, opcode = 0;
    std::span<const std::byte> parameters{};
    std::uint64_t answer = 0;  // its place, from kAnswers on
    std::uint32_t room = 1024;
    bool completes = false;
    std::uint32_t immediate = 0;
  };
  // Parameters lie behind each other, because they may be sent again.
  host::Error call(const Call& c) {
    const nic::CallHead head{.address = caller().node().arena.address + kAnswers + c.answer,
                             .key = caller().node().arena.key.raw(),
                             .room = c.room,
                             .immediate = c.immediate,
                             .flags = c.completes ? nic::CallHead::kCompletes : 0};
    const auto length = static_cast<std::uint32_t>(sizeof head + c.parameters.size());
    std::byte* at = caller().node().arena.bytes.data() + next_;
    std::memcpy(at, &head, sizeof head);
    if (!c.parameters.empty()) std::memcpy(at + sizeof head, c.parameters.data(), c.parameters.size());
    const Step step{.id = c.id, .kind = nic::WorkKind::rpc, .local = {{next_, length}}, .opcode = c.opcode};
    next_ += length;
    return caller().post(step);
  }
  [[nodiscard]] nic::ReplyHead head(std::uint64_t answer = 0) const {
    nic::ReplyHead h;
    std::memcpy(&h, &caller().node().arena.bytes[kAnswers + answer], sizeof h);
    return h;
  }
  [[nodiscard]] std::string answer(std::uint64_t at = 0) const {
    const nic::ReplyHead h = head(at);
    return text_of(caller().node().bytes({kAnswers + at + sizeof h, h.bytes}));
  }
  void clear_answers() const {
    const auto answers = caller().node().bytes({kAnswers, 32 * 1024});
    std::memset(answers.data(), 0, answers.size());
  }
  [[nodiscard]] std::uint64_t refused(Refusal r) const { return server().node().counted(r); }

  Bed bed;
  Connection both;

 private:
  static QpSpec with_calls(QpSpec s) {
    s.may_call = true;
    return s;
  }
  static QpSpec with_service(QpSpec s) {
    if (s.serves_calls == 0) s.serves_calls = 4;
    return s;
  }
  std::uint64_t next_ = 0;
};

}  // namespace weft::test
