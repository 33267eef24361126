#include "verbs/ibverbs/device_list.h"

#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "verbs/ibverbs/errors.h"
#include "verbs/ibverbs/sysfs.h"
#include "world/real/lane.h"

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
    std::snprintf(d->device.name, sizeof d->device.name, "%s", kDeviceName);
    std::snprintf(d->device.dev_name, sizeof d->device.dev_name, "uverbs0");
    std::snprintf(d->device.dev_path, sizeof d->device.dev_path, "%s/class/infiniband_verbs/uverbs0", sysfs_root());
    std::snprintf(d->device.ibdev_path, sizeof d->device.ibdev_path, "%s/class/infiniband/%s", sysfs_root(),
                  kDeviceName);
    d->operations = kNoOperations.data();
    d->references = 1;
    return d;
  }();
  return *the;
}

struct NobodyOwns final : real::LaneOwner {
  void on_completion_event(std::uint32_t) override {}
  void on_async_event() override {}
  void on_mad(const wire::Address&, const wire::Address&, std::span<const std::byte>) override {}
};

// The first address of the port, without joining the network. All zeros if the settings are wrong: who opens the
// device is told.
wire::Address first_address() {
  const auto settings = real::Settings::from_environment();
  if (!settings) return {};
  if (!settings->addresses.empty()) return settings->addresses.front();
  NobodyOwns nobody;
  real::Lane lane(*settings, nobody);
  const std::lock_guard lock(lane.lock());
  return lane.device().config().gids.front();
}

}  // namespace

bool is_ours(const ibv_device* device) { return device == &the_device().device; }

std::array<std::uint8_t, 8> guid_of(const wire::Address& first) {
  std::array<std::uint8_t, 8> guid{0x02, 0x57, 0x45, 0x46};  // locally administered; W, E, F
  std::array<std::uint8_t, 4> tail{};
  for (std::size_t i = first.is_v4() ? 12 : 0; i < first.bytes.size(); ++i) {
    tail[i % 4] = static_cast<std::uint8_t>(std::rotl(tail[i % 4], 3) ^ first.bytes[i]);
  }
  std::copy(tail.begin(), tail.end(), guid.begin() + 4);
  return guid;
}

__be64 guid_number(const wire::Address& first) { return std::bit_cast<__be64>(guid_of(first)); }

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
