// What must not be under way at once. A stateless card takes packets in any order, and cannot tell a packet that is
// sent again from a new one. So work that would write where earlier work still writes, or read what that writes,
// waits until the earlier work's packets have all been answered.
#pragma once

#include <cstdint>

#include "nic/core.h"
#include "nic/host_memory.h"
#include "nic/star/link.h"

namespace weft::nic {

template <World W>
class StarHazards {
 public:
  using Side = StarLink::Side;
  explicit StarHazards(Core<W>& core) : core_(core) {}

  // Must this operation, which has not begun, wait for one that has?
  [[nodiscard]] bool conflict(Context& c, Side side, const Operation& op) {
    StarLink& l = *c.link;
    for (const Side other_side : {StarLink::own, StarLink::remote}) {
      StarStream& s = l.streams[other_side];
      for (std::uint32_t i = s.ripened; i != s.begun; ++i) {
        if (clash(c, side, op, other_side, s.at(i))) return true;
      }
    }
    return false;
  }

 private:
  struct Range {
    std::uint64_t address, bytes;
  };
  [[nodiscard]] static bool overlap(const Range& a, const Range& b) {
    if (a.bytes == 0 || b.bytes == 0) return false;
    return a.address - b.address < b.bytes || b.address - a.address < a.bytes;
  }

  // The order of the two sides' work among each other is nobody's promise, but a copy of an old packet must not undo
  // what any of them wrote. Within a side, what is written must not be what earlier work still reads.
  [[nodiscard]] bool clash(Context& c, Side side, const Operation& op, Side other_side, const Operation& other) {
    bool found = false;
    const bool same = side == other_side;
    there_writes(c, side, op, [&](const Range& a) {
      const auto check = [&](const Range& b) { found = found || overlap(a, b); };
      there_writes(c, other_side, other, check);
      if (same) there_reads(c, other_side, other, check);
    });
    here_writes(c, side, op, [&](const Range& a) {
      const auto check = [&](const Range& b) { found = found || overlap(a, b); };
      here_writes(c, other_side, other, check);
      if (same) here_reads(c, other_side, other, check);
    });
    if (found || !same || op.kind != WorkKind::read) return found;
    const Range read = target(c, side, op);
    const auto check = [&](const Range& b) { found = found || overlap(read, b); };
    side == StarLink::own ? there_writes(c, other_side, other, check) : here_writes(c, other_side, other, check);
    return found;
  }

  // What one-sided work names at the other end.
  [[nodiscard]] Range target(Context& c, Side side, const Operation& op) {
    const std::uint64_t address = side == StarLink::own ? read_scatter_under_way(core_, c, op.entry).remote.address
                                                        : c.link->works[op.entry % StarLink::kRemote].address;
    return {address, op.length};
  }
  [[nodiscard]] static bool writes_target(WorkKind k) { return is_write(k) || is_atomic(k); }

  // Memory of the stateless side that an operation writes.
  template <class Visit>
  void there_writes(Context& c, Side side, const Operation& op, const Visit& visit) {
    StarLink& l = *c.link;
    if (side == StarLink::own) {
      if (writes_target(op.kind)) return visit(target(c, side, op));
      if (op.kind != WorkKind::read) visit_list(l.receives[op.receive % StarLink::kRemote], op.length, visit);
    } else if (reads_back(op.kind)) {
      visit_list(l.works[op.entry % StarLink::kRemote], op.length, visit);
    }
  }
  // Memory of ours.
  template <class Visit>
  void here_writes(Context& c, Side side, const Operation& op, const Visit& visit) {
    if (side == StarLink::own) {
      if (!reads_back(op.kind)) return;
      for (const Sge& s : sges_of(read_scatter_under_way(core_, c, op.entry))) visit(Range{s.address, s.length});
    } else if (writes_target(op.kind)) {
      visit(target(c, side, op));
    } else if (!reads_back(op.kind)) {
      for (const Sge& s : sges_of(read_receive_under_way(core_, c, op.receive))) visit(Range{s.address, s.length});
    }
  }
  // What an operation reads, at either end.
  template <class Visit>
  void there_reads(Context& c, Side side, const Operation& op, const Visit& visit) {
    if (side == StarLink::own) {
      if (op.kind == WorkKind::read) visit(target(c, side, op));
    } else if (!reads_back(op.kind) &&
               (c.link->works[op.entry % StarLink::kRemote].flags & WorkFlags::inline_data) == 0) {
      visit_list(c.link->works[op.entry % StarLink::kRemote], op.length, visit);
    }
  }
  template <class Visit>
  void here_reads(Context& c, Side side, const Operation& op, const Visit& visit) {
    if (side == StarLink::remote) {
      if (op.kind == WorkKind::read) visit(target(c, side, op));
      return;
    }
    const Work& w = read_scatter_under_way(core_, c, op.entry);
    if (reads_back(op.kind) || (w.flags & WorkFlags::inline_data) != 0) return;
    for (const Sge& s : sges_of(w)) visit(Range{s.address, s.length});
  }
  template <class Visit>
  static void visit_list(const RemoteWork& list, std::uint32_t length, const Visit& visit) {
    for (std::size_t i = 0; i < list.sges && length != 0; ++i) {
      const wire::StarSge s = list.sge(i);
      const std::uint32_t bytes = s.length < length ? s.length : length;
      visit(Range{s.address, bytes});
      length -= bytes;
    }
  }

  Core<W>& core_;
};

}  // namespace weft::nic
