// What this machine's loopback allows a card that lives in user space: a stream of 4 KB packets as segmented datagrams,
// headers, payload and CRC as separate pieces, the CRC computed at both ends, the payload placed. No protocol at all.
#pragma once

#include <optional>

namespace weft::cli {

[[nodiscard]] std::optional<double> probe_stream_gbits();

}  // namespace weft::cli
