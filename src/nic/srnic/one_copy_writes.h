// Exported payloads of WRITEs. Finding another program's memory takes the kernel a while, however much is fetched from
// there: so the payload of a WRITE is fetched together with those of the WRITEs that came behind it. They lie in their
// places before it is their turn, as WRITEs may (requests_in.h); but only those that will be placed when it comes.
#pragma once

#include "base/fixed_vector.h"
#include "nic/core.h"
#include "nic/srnic/request_shape.h"

namespace weft::nic {

template <World W>
class OneCopyWrites {
 public:
  explicit OneCopyWrites(Core<W>& core) : core_(core) {}

  // False: it cannot be fetched.
  [[nodiscard]] bool place(const Context& c, const wire::Packet& p, std::byte* at) {
    if (!core_.fetched.empty() && &p == core_.fetched.data()) {
      core_.fetched = core_.fetched.subspan(1);
      return true;
    }
    FixedVector<OneCopyPiece, kOneCopyPieces> pieces;
    (void)pieces.try_push({at, p.payload});
    if (&p == core_.in_hand) {  // else it is a part of that
      for (const wire::Packet& next : core_.behind) {
        if (!follows(next, *(&next - 1)) || !will_be_placed(c, next, at) || !pieces.try_push({at, next.payload})) break;
      }
    }
    const std::size_t fetched = core_.fetch(std::span(pieces.data(), pieces.size()));
    core_.fetched = core_.behind.first(fetched > 0 ? fetched - 1 : 0);
    return fetched > 0;
  }

 private:
  // The next one of the same connection, without a completion: what is judged before it is placed was judged already.
  [[nodiscard]] static bool follows(const wire::Packet& p, const wire::Packet& before) {
    const wire::OpcodeInfo& info = wire::info(p.headers.bth.opcode);
    const wire::Bth &bth = p.headers.bth, &last = before.headers.bth;
    return info.dialect == Dialect::srnic && info.verb == wire::Verb::write && !info.immediate &&
           p.payload.is_exported() && bth.destination == last.destination && bth.pkey == last.pkey &&
           bth.psn == last.psn.plus(before.packets) && p.flow == before.flow;
  }
  [[nodiscard]] bool will_be_placed(const Context& c, const wire::Packet& p, std::byte*& at) {
    const wire::Reth& target = p.headers.reth;
    return judge_shape(c, p, wire::info(p.headers.bth.opcode)) == Refusal::none &&
           core_.translate(c, target.key, Rights::remote_write, target.address, p.payload.size(), at) == Refusal::none;
  }

  Core<W>& core_;
};

}  // namespace weft::nic
