// What the real world finds around it, as a scene has it: where the broker is, the sockets of port 4791, and a card
// that is small, because a swarm makes thousands of them. In the place of broker/broker_place.cc, udp/roce_socket.cc
// and lane/device_config.cc.
#include <cerrno>
#include <utility>

#include <fcntl.h>

#include "real_parts/scene.h"
#include "wire/lane_number.h"
#include "world/real/broker/broker_place.h"
#include "world/real/lane/device_config.h"
#include "world/real/udp/roce_socket.h"

namespace weft::real {

using scene::Scene;

namespace {
struct flock byte_of(std::uint8_t lane_number) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = lane_number;
  lock.l_len = 1;
  return lock;
}
}  // namespace

// ---- the broker

tl::expected<std::vector<std::string>, Trouble> broker_sockets() {
  return std::vector<std::string>{Scene::current().broker_path()};
}
tl::expected<std::string, Trouble> broker_folder() { return tl::unexpected(Trouble{ENOENT, "a scene has none"}); }
std::string text_of_user(uid_t) { return "somebody"; }
tl::expected<BrokerListener, Trouble> BrokerListener::take() {
  return tl::unexpected(Trouble{ENOENT, "a scene's broker is given its socket"});
}
BrokerListener& BrokerListener::operator=(BrokerListener&& other) noexcept = default;
bool BrokerListener::is_found() const { return true; }
void BrokerListener::release() {}
Descriptor BrokerListener::lock_number(std::uint8_t lane_number, pid_t) const {
  Descriptor file(::open(Scene::current().numbers_path().c_str(), O_RDWR | O_CLOEXEC));
  struct flock lock = byte_of(lane_number);
  return file && fcntl(file.get(), F_OFD_SETLK, &lock) == 0 ? std::move(file) : Descriptor();
}
bool BrokerListener::is_number_locked(std::uint8_t lane_number) const {
  const Descriptor file(::open(Scene::current().numbers_path().c_str(), O_RDWR | O_CLOEXEC));
  struct flock lock = byte_of(lane_number);
  return file && fcntl(file.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}
bool BrokerListener::is_owner_running(std::uint8_t lane_number) const { return is_number_locked(lane_number); }

// ---- sockets

tl::expected<Descriptor, Trouble> open_roce_socket(const wire::Address&, wire::UdpPort) {
  return Scene::current().network().open();
}
void admit_lane(int socket, wire::UdpPort, std::uint8_t lane_number) {
  Scene::current().network().admit(socket, true);
  if (lane_number != 0) Scene::current().on_joined();
}
void admit_nobody(int socket) { Scene::current().network().admit(socket, false); }
Descriptor open_line(const wire::Address&, const SocketAddress&) { return {}; }
Sending open_sending_socket(const wire::Address&) { return {}; }
bool port_is_free(const wire::Address&, wire::UdpPort) { return Scene::current().network().is_free(); }
void hear_of_segments_and_classes(int, bool) {}
int receive_buffer_bytes(int) { return scene::Network::kRoom; }
std::uint32_t dropped_by(int) { return 0; }
void let_fragment(int, int, bool) {}
std::uint32_t path_mtu(const SocketAddress&) { return 65536; }  // all are on one host
bool takes_long_datagrams(int, int) { return false; }

// ---- the card

host::DeviceConfig device_config(const Settings& settings, std::pmr::memory_resource& memory) {
  host::DeviceConfig config;
  config.gids = settings.addresses;
  config.mtu = 4096;
  config.card.nanosecond = nanoseconds(1);
  config.card.max_qps = 16;
  config.card.max_cqs = 4;
  config.card.max_srqs = 1;
  config.card.region_slot_bits = 10;
  config.card.srnic_window_packets = 1024;
  config.card.probe_delay = milliseconds(1);
  config.card.target_delay = milliseconds(1);
  config.card.peer_shift = wire::kLaneShift;
  config.card.reorder_notes = 1024;
  config.dialect = dialect_of(settings);
  config.memory = &memory;
  return config;
}

}  // namespace weft::real
