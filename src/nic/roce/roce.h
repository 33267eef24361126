// A reliable or unreliable connection on plain RoCEv2, with go-back-N: what everybody speaks. The sibling of
// nic/srnic/srnic.h, behind the same calls.
#pragma once

#include "nic/completions.h"
#include "nic/roce/go_back_n.h"
#include "nic/roce/requester.h"
#include "nic/roce/requester_input.h"
#include "nic/roce/responder.h"
#include "nic/roce/responder_output.h"

namespace weft::nic {

template <World W>
class Roce {
 public:
  Roce(Core<W>& core, Completions<W>& completions, Calls<W>& calls)
      : core_(core), completions_(completions), calls_(calls) {}

  [[nodiscard]] bool ready(Context& c) {
    return c.saved_pending > 0 || (requester_.may_send(c) && may_go_or_waits(core_, c));
  }

  void on_packet(Context& c, const wire::Packet& p, const wire::OpcodeInfo& info) {
    if (info.service == wire::Service::uc) return responder_.on_unreliable(c, p, info);
    info.is_response() ? requester_input_.on_response(c, p, info) : responder_.on_reliable(c, p, info);
  }
  void turn(Context& c, TurnBudget& budget) {
    if (c.saved_pending > 0) responder_output_.turn(c, budget);
    if (c.state != QpState::error) requester_.turn(c, budget);
  }
  void acknowledge(Context& c) { responder_output_.acknowledge(c); }
  void note_drained(Context& c) { requester_.note_drained(c); }
  void on_deadline(Context& c) { recovery_.on_deadline(c); }

 private:
  Core<W>& core_;
  Completions<W>& completions_;
  Calls<W>& calls_;
  GoBackN<W> recovery_{core_, completions_};
  Requester<W> requester_{core_, completions_, recovery_};
  RequesterInput<W> requester_input_{core_, completions_, recovery_, requester_};
  ResponderOutput<W> responder_output_{core_, completions_};
  Responder<W> responder_{core_, completions_, responder_output_, calls_};
};

}  // namespace weft::nic
