#include "reliability/lane_draw.h"

#include <cassert>

namespace weft::test {
namespace {

using nic::WorkKind;
using wire::Service;

// Cuts [offset, offset + bytes + gaps) into pieces with gaps between them.
std::vector<Piece> cut_span(Draw& draw, std::uint64_t offset, std::uint32_t bytes, std::uint32_t pieces, bool gaps) {
  std::vector<Piece> all;
  while (pieces > 1 && draw.chance(0.6)) {
    const auto length = static_cast<std::uint32_t>(draw.below(bytes + 1));  // sometimes nothing, sometimes all
    all.push_back({offset, length});
    offset += length + (gaps ? draw.below(8) : 0);
    bytes -= length;
    --pieces;
  }
  all.push_back({offset, bytes});
  return all;
}

bool overlap(Piece a, Piece b) { return a.offset < b.offset + b.length && b.offset < a.offset + a.length; }

bool overlap(const std::vector<Piece>& all, Piece one) {
  return std::any_of(all.begin(), all.end(), [&](Piece p) { return overlap(p, one); });
}

bool changes_memory(WorkKind k) { return nic::is_write(k) || nic::is_atomic(k); }

class LaneDraw {
 public:
  LaneDraw(Draw& draw, Channel& channel, std::size_t direction, const BedSpec& bed, Arena& arena)
      : draw_(draw),
        lane_(channel.lanes[direction]),
        qp_(channel.qps[direction]),
        peer_(channel.qps[1 - direction]),
        sender_(channel.hosts[direction]),
        receiver_(channel.hosts[1 - direction]),
        shared_(channel.uses_srq[1 - direction]),
        apart_((bed.dialect != nic::Dialect::roce || bed.moves) && qp_.service == Service::rc),
        card_(bed.card),
        arena_(arena) {}

  void make() {
    const auto steps = draw_.below(draw_.chance(0.25) ? 60 : 14);
    if (steps == 0) return;
    longest_ = longest();
    home_ = arena_.take(sender_, section());
    away_ = arena_.take(receiver_, section());
    for (std::uint64_t i = 0; i < steps; ++i) add_step(i + 1 == steps);
    if (draw_.chance(0.3)) lane_.start = draw_.between(1, microseconds(100));
    add_receives();
  }

 private:
  // Some messages are several windows long; 128 KB is long enough for everything else.
  [[nodiscard]] std::uint32_t longest() const {
    if (qp_.service == Service::ud) return 4096;
    return std::min<std::uint32_t>(3 * card_.window_packets * qp_.mtu + 77, 128 * 1024);
  }
  [[nodiscard]] std::uint64_t section() const { return longest_ + longest_ / 2 + 512; }

  std::uint32_t draw_length() {
    const std::uint32_t mtu = qp_.mtu;
    switch (draw_.below(8)) {
      case 0: return 0;
      case 1: return std::min(longest_, mtu * static_cast<std::uint32_t>(draw_.between(1, 3)));  // no byte more
      case 2: return static_cast<std::uint32_t>(draw_.below(longest_ + 1));
      case 3:
      case 4: return std::min(longest_, static_cast<std::uint32_t>(draw_.below(4 * mtu + 1)));
      default: return static_cast<std::uint32_t>(draw_.between(1, std::min(mtu, longest_)));
    }
  }

  WorkKind draw_kind() {
    using enum WorkKind;
    switch (qp_.service) {
      case Service::ud: return draw_.one_of({send, send_immediate});
      case Service::uc: return draw_.one_of({send, send_immediate, write, write_immediate});
      default:
        return draw_.one_of({send, send, send_immediate, send_invalidate, write, write, write_immediate, read, read,
                             read, compare_swap, fetch_add, fetch_add, bind_window, local_invalidate});
    }
  }

  void add_step(bool last) {
    Step s;
    s.kind = draw_kind();
    if (s.kind == WorkKind::local_invalidate && open_windows_ == 0) s.kind = WorkKind::bind_window;
    if (s.kind == WorkKind::bind_window) ++open_windows_;
    if (s.kind == WorkKind::local_invalidate) --open_windows_;
    if (s.kind == WorkKind::send_invalidate) ++lane_.windows;
    s.immediate = static_cast<std::uint32_t>(draw_.next());
    s.solicited = consumes_receive(s.kind) && draw_.chance(0.3);
    s.fence = draw_.chance(0.1);
    // Room in the queue is only told of by completions: one in every half queue, and the last.
    const std::uint32_t quiet = std::max(qp_.limits.send_entries / 2, 1U);
    s.signaled = last || qp_.signal_all || lane_.steps.size() % quiet == quiet - 1 || draw_.chance(0.5);
    if (!nic::is_local(s.kind)) apart_ ? place_apart(s) : place(s);
    lane_.steps.push_back(std::move(s));
  }

  void place(Step& s) {
    const std::uint32_t length = nic::is_atomic(s.kind) ? 8 : draw_length();
    s.is_inline = !nic::reads_back(s.kind) && length <= qp_.limits.inline_bytes && draw_.chance(0.5);
    s.local = cut_span(draw_, home_ + draw_.below(section() - length - 8 * 32), length, qp_.limits.send_sges, true);
    if (nic::is_atomic(s.kind)) {
      s.remote = away_ + 8 * draw_.below(4);  // few words, so that they meet again
      s.compare_add = draw_.chance(0.5) ? last_swap_ : draw_.next();
      s.swap = last_swap_ = draw_.next();
    } else if (qp_.service == Service::uc) {
      s.remote = nic::is_write(s.kind) ? arena_.take(receiver_, length) : 0;
    } else {
      s.remote = away_ + draw_.below(section() - length);
    }
    if (qp_.service == Service::rc) finish_placing(s);
  }
  void finish_placing(Step& s) {
    fence_if_needed(s);
    const bool names_memory = changes_memory(s.kind) || s.kind == WorkKind::read;
    if (names_memory && s.length() > 0 && draw_.chance(0.003)) s.remote_key = kWrongKey;
  }

  // Packets that are placed in any order need places of their own. What has landed may be sent on, behind a fence, and
  // what was written may be read: those orders are promised.
  void place_apart(Step& s) {
    std::uint32_t length = nic::is_atomic(s.kind) ? 8 : draw_length();
    if (nic::reads_back(s.kind)) {
      if (s.kind == WorkKind::read && !written_.empty() && draw_.chance(0.5)) {
        const Piece from = written_[draw_.below(written_.size())];
        const std::uint64_t skip = draw_.below(from.length + 1);
        length = std::min(length, static_cast<std::uint32_t>(from.length - skip));
        s.remote = from.offset + skip;
      } else {
        s.remote = nic::is_atomic(s.kind) ? away_ + 8 * draw_.below(4) : away_ + draw_.below(section() - length);
      }
      s.local = arena_.cut(draw_, sender_, length, qp_.limits.send_sges);
      s.compare_add = draw_.chance(0.5) ? last_swap_ : draw_.next();
      if (nic::is_atomic(s.kind)) s.swap = last_swap_ = draw_.next();
      landings_.push_back(lane_.steps.size());
      return finish_placing(s);
    }
    if (!landings_.empty() && draw_.chance(0.3)) {
      s.local = lane_.steps[landings_[draw_.below(landings_.size())]].local;
      length = s.length();
    } else {
      s.local = cut_span(draw_, home_ + draw_.below(section() - length - 8 * 32), length, qp_.limits.send_sges, true);
    }
    s.is_inline = length <= qp_.limits.inline_bytes && draw_.chance(0.5);
    if (changes_memory(s.kind)) {
      s.remote = arena_.take(receiver_, length);
      written_.push_back({s.remote, length});
    }
    finish_placing(s);
  }

  // Without a fence, what comes after a READ or an atomic may happen before it: the answer may have to be asked for
  // again.
  void fence_if_needed(Step& s) {
    const Piece there{s.remote, s.length()};
    if (changes_memory(s.kind) && overlap(being_read_, there)) s.fence = true;
    if (!nic::reads_back(s.kind)) {
      for (const Piece& p : s.local) {
        s.fence = s.fence || overlap(landing_, p);
        s.is_inline = s.is_inline && !overlap(landed_, p);  // inline bytes are taken when it is posted: no fence helps
      }
    }
    if (s.fence) {
      being_read_.clear();
      landing_.clear();
    }
    if (!nic::reads_back(s.kind)) return;
    if (s.kind == WorkKind::read) being_read_.push_back(there);
    for (const Piece& p : s.local) {
      landing_.push_back(p);
      landed_.push_back(p);
    }
  }

  void add_receives() {
    if (shared_) return;
    const bool late = draw_.chance(0.3);
    const std::uint32_t grh = qp_.service == Service::ud ? 40 : 0;
    for (const Step& s : lane_.steps) {
      if (!consumes_receive(s.kind)) continue;
      const std::uint32_t needed = qp_.service == Service::rc ? s.length() : longest_;  // any may meet any
      add_receive(needed + grh + static_cast<std::uint32_t>(draw_.below(20)), late);
    }
    const bool any = !lane_.receives.empty() || qp_.service != Service::rc;
    for (std::uint64_t spare = any ? draw_.below(4) : 0; spare > 0; --spare) add_receive(longest_ + grh, late);
  }
  void add_receive(std::uint32_t bytes, bool late) {
    const Time pause = late && draw_.chance(0.5) ? draw_.between(1, microseconds(200)) : 0;
    lane_.receives.push_back({.local = arena_.cut(draw_, receiver_, bytes, peer_.limits.receive_sges), .pause = pause});
  }

  Draw& draw_;
  Lane& lane_;
  const QpSpec& qp_;
  const QpSpec& peer_;
  std::size_t sender_, receiver_;
  bool shared_;
  bool apart_;  // nothing that lands may overlap anything else that does
  const nic::CardConfig& card_;
  Arena& arena_;
  std::uint32_t longest_ = 0;
  std::uint64_t home_ = 0, away_ = 0, last_swap_ = 0;
  std::uint32_t open_windows_ = 0;
  std::vector<Piece> being_read_, landing_;  // since the last fence
  std::vector<Piece> landed_;                // ever
  std::vector<Piece> written_;               // of lanes whose steps are apart: all that was written,
  std::vector<std::size_t> landings_;        //   and the steps that land at home
};

}  // namespace

std::vector<Piece> Arena::cut(Draw& draw, std::size_t host, std::uint32_t bytes, std::uint32_t pieces) {
  return cut_span(draw, take(host, bytes + 8 * pieces), bytes, pieces, true);
}

void draw_lane(Draw& draw, Channel& channel, std::size_t direction, const BedSpec& bed, Arena& arena) {
  LaneDraw(draw, channel, direction, bed, arena).make();
}

}  // namespace weft::test
