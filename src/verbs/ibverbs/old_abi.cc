// The interface before 2007. Its objects have other layouts, so that a program of that time is refused politely: it
// finds every name, no device, and ENOSYS.
#include <cerrno>

// clang-format off
#define WEFT_FOR_EACH_OLD_ANSWER_OF_NOTHING(do) \
  do(ibv_ack_async_event) do(ibv_ack_cq_events) do(ibv_alloc_pd) do(ibv_create_ah) do(ibv_create_cq) \
  do(ibv_create_qp) do(ibv_create_srq) do(ibv_free_device_list) do(ibv_get_device_guid) do(ibv_get_device_list) \
  do(ibv_get_device_name) do(ibv_open_device) do(ibv_reg_mr)
#define WEFT_FOR_EACH_OLD_REFUSAL(do) \
  do(ibv_attach_mcast) do(ibv_close_device) do(ibv_dealloc_pd) do(ibv_dereg_mr) do(ibv_destroy_ah) \
  do(ibv_destroy_cq) do(ibv_destroy_qp) do(ibv_destroy_srq) do(ibv_detach_mcast) do(ibv_get_async_event) \
  do(ibv_get_cq_event) do(ibv_modify_qp) do(ibv_modify_srq) do(ibv_query_device) do(ibv_query_gid) \
  do(ibv_query_pkey) do(ibv_query_port) do(ibv_query_qp) do(ibv_query_srq) do(ibv_resize_cq)
// clang-format on

#define WEFT_OLD(name) asm(".symver weft_old_" #name ", " #name "@IBVERBS_1.0");

#define WEFT_OLD_NOTHING(name)                    \
  __attribute__((used)) void* weft_old_##name() { \
    errno = ENOSYS;                               \
    return nullptr;                               \
  }                                               \
  WEFT_OLD(name)

#define WEFT_OLD_REFUSAL(name)                  \
  __attribute__((used)) int weft_old_##name() { \
    errno = ENOSYS;                             \
    return ENOSYS;                              \
  }                                             \
  WEFT_OLD(name)

extern "C" {

WEFT_FOR_EACH_OLD_ANSWER_OF_NOTHING(WEFT_OLD_NOTHING)
WEFT_FOR_EACH_OLD_REFUSAL(WEFT_OLD_REFUSAL)

// How drivers announced themselves before the private interface had a version. Programs can no longer link to it.
__attribute__((used)) void weft_old_ibv_register_driver(const char*, void*) {}
asm(".symver weft_old_ibv_register_driver, ibv_register_driver@IBVERBS_1.1");

}  // extern "C"
