// A capture of everything that passes a port, as pcapng: what Wireshark reads. Around each UDP payload stand the
// Ethernet, IP and UDP headers that it has or would have on a cable, and a comment says why it was refused or dropped.
//
// One file per program: `%p` in the name becomes the process number, and if another program is writing the file,
// name.pcapng becomes name.<process number>.pcapng. Which files may be overwritten is capture_file.h's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "wire/packet.h"
#include "world/real/os/time.h"
#include "world/real/port/direction.h"

namespace weft::real {

class Tap {
 public:
  // `now` is the port's clock at this moment: captured packets tell their time by it. Or a sentence that says why not.
  [[nodiscard]] static tl::expected<Tap, std::string> open(const std::string& path, Time now);
  Tap(Tap&&) noexcept;
  Tap& operator=(Tap&&) noexcept;
  ~Tap();  // writes what is left

  void packet(Time now, Direction direction, const wire::Flow& flow, std::span<const std::byte> udp_payload,
              std::string_view comment = {});

  // What was captured is in the file within about 100 ms, if on_time is called when it says so.
  [[nodiscard]] Time next_deadline() const;
  void on_time(Time now);
  void flush();

  [[nodiscard]] const std::string& path() const;  // where it really writes
  // Why it stopped writing (a full disk, say), which has been said on standard error; empty: it has not.
  [[nodiscard]] const std::string& trouble() const;

 private:
  struct File;
  explicit Tap(std::unique_ptr<File> file);
  std::unique_ptr<File> file_;
};

}  // namespace weft::real
