#include "world/real/port/tap.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

#include <time.h>
#include <unistd.h>

#include "wire/frame.h"
#include "world/real/os/time.h"
#include "world/real/port/capture_file.h"
#include "world/real/port/pcapng.h"

namespace weft::real {
namespace {

constexpr std::size_t kBufferBytes = 1U << 20;
constexpr Time kFlushAfter = milliseconds(100);

std::string named_for(std::string path, pid_t process) {
  const std::string number = std::to_string(process);
  for (std::size_t at = 0; (at = path.find("%p", at)) != std::string::npos; at += number.size()) {
    path.replace(at, 2, number);
  }
  return path;
}

// run.pcapng becomes run.1234.pcapng, run becomes run.1234.
std::string beside(const std::string& path, pid_t process) {
  const std::size_t slash = path.rfind('/');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  const std::size_t dot = path.rfind('.');
  const std::size_t end = dot == std::string::npos || dot <= name ? path.size() : dot;
  return path.substr(0, end) + '.' + std::to_string(process) + path.substr(end);
}

std::int64_t wall_clock_ns() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// Nobody reads these, but a capture in which hosts look different is easier on the eye.
wire::Mac mac_of(const wire::Address& address) {
  return {{0x02, 0x00, address.bytes[12], address.bytes[13], address.bytes[14], address.bytes[15]}};
}

}  // namespace

struct Tap::File {
  explicit File(CaptureFile its_file) : file(std::move(its_file)) {}

  CaptureFile file;
  std::string path, trouble;
  pid_t owner = 0;
  std::int64_t wall_offset_ns = 0;  // wall clock minus port's clock
  Time flush_at = kNever;
  std::vector<std::byte> buffer;

  void write_out() {
    flush_at = kNever;
    // A child that was forked has a copy of the buffer, and no business in its parent's file.
    const int code = ::getpid() == owner && trouble.empty() ? file.write(buffer) : 0;
    buffer.clear();
    if (code == 0) return;
    // Said here, once: the program goes on, and its packets do.
    trouble = "stopped capturing to '" + path + "': " + std::strerror(code);
    std::fprintf(stderr, "weft: %s\n", trouble.c_str());
  }
};

tl::expected<Tap, std::string> Tap::open(const std::string& wanted, Time now) {
  const pid_t owner = ::getpid();
  std::string path = named_for(wanted, owner);
  bool taken = false;
  tl::expected<CaptureFile, std::string> opened = CaptureFile::open(path, taken);
  if (taken) {
    path = beside(path, owner);
    opened = CaptureFile::open(path, taken);
    if (taken) return tl::unexpected("'" + path + "' is being written by another program");
  }
  if (!opened) return tl::unexpected(opened.error());
  auto file = std::make_unique<File>(std::move(*opened));
  file->owner = owner;
  file->path = path;
  file->wall_offset_ns = wall_clock_ns() - now / nanoseconds(1);
  file->buffer.reserve(kBufferBytes);
  pcapng::begin(file->buffer, "weft0",
                "weft: an RDMA network card in software, process " + std::to_string(file->owner));
  file->write_out();
  return Tap(std::move(file));
}

Tap::Tap(std::unique_ptr<File> file) : file_(std::move(file)) {}
Tap::Tap(Tap&&) noexcept = default;
Tap& Tap::operator=(Tap&& other) noexcept {
  if (file_ != nullptr) file_->write_out();
  file_ = std::move(other.file_);
  return *this;
}
Tap::~Tap() {
  if (file_ != nullptr) file_->write_out();
}

void Tap::packet(Time now, Direction direction, const wire::Flow& flow, std::span<const std::byte> udp_payload,
                 std::string_view comment) {
  if (!file_->trouble.empty()) return;
  if (udp_payload.size() > wire::kMaxUdpPayloadBytes) return on_time(now);
  std::array<std::byte, wire::kMaxFrameHeaderBytes> headers;
  const std::size_t header_bytes = wire::encode_frame_headers(
      flow, udp_payload.size(), headers, {.source = mac_of(flow.source), .destination = mac_of(flow.destination)});
  const pcapng::CapturedPacket packet{
      .wall_ns = static_cast<std::uint64_t>(file_->wall_offset_ns + now / nanoseconds(1)),
      .inbound = direction == Direction::inbound,
      .headers = std::span(headers).first(header_bytes),
      .payload = udp_payload,
      .comment = comment};
  if (file_->buffer.size() + pcapng::bytes_of(packet) > kBufferBytes) file_->write_out();
  pcapng::append(file_->buffer, packet);
  if (file_->flush_at == kNever) file_->flush_at = now + kFlushAfter;
  on_time(now);
}

Time Tap::next_deadline() const { return file_->flush_at; }
void Tap::on_time(Time now) {
  if (now >= file_->flush_at) file_->write_out();
}
void Tap::flush() { file_->write_out(); }
const std::string& Tap::path() const { return file_->path; }
const std::string& Tap::trouble() const { return file_->trouble; }

}  // namespace weft::real
