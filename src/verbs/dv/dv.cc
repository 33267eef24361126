// libweft_dv.so.1: what programs call beside verbs, if the device is Weft's (include/weft/dv.h).
#include "weft/dv.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>

#include <isa-l/crc64.h>

#include "bytecode/fault.h"
#include "verbs/dv_port.h"
#include "wire/refusal.h"

extern "C" {

// With another libibverbs.so.1 these are not there.
decltype(weft_dv_is_ours) weft_dv_is_ours __attribute__((weak));
decltype(weft_dv_create_qp) weft_dv_create_qp __attribute__((weak));
decltype(weft_dv_deploy_kernel) weft_dv_deploy_kernel __attribute__((weak));
decltype(weft_dv_deploy_bytecode) weft_dv_deploy_bytecode __attribute__((weak));
decltype(weft_dv_allow_deployment) weft_dv_allow_deployment __attribute__((weak));
decltype(weft_dv_forbid_deployment) weft_dv_forbid_deployment __attribute__((weak));
decltype(weft_dv_deployment_request) weft_dv_deployment_request __attribute__((weak));
decltype(weft_dv_remove_kernel) weft_dv_remove_kernel __attribute__((weak));
decltype(weft_dv_list_kernels) weft_dv_list_kernels __attribute__((weak));
decltype(weft_dv_shipped_kernel) weft_dv_shipped_kernel __attribute__((weak));
decltype(weft_dv_post_rpc) weft_dv_post_rpc __attribute__((weak));
decltype(weft_dv_post_rpc_write) weft_dv_post_rpc_write __attribute__((weak));
decltype(weft_dv_post_local_rpc) weft_dv_post_local_rpc __attribute__((weak));
decltype(weft_dv_post_local_rpc_write) weft_dv_post_local_rpc_write __attribute__((weak));
}

namespace {

// 0 or errno, and then a sentence on standard error.
int judge(const ibv_context* context, const char* what) {
  if (context == nullptr) return EINVAL;
  if (weftdv_is_supported(context->device)) return 0;
  std::fprintf(stderr, "weft: %s is no device of Weft's, and has no %s: start the program with weft run\n",
               context->device->name, what);
  return EOPNOTSUPP;
}

}  // namespace

extern "C" {

bool weftdv_is_supported(ibv_device* device) {
  return device != nullptr && weft_dv_is_ours != nullptr && weft_dv_is_ours(device);
}

ibv_qp* weftdv_create_qp(ibv_context* context, ibv_qp_init_attr_ex* attr, weftdv_qp_init_attr* weft) {
  errno = attr == nullptr ? EINVAL : judge(context, "queue pairs with roles of StaR, or with calls of kernels");
  return errno == 0 ? weft_dv_create_qp(context, attr, weft) : nullptr;
}

int weftdv_deploy_kernel(ibv_context* context, const weft_kernel* kernel) {
  if (kernel == nullptr) return EINVAL;
  const int code = judge(context, "kernels");
  return code == 0 ? weft_dv_deploy_kernel(context, kernel) : code;
}

int weftdv_deploy_bytecode(ibv_context* context, const weft_bytecode* bytecode, weft_bytecode_verdict* verdict) {
  if (bytecode == nullptr) return EINVAL;
  const int code = judge(context, "kernels");
  return code == 0 ? weft_dv_deploy_bytecode(context, bytecode, verdict) : code;
}

int weftdv_allow_deployment(ibv_qp* qp, const weft_deployment_rights* rights, weft_deployment_key* key) {
  if (qp == nullptr || rights == nullptr || key == nullptr) return EINVAL;
  const int code = judge(qp->context, "kernels");
  return code == 0 ? weft_dv_allow_deployment(qp, rights, key) : code;
}

int weftdv_forbid_deployment(ibv_qp* qp) {
  if (qp == nullptr) return EINVAL;
  const int code = judge(qp->context, "kernels");
  return code == 0 ? weft_dv_forbid_deployment(qp) : code;
}

bool weft_make_deployment_request(struct weft_deployment_request* request, const weft_deployment_key* key,
                                  std::uint32_t qpn, std::uint64_t number, weft_deployment_action action,
                                  const weft_bytecode* bytecode) {
  return weft_dv_deployment_request != nullptr &&
         weft_dv_deployment_request(request, key, qpn, number, action, bytecode);
}

const char* weft_bytecode_fault_name(std::uint32_t fault) {
  return fault < weft::bytecode::kFaultTexts.size() ? weft::bytecode::kFaultTexts[fault].name.data() : "?";
}

const char* weft_bytecode_fault_meaning(std::uint32_t fault) {
  return fault < weft::bytecode::kFaultTexts.size() ? weft::bytecode::kFaultTexts[fault].meaning.data() : "?";
}

const char* weftdv_reason_name(std::uint32_t vendor_err) {
  return vendor_err < weft::kRefusals.size() ? weft::kRefusals[vendor_err].counter.data() : "?";
}

const char* weftdv_reason_meaning(std::uint32_t vendor_err) {
  return vendor_err < weft::kRefusals.size() ? weft::kRefusals[vendor_err].meaning.data() : "?";
}

int weftdv_remove_kernel(ibv_context* context, std::uint64_t opcode) {
  const int code = judge(context, "kernels");
  return code == 0 ? weft_dv_remove_kernel(context, opcode) : code;
}

int weftdv_list_kernels(ibv_context* context, weft_kernel* kernels, int most) {
  errno = most < 0 || (kernels == nullptr && most != 0) ? EINVAL : judge(context, "kernels");
  return errno == 0 ? weft_dv_list_kernels(context, kernels, most) : -1;
}

bool weft_shipped_kernel(const char* name, weft_kernel* kernel) {
  return weft_dv_shipped_kernel != nullptr && name != nullptr && kernel != nullptr &&
         weft_dv_shipped_kernel(name, kernel);
}

std::uint64_t weft_checksum(const void* bytes, std::size_t count) {
  return crc64_ecma_refl(0, static_cast<const unsigned char*>(bytes), count);
}

int weftdv_post_rpc(ibv_qp* qp, const weftdv_rpc* call) {
  if (qp == nullptr || call == nullptr) return EINVAL;
  const int code = judge(qp->context, "calls of kernels");
  return code == 0 ? weft_dv_post_rpc(qp, call) : code;
}

int weftdv_post_rpc_write(ibv_qp* qp, const weftdv_rpc_write* payload) {
  if (qp == nullptr || payload == nullptr) return EINVAL;
  const int code = judge(qp->context, "calls of kernels");
  return code == 0 ? weft_dv_post_rpc_write(qp, payload) : code;
}

int weftdv_post_local_rpc(ibv_qp* qp, const weftdv_local_rpc* call) {
  if (qp == nullptr || call == nullptr) return EINVAL;
  const int code = judge(qp->context, "calls of kernels");
  return code == 0 ? weft_dv_post_local_rpc(qp, call) : code;
}

int weftdv_post_local_rpc_write(ibv_qp* qp, const weftdv_local_rpc_write* payload) {
  if (qp == nullptr || payload == nullptr) return EINVAL;
  const int code = judge(qp->context, "calls of kernels");
  return code == 0 ? weft_dv_post_local_rpc_write(qp, payload) : code;
}

}  // extern "C"
