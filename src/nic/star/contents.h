// Where the bytes of a StaR operation are, at both ends, and what its packets carry: the stateful side's view of two
// memories, one behind its own gate and one behind capabilities.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "nic/core.h"
#include "nic/host_memory.h"
#include "nic/rc/send_queue.h"
#include "nic/star/link.h"

namespace weft::nic {

template <World W>
class StarContents {
 public:
  using Side = StarLink::Side;
  explicit StarContents(Core<W>& core) : core_(core) {}

  struct Place {
    wire::Capability capability{};
    std::uint64_t address = 0;
    std::uint32_t bytes = 0;
  };

  [[nodiscard]] static Flight::Kind kind_of(Side side, WorkKind k) {
    if (side == StarLink::own && is_atomic(k)) return Flight::Kind::atomic;
    const bool pulls = side == StarLink::own ? k == WorkKind::read : !reads_back(k);
    return pulls ? Flight::Kind::pull : Flight::Kind::push;
  }
  [[nodiscard]] static bool takes_receive(WorkKind k) {
    return k == WorkKind::send || k == WorkKind::send_immediate || k == WorkKind::send_invalidate ||
           k == WorkKind::write_immediate;
  }
  [[nodiscard]] const Work& work(const Context& c, const Operation& op) {
    return read_scatter_under_way(core_, c, op.entry);
  }
  [[nodiscard]] static RemoteWork& remote_work(StarLink& l, const Operation& op) {
    return l.works[op.entry % StarLink::kRemote];
  }

  // Where bytes from `offset` on are at the stateless side, as far as one packet reaches.
  [[nodiscard]] Place place(Context& c, Side side, const Operation& op, std::uint32_t offset) {
    StarLink& l = *c.link;
    Place out;
    const std::uint32_t most = std::min(path_mtu(c), op.length - offset);
    if (is_by_key(side, op.kind)) {
      const Work& w = work(c, op);
      if (const StarRule* rule = l.registry.find(wire::Key(w.key)); rule != nullptr) out.capability = rule->shown;
      out.address = w.remote.address + offset;
      out.bytes = most;
      return out;
    }
    const RemoteWork& list = side == StarLink::own ? l.receives[op.receive % StarLink::kRemote] : remote_work(l, op);
    for (std::size_t i = 0; i < list.sges; ++i) {
      const wire::StarSge s = list.sge(i);
      if (offset >= s.length) {
        offset -= s.length;
        continue;
      }
      const bool writes = side == StarLink::own || reads_back(op.kind);
      out.capability = {s.key,      writes ? wire::StarRights::work_write : wire::StarRights::work_read,
                        list.epoch, s.length,
                        s.address,  s.mac};
      out.address = s.address + offset;
      out.bytes = std::min(most, s.length - offset);
      break;
    }
    return out;
  }

  // ---- rules for keys

  // Does it show the key that its program named, and not one of an entry's elements?
  [[nodiscard]] static bool is_by_key(Side side, WorkKind k) {
    return side == StarLink::own && (!takes_receive(k) || k == WorkKind::write_immediate);
  }
  void keep_rule(Context& c, const StarRule& rule) {
    c.link->registry.keep(rule, [&](wire::Key key) { return is_in_use(c, key); });
  }
  [[nodiscard]] static std::uint8_t right_for(WorkKind k) {
    using R = wire::StarRights;
    return is_atomic(k) ? R::remote_atomic : k == WorkKind::read ? R::remote_read : R::remote_write;
  }
  // What the rules say to all that work names by its key.
  [[nodiscard]] StarRegistry::Verdict judge(const StarLink& l, const Work& w) {
    const std::uint32_t bytes = is_atomic(w.kind) ? 8 : w.length;
    core_.world.touch(OnChip::rule, w.key);
    return l.registry.judge(wire::Key(w.key), right_for(w.kind), w.remote.address, bytes);
  }
  // The key of a flight's packet that no rule is known for, because it has been taken back; or 0.
  [[nodiscard]] wire::Key unknown_key(Context& c, const Flight& f) {
    const auto side = static_cast<Side>(f.stream);
    const Operation& op = c.link->streams[side].at(f.operation);
    if (!is_by_key(side, op.kind)) return {};
    const wire::Key key(work(c, op).key);
    return c.link->registry.find(key) == nullptr ? key : wire::Key{};
  }

  // Writes what a flight's packet says besides header and expiry. A refusal is our own gate's.
  [[nodiscard]] Refusal fill(Context& c, const Flight& f, wire::Capability& shown) {
    const auto side = static_cast<Side>(f.stream);
    const Operation& op = c.link->streams[side].at(f.operation);
    const Place to = place(c, side, op, f.offset);
    if (!is_open(c, side, op, to, f.bytes)) return Refusal::star_not_registered;
    shown = to.capability;
    OutPacket& out = core_.out;
    out.headers.reth.address = to.address;
    out.headers.reth.length = f.bytes;
    pieces_.clear();
    if (f.kind == Flight::Kind::pull) return Refusal::none;
    out.payload_bytes = f.bytes;
    const Refusal r = f.kind == Flight::Kind::atomic ? fill_atomic(c, op) : fill_push(c, side, op, f);
    out.payload = {pieces_.begin(), pieces_.size()};
    return r;
  }

  // ---- what comes in

  Refusal take_original(Context& c, const Operation& op, const wire::Packet& p) {
    const auto original = wire::load_be<std::uint64_t>(p.payload.near().data());
    const auto bytes = std::as_bytes(std::span<const std::uint64_t, 1>(&original, 1));
    return scatter(core_, c, sges_of(work(c, op)), 0, wire::Payload(bytes));
  }
  Refusal take_pulled(Context& c, Side side, const Operation& op, const Flight& f, const wire::Packet& p) {
    return side == StarLink::own ? scatter(core_, c, sges_of(work(c, op)), f.offset, p.payload)
                                 : put(c, op, f.offset, p.payload);
  }
  // Data of the stateless side's SEND or WRITE.
  Refusal put(Context& c, const Operation& op, std::uint32_t offset, const wire::Payload& data) {
    const RemoteWork& w = remote_work(*c.link, op);
    if (is_write(op.kind)) {
      if (data.empty()) return Refusal::none;
      std::byte* at = nullptr;
      const Refusal r = core_.translate(c, w.key, Rights::remote_write, w.address + offset, data.size(), at);
      return r == Refusal::none && !core_.dma_write(at, data) ? Refusal::payload_gone : r;
    }
    return scatter(core_, c, sges_of(read_receive_under_way(core_, c, op.receive)), offset, data);
  }

 private:
  // The registry has the last word before a packet leaves. What the stateless side's own work lends is open as far as
  // its elements reach.
  [[nodiscard]] bool is_open(const Context& c, Side side, const Operation& op, const Place& to, std::uint32_t bytes) {
    if (!is_by_key(side, op.kind)) return to.bytes >= bytes;
    return c.link->registry.judge(to.capability.key, right_for(op.kind), to.address, bytes) ==
           StarRegistry::Verdict::allowed;
  }
  [[nodiscard]] bool is_in_use(Context& c, wire::Key key) {
    StarStream& s = c.link->streams[StarLink::own];
    for (std::uint32_t i = s.ripened; i != s.begun; ++i) {
      const Operation& op = s.at(i);
      if (is_by_key(StarLink::own, op.kind) && work(c, op).key == key.raw()) return true;
    }
    return false;
  }
  Refusal fill_push(Context& c, Side side, const Operation& op, const Flight& f) {
    if (side == StarLink::own) return pieces_of(core_, c, work(c, op), f.offset, f.bytes, pieces_);
    const RemoteWork& w = remote_work(*c.link, op);
    std::byte* at = nullptr;
    if (is_atomic(op.kind)) {
      std::memcpy(scratch_.data(), &op.value, sizeof op.value);
      core_.out.passing = true;
      at = scratch_.data() + f.offset;
    } else {
      const Refusal r = core_.translate(c, w.key, Rights::remote_read, w.address + f.offset, f.bytes, at);
      if (r != Refusal::none) return r;
      core_.world.read(BusRead::payload, at, f.bytes);
    }
    (void)pieces_.try_push({at, f.bytes});
    return Refusal::none;
  }
  Refusal fill_atomic(Context& c, const Operation& op) {
    const Work& w = work(c, op);
    const StarLink& l = *c.link;
    const bool adds = w.kind == WorkKind::fetch_add;
    wire::star_write(scratch_.data(), wire::StarAtomic{.adds = adds,
                                                       .epoch = l.control.epoch,
                                                       .count = static_cast<std::uint32_t>(op.value),
                                                       .swap_add = adds ? w.remote.compare_add : w.remote.swap,
                                                       .compare = adds ? 0 : w.remote.compare_add,
                                                       .block = l.control.base,
                                                       .control = l.control.mac});
    (void)pieces_.try_push({scratch_.data(), wire::StarAtomic::kBytes});
    core_.out.passing = true;
    core_.out.payload_bytes = wire::StarAtomic::kBytes;
    core_.out.headers.reth.length = wire::StarAtomic::kBytes;
    return Refusal::none;
  }

  Core<W>& core_;
  Pieces pieces_;
  std::array<std::byte, 64> scratch_;
};

}  // namespace weft::nic
