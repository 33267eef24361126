#include "verbs/ibverbs/device_list.h"

#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "verbs/ibverbs/errors.h"
#include "verbs/ibverbs/sysfs.h"
#include "world/real/settings/device_name.h"
#include "world/real/settings/settings.h"

namespace weft::verbs {
namespace {

// What drivers find behind an ibv_device when they ask whether it is one of theirs: the shape of rdma-core's private
// verbs_device. They compare `operations` with their own; ours is no driver's.
struct PrivateDevice {
  ibv_device device;
  const void* operations;
  std::atomic<int> references;
  void* list[2];
  void* sysfs;
  std::uint64_t core_support;
};

// As large as any table of driver operations: whoever looks into it finds zeros.
constexpr std::array<std::uint64_t, 64> kNoOperations{};

PrivateDevice& the_device() {
  static auto* const the = [] {
    auto* d = new PrivateDevice{};
    d->device.node_type = IBV_NODE_CA;
    d->device.transport_type = IBV_TRANSPORT_IB;
    std::snprintf(d->device.name, sizeof d->device.name, "%s", real::kDeviceName);
    std::snprintf(d->device.dev_name, sizeof d->device.dev_name, "uverbs0");
    std::snprintf(d->device.dev_path, sizeof d->device.dev_path, "%s/class/infiniband_verbs/uverbs0", sysfs_root());
    std::snprintf(d->device.ibdev_path, sizeof d->device.ibdev_path, "%s/class/infiniband/%s", sysfs_root(),
                  real::kDeviceName);
    d->operations = kNoOperations.data();
    d->references = 1;
    return d;
  }();
  return *the;
}

// The first address of the port, without opening the device. All zeros if the settings are wrong: who opens it is told.
wire::Address first_address() {
  const auto settings = real::Settings::from_environment();
  return settings ? settings->port_addresses().front() : wire::Address{};
}

}  // namespace

bool is_ours(const ibv_device* device) { return device == &the_device().device; }

__be64 guid_number(const wire::Address& first) { return std::bit_cast<__be64>(real::device_guid(first)); }

}  // namespace weft::verbs

using namespace weft::verbs;

extern "C" {

ibv_device** ibv_get_device_list(int* num_devices) {
  auto** list = static_cast<ibv_device**>(std::calloc(2, sizeof(ibv_device*)));
  if (list == nullptr) return refuse(ENOMEM);
  list[0] = &the_device().device;
  if (num_devices != nullptr) *num_devices = 1;
  return list;
}

void ibv_free_device_list(ibv_device** list) { std::free(list); }

const char* ibv_get_device_name(ibv_device* device) { return device->name; }

int ibv_get_device_index(ibv_device*) { return 0; }

__be64 ibv_get_device_guid(ibv_device* device) {
  if (!is_ours(device)) return 0;
  try {
    static const __be64 guid = guid_number(first_address());
    return guid;
  } catch (const std::exception&) {  // no memory for a look at the machine's addresses
    return 0;
  }
}

}  // extern "C"
