#include "cli/connections/options.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

namespace weft::connections {
namespace {

constexpr std::uint32_t kMostRounds = 1000, kMostMilliseconds = 600'000;

bool read_number(std::string_view text, std::uint32_t most, std::uint32_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && out > 0 && out <= most;
}

bool read_list(std::string_view text, std::vector<std::uint32_t>& out) {
  out.clear();
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    if (!read_number(text.substr(0, comma), kMostConnections, out.emplace_back())) return false;
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return true;
}

bool read_verb(std::string_view text, LoadVerb& out) {
  out = text == "write" ? LoadVerb::write : text == "read" ? LoadVerb::read : LoadVerb::send;
  return text == "send" || text == "write" || text == "read";
}

// What the option takes, for whoever gave it something else; nothing if all is well.
std::string read_option(std::string_view name, std::string_view value, Options& o) {
  const auto number = [&](std::uint32_t most, std::uint32_t& out) {
    return read_number(value, most, out) ? std::string() : fmt::format("{} takes a number from 1 to {}", name, most);
  };
  if (name == "--depth") return number(kMostDepth, o.depth);
  if (name == "--bytes") return number(kMostBytes, o.bytes);
  if (name == "--rounds") return number(kMostRounds, o.rounds);
  if (name == "--milliseconds") return number(kMostMilliseconds, o.milliseconds);
  if (name == "--clients") return number(kMostClients, o.clients);
  if (name == "--client-variable") {
    const std::size_t equals = value.find('=');
    if (equals == 0 || equals == std::string_view::npos) return "--client-variable takes NAME=VALUE";
    o.client_variables.emplace_back(value.substr(0, equals), value.substr(equals + 1));
    return {};
  }
  if (name == "--verb")
    return read_verb(value, o.verb) ? "" : "--verb takes send or write, and with --clients write or read";
  if (name == "--qps") {
    return read_list(value, o.qps) ? "" : fmt::format("--qps takes numbers from 1 to {}: 1,16,128", kMostConnections);
  }
  return fmt::format("there is no option '{}'", name);
}

}  // namespace

tl::expected<Options, std::string> parse_options(std::span<char* const> words) {
  Options o;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view name = words[i];
    if (name == "--json") {
      o.json = true;
    } else if (name == "--no-idle") {
      o.idle = false;
    } else if (i + 1 == words.size()) {
      return tl::unexpected(fmt::format("'{}' stands alone", name));
    } else if (std::string wrong = read_option(name, words[++i], o); !wrong.empty()) {
      return tl::unexpected(std::move(wrong));
    }
  }
  if (o.clients == 0 && o.verb == LoadVerb::read) return tl::unexpected<std::string>("--verb read goes with --clients");
  if (o.clients != 0 && o.verb == LoadVerb::send)
    return tl::unexpected<std::string>("--verb send goes without --clients");
  if (o.clients == 0 && !o.client_variables.empty()) {
    return tl::unexpected<std::string>("--client-variable goes with --clients");
  }
  return o;
}

}  // namespace weft::connections
