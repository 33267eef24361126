// A reliable or unreliable connection on plain RoCEv2, with go-back-N: what everybody speaks. The sibling of
// nic/srnic/srnic.h, behind the same calls.
#pragma once

#include "nic/breaking.h"
#include "nic/recovery/go_back_n.h"
#include "nic/transport/answers.h"
#include "nic/transport/receiver.h"
#include "nic/transport/replies.h"
#include "nic/transport/sender.h"

namespace weft::nic {

template <World W>
class Roce {
 public:
  Roce(Core<W>& core, Endings<W>& endings) : core_(core), endings_(endings) {}

  [[nodiscard]] bool ready(Context& c) {
    return c.saved_pending > 0 || (sender_.may_send(c) && may_go_or_waits(core_, c));
  }

  void on_packet(Context& c, const wire::Packet& p, const wire::OpcodeInfo& info) {
    if (info.service == wire::Service::uc) return receiver_.on_unreliable(c, p, info);
    info.is_response() ? answers_.on_response(c, p, info) : receiver_.on_reliable(c, p, info);
  }
  void turn(Context& c, TurnBudget& budget) {
    if (c.saved_pending > 0) replies_.turn(c, budget);
    if (c.state != QpState::error) sender_.turn(c, budget);
  }
  void acknowledge(Context& c) { replies_.acknowledge(c); }
  void note_drained(Context& c) { sender_.note_drained(c); }
  void on_deadline(Context& c) { recovery_.on_deadline(c); }

 private:
  Core<W>& core_;
  Endings<W>& endings_;
  GoBackN<W> recovery_{core_, endings_};
  Sender<W> sender_{core_, endings_, recovery_};
  Answers<W> answers_{core_, endings_, recovery_, sender_};
  Replies<W> replies_{core_, endings_};
  Receiver<W> receiver_{core_, endings_, replies_};
};

}  // namespace weft::nic
