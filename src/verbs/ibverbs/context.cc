#include "verbs/ibverbs/context.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

#include "verbs/ibverbs/all_contexts.h"
#include "verbs/ibverbs/device_list.h"
#include "verbs/ibverbs/errors.h"
#include "world/real/settings/address_text.h"

namespace weft::verbs {

Context::Context(ibv_device& dev, const real::Settings& settings)
    : verbs_context{}, cm_port(*this), lane(settings, *this), device([this]() -> host::Device& {
        const std::lock_guard lock(lane.lock());
        return lane.device();
      }()) {
  const nic::CardState& card = device.card();
  cqs.resize(card.config.max_cqs);
  srqs.resize(card.config.max_srqs);
  qps.resize(card.contexts.size());
  route_header = card.port.gids[0].is_v4() ? RouteHeader::ipv4 : RouteHeader::ipv6;
  fill_operations(*this);
  sz = sizeof(verbs_context);
  context.device = &dev;
  context.cmd_fd = -1;  // there is no kernel driver to command
  context.async_fd = async_signal.fd();
  completion_vectors = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  context.num_comp_vectors = completion_vectors;
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  pthread_mutex_init(&context.mutex, nullptr);
  enlist(*this);
}

Context::~Context() {
  strike(*this);
  pthread_mutex_destroy(&context.mutex);
}

int Context::attach(host::StarRole role) {
  if (lost()) return EIO;
  auto attached = lane.attach();
  if (attached && role != host::StarRole::none) attached = lane.play(role);
  if (attached) return 0;
  std::fprintf(stderr, "weft: %s\n", attached.error().what.c_str());
  return attached.error().code != 0 ? attached.error().code : EIO;
}

bool Context::reaches(const wire::Address& address, std::optional<wire::Qpn> qpn) {
  if (lane.reaches(address, qpn)) return true;
  std::fprintf(stderr, "weft: --wire shm does not reach %s: no program of this user on this machine has it%s\n",
               real::text_of(address).c_str(), qpn ? ", or not with this queue pair" : "");
  return false;
}

void Context::on_completion_event(std::uint32_t channel) {
  if (channel < channels.size() && channels[channel] != nullptr) channels[channel]->signal.raise();
}

void Context::on_mad(const wire::Address& from, const wire::Address& to, std::span<const std::byte> mad) {
  cm_port.deliver(from, to, mad);
}

void Context::on_moved(host::QueuePair& queue) {
  QueuePair* const qp = qps[queue.slot()];
  if (qp == nullptr) return;
  // Whoever posts looks at it before he has the lock, to fetch ahead.
  std::atomic_ref(qp->poster.context).store(queue.poster().context, std::memory_order_relaxed);
}

namespace {

ibv_context* open(ibv_device* device) {
  const auto settings = real::Settings::from_environment();
  if (!settings) {
    std::fprintf(stderr, "weft: %s\n", settings.error().c_str());
    return refuse(EINVAL);
  }
  return attempt([&]() -> ibv_context* {
    auto made = std::make_unique<Context>(*device, *settings);
    if (!made->async_signal.good()) return refuse(EMFILE);
    return &made.release()->context;
  });
}

}  // namespace
}  // namespace weft::verbs

using namespace weft::verbs;

extern "C" {

ibv_context* ibv_open_device(ibv_device* device) {
  if (device == nullptr || !is_ours(device)) return refuse(ENODEV);
  return open(device);
}

// What drivers open through; theirs are other devices than ours, so that it is asked only for ours.
ibv_context* verbs_open_device(ibv_device* device, void*) { return ibv_open_device(device); }

// Whatever the program has not destroyed goes with it, as the kernel would see to.
int ibv_close_device(ibv_context* context) {
  Context& c = context_of(context);
  {
    const Hold hold(c);
    if (!hold) return EIO;
    c.settle_debts();
  }
  delete &c;
  return 0;
}

}  // extern "C"
