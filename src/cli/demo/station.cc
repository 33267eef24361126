#include "cli/demo/station.h"

#include <fmt/format.h>

namespace weft::cli {

DemoEnd::DemoEnd(DemoStation& on, Service service, std::size_t memory_bytes, const SharedReceiveQueue* srq)
    : station(on),
      memory(on.domain, memory_bytes),
      send_cq(must(on.device.create_completion_queue(2 * kQueue))),
      receive_cq(must(on.device.create_completion_queue(2 * kQueue))),
      qp(must(on.domain.create_queue_pair({.service = service,
                                           .limits = {.send_entries = kQueue, .receive_entries = kQueue},
                                           .send_cq = &send_cq,
                                           .receive_cq = &receive_cq,
                                           .srq = srq}))) {}

void Scoreboard::failed(Row row, const Completion& done) {
  const RowText& text_of_row = kRowTexts[static_cast<std::size_t>(row)];
  problems.push_back(fmt::format("{} {} at queue pair {:#08x}: {}{}{}", name_of(text_of_row.service), text_of_row.name,
                                 done.qpn.raw(), text(done.status), done.reason ? ": " : "",
                                 done.reason ? done.reason.meaning() : ""));
}

Task<bool> carry_out(Stage stage, Row row, DemoEnd& on, WorkRequest work, std::uint32_t bytes) {
  DemoTally& tally = stage.board[row];
  ++tally.messages;
  tally.bytes += bytes;
  const Duration posted = stage.sim.now();
  must(on.qp.post(work));
  const Completion done = co_await stage.sim.completion(on.send_cq);
  if (!done.ok()) {
    stage.board.failed(row, done);
    co_return false;
  }
  ++tally.completed;
  if (kRowTexts[static_cast<std::size_t>(row)].service == Service::rc) tally.note_latency(done.when - posted);
  co_return true;
}

}  // namespace weft::cli
