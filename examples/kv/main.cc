// weft-kv serve [OPTIONS], and weft-kv get [OPTIONS]: a key-value store, and clients that measure it.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <string>

#include "client.h"
#include "common/tcp.h"
#include "server.h"
#include "table.h"

namespace {

constexpr const char* kUsage =
    "weft run -- weft-kv serve [--address A] [--port P] [--keys N] [--bytes N] [--deploy yes]\n"
    "weft run -- weft-kv get   [--address A] [--port P] [--keys N] [--bytes N] [--by kernel|bytecode|reads|tcp]\n"
    "                          [--clients N] [--milliseconds N] [--puts N] [--json yes] [--object get.o]\n"
    "\n"
    "The server has N keys with values of N bytes, and serves until its standard input ends. Clients GET random ones,\n"
    "one after the other, while --puts of them are changed each second. Both sides need the same --keys and --bytes.\n";

class Options {
 public:
  Options(int argc, char** argv) {
    for (int i = 2; i < argc; i += 2) {
      if (std::strncmp(argv[i], "--", 2) != 0 || i + 1 == argc)
        examples::give_up(std::string("'") + argv[i] + "' is no option with a value; --help tells");
      values_[argv[i] + 2] = argv[i + 1];
    }
  }
  std::string take(const char* name, const std::string& otherwise) {
    const auto it = values_.find(name);
    if (it == values_.end()) return otherwise;
    std::string value = it->second;
    values_.erase(it);
    return value;
  }
  template <class Number>
  void take(const char* name, Number& into, std::size_t least, std::size_t most) {
    const std::string text = take(name, std::to_string(into));
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
      examples::give_up(std::string("--") + name + " is a number from " + std::to_string(least) + " to " +
                        std::to_string(most) + ", and not '" + text + "'");
    }
    into = static_cast<Number>(value);
  }
  void end() const {
    if (!values_.empty()) examples::give_up("there is no option --" + values_.begin()->first + "; --help tells");
  }

 private:
  std::map<std::string, std::string> values_;
};

template <class Place>
void take_place(Options& o, Place& place) {
  place.address = o.take("address", place.address);
  o.take("port", place.port, 1, 65535);
}
template <class Sizes>
void take_sizes(Options& o, Sizes& sizes) {
  o.take("keys", sizes.keys, 1, 100'000'000);
  o.take("bytes", sizes.value_bytes, 1, kv::kMostValue - 8);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "--help";
  if (what == "--help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  Options o(argc, argv);
  if (what == "serve") {
    kv::ServerOptions server;
    take_place(o, server);
    take_sizes(o, server);
    server.deploy = o.take("deploy", "no") == "yes";
    o.end();
    kv::serve(server);
    return 0;
  }
  if (what != "get") examples::give_up("'" + what + "' is neither serve nor get; --help tells");
  kv::ClientOptions client;
  take_place(o, client.server);
  take_sizes(o, client);
  client.by = o.take("by", client.by);
  if (client.by != "kernel" && client.by != "bytecode" && client.by != "reads" && client.by != "tcp")
    examples::give_up("--by is kernel, bytecode, reads or tcp, and not '" + client.by + "'");
  client.object = o.take("object", "");
  if (client.by == "bytecode" && client.object.empty()) examples::give_up("--by bytecode needs --object, of get.c");
  o.take("clients", client.clients, 1, 100'000);
  o.take("milliseconds", client.milliseconds, 1, 3'600'000);
  o.take("puts", client.puts, 0, 1'000'000);
  client.json = o.take("json", "no") == "yes";
  o.end();
  return kv::run_clients(client) ? 0 : 1;
}
