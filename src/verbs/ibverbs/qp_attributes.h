// Queue pair attributes, from verbs to the host's and back. The masks are bit for bit the same.
#pragma once

#include <infiniband/verbs.h>

#include "host/queue_pair.h"

namespace weft::verbs {

// False: a value that no attribute of the host's can hold. `mask` loses what asks for nothing.
[[nodiscard]] bool translate(const ibv_qp_attr& from, std::uint32_t& mask, host::QpAttributes& to);
[[nodiscard]] ibv_qp_attr translate(const host::QpAttributes& from);
[[nodiscard]] ibv_qp_cap capabilities_of(const host::QpOptions& options);

}  // namespace weft::verbs
