// What the device and its port say of themselves.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "nic/context.h"
#include "verbs/ibverbs/context.h"
#include "verbs/ibverbs/device_list.h"
#include "verbs/ibverbs/errors.h"
#include "verbs/ibverbs/limits.h"
#include "verbs/ibverbs/operations.h"

namespace weft::verbs {
namespace {

constexpr unsigned kCapabilities = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_RC_RNR_NAK_GEN |
                                   IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
                                   IBV_DEVICE_MEM_MGT_EXTENSIONS;

// Everything that is not named stays 0: vendor and part (perftest then takes no vendor's shortcuts), multicast, XRC.
ibv_device_attr describe_device(const host::Device& device) {
  const host::DeviceConfig& c = device.config();
  const bool stateless = c.role == host::StarRole::stateless;
  const auto sges = static_cast<int>(stateless ? std::size_t{nic::RemoteWork::kMaxSges} : c.max_sges);
  const auto qps = static_cast<int>(device.card().contexts.size());
  const auto keys = static_cast<int>(device.card().memory.size() - 1);
  ibv_device_attr a{};
  std::snprintf(a.fw_ver, sizeof a.fw_ver, "%s", WEFT_VERSION);
  a.node_guid = a.sys_image_guid = guid_number(c.gids.front());
  a.max_mr_size = ~0ULL;
  a.page_size_cap = 0xFFFF'F000;
  a.max_qp = qps;
  a.max_qp_wr = static_cast<int>(c.max_queue_entries);
  a.device_cap_flags = kCapabilities;
  a.max_sge = a.max_sge_rd = sges;
  a.max_cq = static_cast<int>(c.card.max_cqs);
  a.max_cqe = static_cast<int>(c.max_cq_entries);
  a.max_mr = a.max_mw = keys;
  a.max_pd = static_cast<int>(host::kMaxDomains);
  a.max_qp_rd_atom = a.max_qp_init_rd_atom = c.max_reads;
  a.max_res_rd_atom = c.max_reads * qps;
  a.atomic_cap = IBV_ATOMIC_HCA;  // atomic among the card's own, not with the processor's
  a.max_ah = kMaxAddressHandles;
  a.max_srq = static_cast<int>(c.card.max_srqs);
  a.max_srq_wr = static_cast<int>(c.max_queue_entries);
  a.max_srq_sge = static_cast<int>(c.max_sges);
  a.max_pkeys = 1;
  a.local_ca_ack_delay = 15;  // 134 ms: a program that is not scheduled answers late
  a.phys_port_cnt = 1;
  return a;
}

ibv_device_attr_ex describe_more(const host::Device& device) {
  ibv_device_attr_ex a{};
  a.orig_attr = describe_device(device);
  a.odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
  constexpr std::uint32_t messages = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV;
  a.odp_caps.per_transport_caps.rc_odp_caps =
      messages | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;
  a.odp_caps.per_transport_caps.uc_odp_caps = messages | IBV_ODP_SUPPORT_WRITE;
  a.odp_caps.per_transport_caps.ud_odp_caps = messages | IBV_ODP_SUPPORT_SRQ_RECV;
  a.completion_timestamp_mask = ~0ULL >> 1;
  a.hca_core_clock = 1'000'000;  // kHz: timestamps count nanoseconds
  a.device_cap_flags_ex = a.orig_attr.device_cap_flags;
  a.cq_mod_caps = {.max_cq_count = 0xFFFF, .max_cq_period = 0xFFFF};
  a.max_dm_size = kDeviceMemory;
  a.phys_port_cnt_ex = 1;
  return a;
}

ibv_mtu mtu_of(std::uint16_t bytes) { return static_cast<ibv_mtu>(std::countr_zero(bytes) - 7); }
static_assert(IBV_MTU_4096 == 5);

ibv_port_attr describe_port(const host::Device& device) {
  ibv_port_attr a{};
  a.state = IBV_PORT_ACTIVE;
  a.max_mtu = IBV_MTU_4096;
  a.active_mtu = mtu_of(device.config().mtu);
  a.gid_tbl_len = static_cast<int>(device.config().gids.size());
  a.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
  a.max_msg_sz = nic::kMaxMessage;
  a.pkey_tbl_len = 1;
  a.max_vl_num = 1;
  // 4 lanes of 25 Gb/s. There is no line; but programs choose between devices by this, and the slowest number of the
  // list, which other software devices give, makes them choose TCP.
  a.active_width = 2;
  a.active_speed = 32;
  a.phys_state = 5;  // link up
  a.link_layer = IBV_LINK_LAYER_ETHERNET;
  a.flags = IBV_QPF_GRH_REQUIRED;
  return a;
}

// Programs of other versions have a longer or a shorter struct.
template <class Answer>
void give(void* to, std::size_t size, const Answer& answer) {
  std::memset(to, 0, size);
  std::memcpy(to, &answer, std::min(size, sizeof answer));
}

}  // namespace

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attr,
                    std::size_t size) {
  if (input != nullptr && input->comp_mask != 0) return EINVAL;
  if (size < sizeof attr->orig_attr) return EINVAL;
  give(attr, size, describe_more(context_of(context).device));
  return 0;
}

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attr, std::size_t size) {
  if (port != kPort) return EINVAL;
  give(attr, size, describe_port(context_of(context).device));
  return 0;
}

int query_old_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attr) {
  if (port != kPort) return EINVAL;
  // The old struct ends before port_cap_flags2.
  give(attr, offsetof(ibv_port_attr, port_cap_flags2), describe_port(context_of(context).device));
  return 0;
}

// As drivers have it: the raw counter of completion timestamps, all of it in tv_nsec.
int query_rt_values(ibv_context* context, ibv_values_ex* values) {
  Context& c = context_of(context);
  const Hold hold(c);
  if (!hold) return EIO;
  const bool wanted = (values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK) != 0;
  values->comp_mask = wanted ? IBV_VALUES_MASK_RAW_CLOCK : 0;
  if (wanted) values->raw_clock = {.tv_sec = 0, .tv_nsec = c.lane.now()};
  return 0;
}

}  // namespace weft::verbs

using namespace weft::verbs;

extern "C" {

int ibv_query_device(ibv_context* context, ibv_device_attr* attr) {
  *attr = describe_device(context_of(context).device);
  return 0;
}

int(ibv_query_port)(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attr) {
  return query_old_port(context, port, attr);
}

int ibv_query_pkey(ibv_context*, std::uint8_t port, int index, __be16* pkey) {
  if (port != kPort || index != 0) return minus_one(EINVAL);
  *pkey = kPkey;  // the same in both byte orders
  return 0;
}

int ibv_get_pkey_index(ibv_context*, std::uint8_t port, __be16 pkey) {
  return port == kPort && pkey == kPkey ? 0 : minus_one(EINVAL);
}

}  // extern "C"
