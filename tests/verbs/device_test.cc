// The device before and after it is opened: tables, limits, names.
#include "bed.h"

namespace weft::tests {
namespace {

using DeviceTest = Bed;

TEST_F(DeviceTest, HasTheShapeThatInlineFunctionsAndDriversExpect) {
  EXPECT_EQ(context->abi_compat, __VERBS_ABI_IS_EXTENDED);
  const verbs_context* v = verbs_get_ctx(context);
  ASSERT_NE(v, nullptr);
  EXPECT_EQ(v->sz, sizeof(verbs_context));
  EXPECT_EQ(context->device, devices[0]);
  EXPECT_GE(context->num_comp_vectors, 1);
  EXPECT_GE(context->async_fd, 0);
}

TEST_F(DeviceTest, NamesItself) {
  EXPECT_STREQ(ibv_get_device_name(devices[0]), "weft0");
  EXPECT_EQ(devices[1], nullptr);
  EXPECT_EQ(devices[0]->transport_type, IBV_TRANSPORT_IB);
  EXPECT_EQ(devices[0]->node_type, IBV_NODE_CA);
  EXPECT_NE(ibv_get_device_guid(devices[0]), 0U);
  ibv_device_attr attr{};
  ASSERT_EQ(ibv_query_device(context, &attr), 0);
  EXPECT_EQ(attr.node_guid, ibv_get_device_guid(devices[0]));
  EXPECT_NE(attr.fw_ver[0], '\0');
}

TEST_F(DeviceTest, LimitsAreHonest) {
  ibv_device_attr_ex attr{};
  ASSERT_EQ(ibv_query_device_ex(context, nullptr, &attr), 0);
  EXPECT_EQ(attr.orig_attr.vendor_id, 0U);
  EXPECT_EQ(attr.orig_attr.max_mcast_grp, 0);
  EXPECT_EQ(attr.orig_attr.max_pkeys, 1);
  EXPECT_TRUE(attr.odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT);
  // Exactly the most is possible, one more is not.
  EXPECT_EQ(ibv_create_cq(context, attr.orig_attr.max_cqe + 1, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
  ibv_srq_init_attr srq{.srq_context = nullptr, .attr = {1, static_cast<std::uint32_t>(attr.orig_attr.max_srq_sge), 0}};
  ibv_srq* most = ibv_create_srq(pd, &srq);
  ASSERT_NE(most, nullptr);
  EXPECT_EQ(ibv_destroy_srq(most), 0);
  srq.attr.max_sge += 1;
  EXPECT_EQ(ibv_create_srq(pd, &srq), nullptr);
}

TEST_F(DeviceTest, ShorterAndLongerStructsOfOtherVersionsAreServed) {
  const auto* ops = verbs_get_ctx(context);
  struct {
    ibv_device_attr_ex attr;
    std::uint64_t newer;
  } longer{};
  longer.newer = ~0ULL;
  ASSERT_EQ(ops->query_device_ex(context, nullptr, &longer.attr, sizeof longer), 0);
  EXPECT_EQ(longer.newer, 0U);
  ibv_device_attr_ex shorter{};
  shorter.max_dm_size = 77;
  ASSERT_EQ(ops->query_device_ex(context, nullptr, &shorter, offsetof(ibv_device_attr_ex, max_dm_size)), 0);
  EXPECT_EQ(shorter.max_dm_size, 77U);
  EXPECT_EQ(ops->query_device_ex(context, nullptr, &shorter, 4), EINVAL);
}

TEST_F(DeviceTest, PortIsActiveEthernet) {
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(context, 1, &port), 0);
  EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(port.link_layer, IBV_LINK_LAYER_ETHERNET);
  EXPECT_EQ(port.lid, 0);
  EXPECT_EQ(port.active_mtu, IBV_MTU_4096);  // of the loopback interface
  EXPECT_EQ(port.gid_tbl_len, 1);
  EXPECT_EQ(ibv_query_port(context, 2, &port), EINVAL);
  // Programs from before the inline function call the exported one, which knows no port_cap_flags2.
  port.port_cap_flags2 = 0xABCD;
  EXPECT_EQ((ibv_query_port)(context, 1, static_cast<_compat_ibv_port_attr*>(static_cast<void*>(&port))), 0);
  EXPECT_EQ(port.port_cap_flags2, 0xABCD);
  EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
}

TEST_F(DeviceTest, GidTableHoldsTheAddress) {
  const ibv_gid g = gid();
  EXPECT_EQ(g.raw[10], 0xFF);
  EXPECT_EQ(g.raw[12], 127);
  EXPECT_EQ(g.raw[14], 71);
  ibv_gid out{};
  EXPECT_EQ(ibv_query_gid(context, 1, 1, &out), -1);
  ibv_gid_entry entry{};
  ASSERT_EQ(ibv_query_gid_ex(context, 1, 0, &entry, 0), 0);
  EXPECT_EQ(entry.gid_type, static_cast<std::uint32_t>(IBV_GID_TYPE_ROCE_V2));
  EXPECT_EQ(entry.port_num, 1U);
  EXPECT_NE(entry.ndev_ifindex, 0U);
  EXPECT_EQ(ibv_query_gid_ex(context, 1, 8, &entry, 0), EINVAL);
  EXPECT_EQ(ibv_query_gid_ex(context, 1, 0, &entry, 1), EINVAL);
  std::array<ibv_gid_entry, 4> table{};
  EXPECT_EQ(ibv_query_gid_table(context, table.data(), table.size(), 0), 1);
  EXPECT_EQ(ibv_query_gid_table(context, table.data(), 0, 0), -EINVAL);
}

TEST_F(DeviceTest, OnePartition) {
  __be16 pkey = 0;
  EXPECT_EQ(ibv_query_pkey(context, 1, 0, &pkey), 0);
  EXPECT_EQ(pkey, 0xFFFF);
  EXPECT_EQ(ibv_query_pkey(context, 1, 1, &pkey), -1);
  EXPECT_EQ(ibv_get_pkey_index(context, 1, 0xFFFF), 0);
  EXPECT_EQ(ibv_get_pkey_index(context, 1, 0x1234), -1);
}

TEST_F(DeviceTest, ClockRuns) {
  ibv_values_ex first{.comp_mask = IBV_VALUES_MASK_RAW_CLOCK, .raw_clock = {}}, second = first;
  ASSERT_EQ(ibv_query_rt_values_ex(context, &first), 0);
  ASSERT_EQ(ibv_query_rt_values_ex(context, &second), 0);
  EXPECT_GT(second.raw_clock.tv_nsec, first.raw_clock.tv_nsec);
}

TEST_F(DeviceTest, WhatItHasNotIsRefusedInTheWayOfTheInterface) {
  ibv_xrcd_init_attr xrcd{};
  EXPECT_EQ(ibv_open_xrcd(context, &xrcd), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(ibv_alloc_null_mr(pd), nullptr);
  EXPECT_EQ(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, 0, 0), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(ibv_import_pd(context, 1), nullptr);
  ibv_wq_init_attr wq{};
  EXPECT_EQ(ibv_create_wq(context, &wq), nullptr);
  ibv_counters_init_attr counters{};
  EXPECT_EQ(ibv_create_counters(context, &counters), nullptr);
  ibv_qp* qp = make_qp({.type = IBV_QPT_UD});
  const ibv_gid g = gid();
  EXPECT_EQ(ibv_attach_mcast(qp, &g, 0), EOPNOTSUPP);
  ibv_ece ece{};
  EXPECT_EQ(ibv_query_ece(qp, &ece), EOPNOTSUPP);
}

TEST(DeviceList, BadSettingsAreNamedAndNotOpened) {
  ::setenv("WEFT_ADDR", "no address", 1);
  ibv_device** list = ibv_get_device_list(nullptr);
  ASSERT_NE(list, nullptr);
  testing::internal::CaptureStderr();
  EXPECT_EQ(ibv_open_device(list[0]), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("WEFT_ADDR"), std::string::npos);
  ::setenv("WEFT_ADDR", kAddress, 1);
  ibv_device other = *list[0];
  EXPECT_EQ(ibv_open_device(&other), nullptr);
  EXPECT_EQ(errno, ENODEV);
  ibv_free_device_list(list);
}

TEST(Words, AreThoseThatProgramsKnow) {
  EXPECT_STREQ(ibv_wc_status_str(IBV_WC_RETRY_EXC_ERR), "transport retry counter exceeded");
  EXPECT_STREQ(ibv_wc_status_str(static_cast<ibv_wc_status>(99)), "unknown");
  EXPECT_STREQ(ibv_event_type_str(IBV_EVENT_WQ_FATAL), "WQ fatal");
  EXPECT_STREQ(ibv_node_type_str(IBV_NODE_UNKNOWN), "unknown");
  EXPECT_STREQ(ibv_port_state_str(IBV_PORT_ACTIVE), "active");
  EXPECT_EQ(ibv_rate_to_mult(IBV_RATE_10_GBPS), 4);
  EXPECT_EQ(ibv_rate_to_mult(IBV_RATE_MAX), -1);
  EXPECT_EQ(mult_to_ibv_rate(4), IBV_RATE_10_GBPS);
  EXPECT_EQ(mult_to_ibv_rate(0), IBV_RATE_MAX);
  EXPECT_EQ(ibv_rate_to_mbps(IBV_RATE_100_GBPS), 103125);
  EXPECT_EQ(mbps_to_ibv_rate(1275000), IBV_RATE_1200_GBPS);
}

}  // namespace
}  // namespace weft::tests
