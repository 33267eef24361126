// A server with many connections and a few programs that are its clients. The server keeps WRITEs or READs under way,
// on all connections in turn, which is what a card with many connections has to bear; before, each client writes once
// on each of its connections. All data is checked.
#pragma once

#include "cli/connections/options.h"
#include "cli/connections/report.h"

namespace weft::connections {

// Measures each of o.qps, with o.clients clients.
[[nodiscard]] Findings run_crowd(const Options& o);

}  // namespace weft::connections
