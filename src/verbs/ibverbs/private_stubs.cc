// The private part of the interface, for drivers. Some programs (perftest, UCX) are linked to drivers' libraries, which
// are bound as a whole before main: every name must be there, though none is called for a device of ours.
#include <cerrno>
#include <cstddef>

// clang-format off
#define WEFT_FOR_EACH_DRIVER_CALL(do) \
  do(execute_ioctl) do(ibv_cmd_advise_mr) do(ibv_cmd_alloc_dm) do(ibv_cmd_alloc_mw) do(ibv_cmd_alloc_pd) \
  do(ibv_cmd_attach_mcast) do(ibv_cmd_close_xrcd) do(ibv_cmd_create_ah) do(ibv_cmd_create_counters) \
  do(ibv_cmd_create_cq) do(ibv_cmd_create_cq_ex) do(ibv_cmd_create_flow) do(ibv_cmd_create_flow_action_esp) \
  do(ibv_cmd_create_qp) do(ibv_cmd_create_qp_ex) do(ibv_cmd_create_qp_ex2) do(ibv_cmd_create_rwq_ind_table) \
  do(ibv_cmd_create_srq) do(ibv_cmd_create_srq_ex) do(ibv_cmd_create_wq) do(ibv_cmd_dealloc_mw) \
  do(ibv_cmd_dealloc_pd) do(ibv_cmd_dereg_mr) do(ibv_cmd_destroy_ah) do(ibv_cmd_destroy_counters) \
  do(ibv_cmd_destroy_cq) do(ibv_cmd_destroy_flow) do(ibv_cmd_destroy_flow_action) do(ibv_cmd_destroy_qp) \
  do(ibv_cmd_destroy_rwq_ind_table) do(ibv_cmd_destroy_srq) do(ibv_cmd_destroy_wq) do(ibv_cmd_detach_mcast) \
  do(ibv_cmd_free_dm) do(ibv_cmd_get_context) do(ibv_cmd_modify_cq) do(ibv_cmd_modify_flow_action_esp) \
  do(ibv_cmd_modify_qp) do(ibv_cmd_modify_qp_ex) do(ibv_cmd_modify_srq) do(ibv_cmd_modify_wq) do(ibv_cmd_open_qp) \
  do(ibv_cmd_open_xrcd) do(ibv_cmd_poll_cq) do(ibv_cmd_post_recv) do(ibv_cmd_post_send) do(ibv_cmd_post_srq_recv) \
  do(ibv_cmd_query_context) do(ibv_cmd_query_device_any) do(ibv_cmd_query_mr) do(ibv_cmd_query_port) \
  do(ibv_cmd_query_qp) do(ibv_cmd_query_srq) do(ibv_cmd_read_counters) do(ibv_cmd_reg_dm_mr) \
  do(ibv_cmd_reg_dmabuf_mr) do(ibv_cmd_reg_mr) do(ibv_cmd_req_notify_cq) do(ibv_cmd_rereg_mr) do(ibv_cmd_resize_cq)
// clang-format on

#define WEFT_REFUSE(name) \
  int name() { return EOPNOTSUPP; }

extern "C" {

// Drivers' commands to the kernel: there is no device in the kernel.
WEFT_FOR_EACH_DRIVER_CALL(WEFT_REFUSE)

// A driver's library says that it is there. It will never be asked.
void verbs_register_driver_34(const void*) {}

void* _verbs_init_and_alloc_context(void*, int, size_t, void*, unsigned) {
  errno = EOPNOTSUPP;
  return nullptr;
}
void verbs_uninit_context(void*) {}
void verbs_set_ops(void*, const void*) {}
void verbs_init_cq(void*, void*, void*, void*) {}
void __verbs_log(void*, unsigned, const char*, ...) {}
unsigned __ioctl_final_num_attrs(unsigned attributes, void*) { return attributes; }

bool verbs_allow_disassociate_destroy = false;

}  // extern "C"
