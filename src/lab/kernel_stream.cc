#include "lab/kernel_stream.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "kernels/distinct.h"
#include "kernels/shuffle.h"

namespace weft::lab {
namespace {

constexpr std::uint32_t kValue = 8;

std::uint64_t in_pages(std::uint64_t bytes, std::uint64_t page) { return (bytes + page - 1) / page * page; }

// What a queue pair sends in a run, at most about.
std::uint64_t sent_bytes(const Setting& s) {
  const Messages messages = messages_of(s);
  const std::uint64_t each = (messages.warm_up + messages.measured) / s.qps;
  return (each + each / 4 + 2 * std::uint64_t{s.depth} + 4) * s.bytes;
}
std::uint64_t table_bytes(const Setting& s) { return in_pages(s.partitions * sizeof(kernels::Partition), 4096); }
// Partitions begin one behind the other, as if all were of the same size.
std::uint64_t partition_stride(const Setting& s) { return in_pages(sent_bytes(s) / s.partitions, 128) + 128; }

template <class T>
nic::Fragment fragment(const T& value) {
  return {static_cast<const std::byte*>(static_cast<const void*>(&value)), sizeof value};
}
template <class T>
T read_answer(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::size_t distinct_values(const std::byte* from, std::uint32_t bytes) {
  std::vector<std::uint64_t> all(bytes / kValue);
  std::memcpy(all.data(), from, bytes);
  std::sort(all.begin(), all.end());
  return static_cast<std::size_t>(std::unique(all.begin(), all.end()) - all.begin());
}

}  // namespace

std::uint64_t stream_opcode(const Setting& s) {
  return s.stream_kernel == StreamKernel::shuffle ? kernels::kShuffle : kernels::kDistinct;
}

std::uint64_t stream_memory(const Setting& s) {
  const bool shuffles = s.stream_kernel == StreamKernel::shuffle;
  // Values are drawn: some partitions get more than others.
  const std::uint64_t partitions = table_bytes(s) + s.partitions * partition_stride(s) + sent_bytes(s);
  return in_pages(shuffles ? partitions : sent_bytes(s), s.page_bytes);
}

// ---- the server -----------------------------------------------------------------------------------------

void KernelStreamServer::start(Time) {
  if (setting_.stream_kernel != StreamKernel::shuffle) return;
  for (std::uint64_t end = 0; end < setting_.qps; ++end) {
    const std::uint64_t begin = end * stream_memory(setting_), behind = begin + stream_memory(setting_);
    for (std::uint32_t p = 0; p < setting_.partitions; ++p) {
      const std::uint64_t at = begin + table_bytes(setting_) + p * partition_stride(setting_);
      const kernels::Partition partition{station_.address + at, behind - at};
      std::memcpy(station_.memory + begin + p * sizeof partition, &partition, sizeof partition);
    }
  }
}

// ---- the client -----------------------------------------------------------------------------------------

std::byte* KernelStream::values(std::uint32_t end) const { return station_.memory + buffer_bytes(setting_) * end; }
std::uint64_t KernelStream::answer_offset() const { return in_pages(setting_.bytes, 64); }

// Values from a range of its own for each queue pair, some of them more than once.
void KernelStream::start(Time now) {
  StreamClient::start(now);
  first_.resize(station_.ends.size());
  sent_.resize(station_.ends.size());
  for (std::uint32_t end = 0; end < station_.ends.size(); ++end) {
    const std::uint64_t base = random_.next();
    const std::uint64_t range = std::max<std::uint64_t>(setting_.bytes / kValue, 1);
    for (std::uint32_t at = 0; at < setting_.bytes; at += kValue) {
      const std::uint64_t value = base + random_.below(range);
      std::memcpy(values(end) + at, &value, sizeof value);
    }
    std::memset(values(end) + answer_offset(), 0, sizeof(nic::ReplyHead));
    station_.host.watch(values(end) + answer_offset(), end);
  }
}

bool KernelStream::begin(Time& at, std::uint32_t thread) {
  if (const std::uint32_t end = to_begin(thread); end < station_.ends.size()) {
    call(at, end, false);
    first_[end] = station_.ends[end].qp->context().sq_posted;
  }
  return StreamClient::begin(at, thread);
}

void KernelStream::take(Time& at, std::uint32_t thread, const nic::Completion& done) {
  StreamClient::take(at, thread, done);
  const auto end = static_cast<std::uint32_t>(done.id);
  if (!meter_.over() || sent_[end] != 0) return;
  sent_[end] = station_.ends[end].qp->context().sq_posted - first_[end];
  call(at, end, true);
}

void KernelStream::call(Time& at, std::uint32_t end, bool finish) {
  const auto ask = finish ? kernels::StreamAsk::finish : kernels::StreamAsk::begin;
  const Station& server = peer_of(end);
  const std::uint64_t memory = server.address + remote_end(end) * stream_memory(setting_);
  const kernels::ShuffleCall shuffle{.ask = ask, .partitions = setting_.partitions, .partitions_at = memory};
  const kernels::DistinctCall distinct{.ask = ask,
                                       .stream = {.address = memory, .room_bytes = stream_memory(setting_)}};
  const bool shuffles = setting_.stream_kernel == StreamKernel::shuffle;
  const nic::CallHead head{.address = finish ? station_.address + buffer_bytes(setting_) * end + answer_offset() : 0,
                           .key = station_.key.raw(),
                           .room = finish ? static_cast<std::uint32_t>(kAnswerBytes - 64) : 0};
  const std::array<nic::Fragment, 2> pieces{{fragment(head), shuffles ? fragment(shuffle) : fragment(distinct)}};
  post(at, end,
       {.id = end,
        .kind = nic::WorkKind::rpc,
        .signaled = false,
        .inline_data = pieces,
        .is_inline = true,
        .remote_address = stream_opcode(setting_),
        .remote_key = server.key});
}

void KernelStream::on_written(Time, std::uint32_t end) {
  const std::byte* const at = values(end) + answer_offset();
  if (read_answer<nic::ReplyHead>(at).outcome != nic::CallOutcome::success)
    throw std::runtime_error("a kernel could not take its stream");
  // The number of values is the first word of both answers.
  const auto seen = read_answer<std::uint64_t>(at + sizeof(nic::ReplyHead));
  if (seen != std::uint64_t{sent_[end]} * setting_.bytes / kValue)
    throw std::runtime_error("a kernel has not seen all that was sent");
  if (setting_.stream_kernel == StreamKernel::distinct) {
    const auto answer = read_answer<kernels::DistinctAnswer>(at + sizeof(nic::ReplyHead));
    const auto truth = static_cast<double>(distinct_values(values(end), setting_.bytes));
    errors_.push_back(answer.distinct / truth - 1);
  }
  ++answered_;
}

}  // namespace weft::lab
