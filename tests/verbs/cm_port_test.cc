// The way to QP1 that librdmacm.so.1 takes.
#include "verbs/cm_port.h"

#include <condition_variable>
#include <mutex>

#include "bed.h"
#include "wire/cm.h"

namespace weft::tests {
namespace {

constexpr std::uint16_t kUdp = 0x0111;

struct Inbox final : verbs::CmReceiver {
  void on_mad(const wire::Address& from, const wire::Address& to, std::span<const std::byte> mad) override {
    const std::lock_guard guard(lock);
    last_from = from;
    last_to = to;
    last.assign(mad.begin(), mad.end());
    arrived.notify_all();
  }
  bool wait() {
    std::unique_lock guard(lock);
    return arrived.wait_for(guard, std::chrono::seconds(5), [this] { return !last.empty(); });
  }
  std::mutex lock;
  std::condition_variable arrived;
  std::vector<std::byte> last;
  wire::Address last_from, last_to;
};

class CmPortTest : public Bed {
 protected:
  void SetUp() override {
    Bed::SetUp();
    port = weft_cm_port(context);
    ASSERT_NE(port, nullptr);
  }
  verbs::CmPort* port = nullptr;
};

TEST_F(CmPortTest, OnlyContextsOfOursHaveOne) {
  ibv_context other{};
  EXPECT_EQ(weft_cm_port(&other), nullptr);
  EXPECT_EQ(weft_cm_port(nullptr), nullptr);
}

TEST_F(CmPortTest, PortsAreTakenOnce) {
  Inbox inbox;
  ASSERT_EQ(port->open(inbox), 0);
  EXPECT_EQ(port->open(inbox), EBUSY);
  ASSERT_EQ(port->addresses().size(), 1U);
  EXPECT_TRUE(port->addresses()[0].is_v4());
  std::uint16_t chosen = 0;
  ASSERT_EQ(port->bind_service(kUdp, {}, chosen), 0);
  EXPECT_NE(chosen, 0);
  // To the network every context is a program of its own.
  ibv_context* other = ibv_open_device(devices[0]);
  ASSERT_NE(other, nullptr);
  Inbox others;
  verbs::CmPort* second = weft_cm_port(other);
  ASSERT_EQ(second->open(others), 0);
  EXPECT_NE(second->lane_number(), port->lane_number());
  std::uint16_t again = chosen;
  EXPECT_EQ(second->bind_service(kUdp, {}, again), EADDRINUSE);
  port->release_service(kUdp, {}, chosen);
  EXPECT_EQ(second->bind_service(kUdp, {}, again), 0);
  EXPECT_EQ(ibv_close_device(other), 0);
  port->close();
}

TEST_F(CmPortTest, RequestsForAPortFindWhoListens) {
  Inbox inbox;
  ASSERT_EQ(port->open(inbox), 0);
  std::uint16_t service = 0;
  ASSERT_EQ(port->bind_service(kUdp, {}, service), 0);
  port->listen(kUdp, {}, service, true);
  wire::CmSidrReq request;
  request.request_id = std::uint32_t{port->lane_number()} << 24 | 1;
  request.service_id = std::uint64_t{kUdp} << 16 | service;
  std::array<std::byte, wire::kMadBytes> mad{};
  wire::encode_cm({.transaction = 99, .body = request}, mad);
  const wire::Address self = port->addresses()[0];
  port->send_mad(self, self, mad);
  ASSERT_TRUE(inbox.wait());
  EXPECT_EQ(inbox.last_from, self);
  EXPECT_EQ(inbox.last_to, self);
  wire::CmMessage seen;
  ASSERT_EQ(wire::parse_cm(inbox.last, seen), Refusal::none);
  EXPECT_EQ(seen.transaction, 99U);
  EXPECT_EQ(std::get<wire::CmSidrReq>(seen.body).service_id, request.service_id);
  port->close();
}

}  // namespace
}  // namespace weft::tests
