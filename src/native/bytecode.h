// Bytecode as programs know it (weft/bytecode.h), over the card's own: what native and verbs have in common.
#pragma once

#include "bytecode/program.h"
#include "host/device.h"
#include "weft/bytecode.h"

namespace weft::native {

// A kernel that a device may deploy, or a fault in `verdict`, which may be null. This takes the time of checking and
// compiling, and no device.
[[nodiscard]] bytecode::MadeKernel make_kernel(const weft_bytecode& wanted, weft_bytecode_verdict* verdict);
// What a fault is for who deploys.
[[nodiscard]] host::Error error_of(bytecode::BytecodeFault fault);

// The peer of this queue pair may deploy from now on, with the key that is made here.
[[nodiscard]] host::Error allow_deployment(host::Device& device, const host::QueuePair& qp,
                                           const weft_deployment_rights& rights, weft_deployment_key& key);
[[nodiscard]] host::Error forbid_deployment(host::Device& device, const host::QueuePair& qp);

// weft_make_deployment_request().
[[nodiscard]] bool fill_request(struct weft_deployment_request* request, const weft_deployment_key* key,
                                std::uint32_t qpn, std::uint64_t number, weft_deployment_action action,
                                const weft_bytecode* wanted);

}  // namespace weft::native
