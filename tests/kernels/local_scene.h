// A host whose program calls kernels of its own card, on queue pairs that lead to peers: host 0 of a bed.
#pragma once

#include "kernels/scene.h"

namespace weft::test {

class LocalScene {
 public:
  struct Spec {
    std::uint32_t peers = 1, local_calls = 4;
    QpSpec qp{};
  };
  explicit LocalScene(const BedSpec& spec) : LocalScene(spec, Spec{}) {}
  LocalScene(const BedSpec& spec, const Spec& local) : bed(with_hosts(spec, local.peers + 1)) {
    QpSpec calling = local.qp;
    calling.local_calls = local.local_calls;
    for (std::uint32_t p = 1; p <= local.peers; ++p)
      ways.push_back(bed.connect(bed.node(0), calling, bed.node(p), local.qp));
    clear_answers();
  }

  [[nodiscard]] Node& own() { return bed.node(0); }
  [[nodiscard]] host::Device& card() { return own().device(); }
  [[nodiscard]] std::uint64_t address(std::uint64_t offset) { return own().arena.address + offset; }
  [[nodiscard]] std::uint32_t qpn(std::size_t way) const { return ways[way].a.qp().qpn().raw(); }

  struct Call {
    std::uint64_t id = 1, opcode = 0;
    std::span<const std::byte> parameters{};
    std::uint64_t answer = 0;  // its place, from kAnswers on
    std::uint32_t room = 1024;
    bool signaled = true;
    std::size_t way = 0;
  };
  host::Error call(const Call& c) {
    const nic::Fragment parameters{c.parameters.data(), static_cast<std::uint32_t>(c.parameters.size())};
    return post(c.way,
                {.id = c.id,
                 .opcode = c.opcode,
                 .signaled = c.signaled,
                 .key = own().arena.key,
                 .answer = {.address = address(kAnswers + c.answer), .key = own().arena.key.raw(), .room = c.room},
                 .parameters = std::span(&parameters, c.parameters.empty() ? 0U : 1U)});
  }
  host::Error payload(std::uint64_t id, std::uint64_t opcode, std::span<const Piece> pieces, std::size_t way = 0) {
    std::vector<nic::Sge> sges;
    for (const Piece& p : pieces) sges.push_back(own().arena.sge(p.offset, p.length));
    return post(way, {.id = id, .opcode = opcode, .is_payload = true, .key = own().arena.key, .payload = sges});
  }
  host::Error payload(std::uint64_t id, std::uint64_t opcode, const Piece& piece, std::size_t way = 0) {
    return payload(id, opcode, std::span(&piece, 1), way);
  }
  host::Error post(std::size_t way, const host::LocalRequest& request) {
    const host::Error e = ways[way].a.qp().post_local_call(request);
    own().host.ring_doorbells();
    return e;
  }

  // Calls, and runs until it is over: one good completion, and the answer.
  nic::CallOutcome call_and_run(std::uint64_t opcode, std::span<const std::byte> parameters,
                                std::uint32_t room = 1024) {
    clear_answers();
    EXPECT_EQ(call({.opcode = opcode, .parameters = parameters, .room = room}), host::Error::none);
    EXPECT_TRUE(bed.run());
    const auto all = done();
    EXPECT_EQ(all.size(), 1U);
    for (const auto& c : all) EXPECT_EQ(c.status, nic::Status::success);
    return head().outcome;
  }
  template <class Parameters>
  nic::CallOutcome call_with(std::uint64_t opcode, const Parameters& parameters) {
    return call_and_run(opcode, bytes_of_object(parameters));
  }
  [[nodiscard]] nic::ReplyHead head(std::uint64_t answer = 0) {
    nic::ReplyHead h;
    std::memcpy(&h, &own().arena.bytes[kAnswers + answer], sizeof h);
    return h;
  }
  [[nodiscard]] std::string answer(std::uint64_t at = 0) {
    const nic::ReplyHead h = head(at);
    return text_of(own().bytes({kAnswers + at + sizeof h, h.bytes}));
  }
  void clear_answers() {
    const auto answers = own().bytes({kAnswers, 4096});
    std::memset(answers.data(), 0, answers.size());
  }
  std::vector<nic::Completion> done() { return drain(own()); }

  Bed bed;
  std::vector<Connection> ways;

 private:
  static BedSpec with_hosts(BedSpec spec, std::uint32_t hosts) {
    spec.hosts = hosts;
    return spec;
  }
};

}  // namespace weft::test
