#include "cli/run/sysfs_tree.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "nic/counters.h"
#include "world/real/settings/device_name.h"

namespace weft::cli {
namespace {

constexpr std::string_view kRate = "100 Gb/sec (4X EDR)";  // what the port says to verbs programs, too

// The counters that the kernel gives every port.
// clang-format off
constexpr std::array<std::string_view, 21> kPortCounters{
    "VL15_dropped", "excessive_buffer_overrun_errors", "link_downed", "link_error_recovery",
    "local_link_integrity_errors", "multicast_rcv_packets", "multicast_xmit_packets", "port_rcv_constraint_errors",
    "port_rcv_data", "port_rcv_errors", "port_rcv_packets", "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors", "port_xmit_constraint_errors", "port_xmit_data", "port_xmit_discards",
    "port_xmit_packets", "port_xmit_wait", "symbol_error", "unicast_rcv_packets", "unicast_xmit_packets"};
// clang-format on

class Tree {
 public:
  void file(std::string path, std::string_view text) { all_.push_back({std::move(path), fmt::format("{}\n", text)}); }
  void link(std::string path, std::string to) { all_.push_back({std::move(path), std::move(to), true}); }
  [[nodiscard]] std::vector<SysfsEntry> take() { return std::move(all_); }

 private:
  std::vector<SysfsEntry> all_;
};

// Pairs of bytes with colons between, as the kernel writes GUIDs and GIDs.
template <std::size_t kBytes>
std::string in_pairs(const std::array<std::uint8_t, kBytes>& bytes) {
  std::string text;
  for (std::size_t i = 0; i < kBytes; i += 2) {
    text += fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", bytes[i], bytes[i + 1]);
  }
  return text;
}

// A set of processors 0 ... n - 1 in words of 32 bits, the highest first.
std::string processor_mask(std::size_t processors) {
  std::string text;
  for (std::size_t left = processors; left > 0;) {
    const std::size_t bits = left % 32 == 0 ? 32 : left % 32;
    text += fmt::format("{}{:08x}", text.empty() ? "" : ",", static_cast<std::uint32_t>((1ULL << bits) - 1));
    left -= bits;
  }
  return text;
}

void add_port(Tree& tree, const std::string& port, const std::vector<wire::Address>& addresses,
              const std::vector<real::Interface>& interfaces) {
  tree.file(port + "/state", "4: ACTIVE");
  tree.file(port + "/phys_state", "5: LinkUp");
  tree.file(port + "/link_layer", "Ethernet");
  tree.file(port + "/rate", kRate);
  tree.file(port + "/lid", "0x0");
  tree.file(port + "/lid_mask_count", "0");
  tree.file(port + "/sm_lid", "0x0");
  tree.file(port + "/sm_sl", "0");
  tree.file(port + "/cap_mask", "0x04010000");  // a connection manager; GIDs are IP addresses
  tree.file(port + "/pkeys/0", "0xffff");
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::string number = std::to_string(i);
    tree.file(port + "/gids/" + number, in_pairs(addresses[i].bytes));
    tree.file(port + "/gid_attrs/types/" + number, "RoCE v2");
    if (const auto device = real::device_of(addresses[i], interfaces)) {
      tree.file(port + "/gid_attrs/ndevs/" + number, *device);
    }
  }
  // The counters stand still here: every program has a card of its own, and its counters are where its user asks for
  // them.
  for (const std::string_view name : kPortCounters) tree.file(fmt::format("{}/counters/{}", port, name), "0");
  for (const std::string_view name : nic::kCounterNames) tree.file(fmt::format("{}/hw_counters/{}", port, name), "0");
}

}  // namespace

std::vector<SysfsEntry> sysfs_tree(const std::vector<wire::Address>& addresses,
                                   const std::vector<real::Interface>& interfaces, std::size_t processors) {
  Tree tree;
  const std::string name = real::kDeviceName, home = "devices/virtual/infiniband/" + name;
  const std::string guid = in_pairs(real::device_guid(addresses.front()));
  tree.link("class/infiniband/" + name, "../../" + home);
  tree.file(home + "/node_type", "1: CA");
  tree.file(home + "/node_guid", guid);
  tree.file(home + "/sys_image_guid", guid);
  tree.file(home + "/node_desc", "weft: an RDMA network card in software");
  tree.file(home + "/fw_ver", WEFT_VERSION);
  tree.file(home + "/hw_rev", "0x0");
  tree.file(home + "/board_id", "WEFT");
  tree.file(home + "/hca_type", "weft");
  tree.file(home + "/device/vendor", "0x0000");
  tree.file(home + "/device/device", "0x0000");
  tree.file(home + "/device/numa_node", "-1");
  tree.file(home + "/device/local_cpus", processor_mask(processors));
  tree.file(home + "/device/local_cpulist", processors > 1 ? fmt::format("0-{}", processors - 1) : "0");
  add_port(tree, home + "/ports/1", addresses, interfaces);

  const std::string uverbs = "devices/virtual/infiniband_verbs/uverbs0";
  tree.file("class/infiniband_verbs/abi_version", "6");
  tree.link("class/infiniband_verbs/uverbs0", "../../" + uverbs);
  tree.file(uverbs + "/ibdev", name);
  tree.file(uverbs + "/abi_version", "1");
  tree.file(uverbs + "/dev", "1:3");
  // There is no kernel driver to open; but programs look whether there is a character device that they may open.
  tree.link("dev/infiniband/uverbs0", "/dev/null");
  tree.link("dev/infiniband/rdma_cm", "/dev/null");
  return tree.take();
}

}  // namespace weft::cli
