#include "real_parts/spec.h"

namespace weft::scene {

void Met::add(const Met& o) {
  for (const auto field :
       {&Met::steps, &Met::preemptions, &Met::messages, &Met::failed_messages, &Met::drivers_changed, &Met::sleeps,
        &Met::payloads_gone, &Met::brokers, &Met::returns, &Met::datagrams, &Met::killed_inside}) {
    this->*field += o.*field;
  }
}

std::ostream& operator<<(std::ostream& out, const SceneSpec& spec) {
  constexpr std::array<std::string_view, 3> kTransports{"automatic", "roce", "srnic"};
  constexpr std::array<std::string_view, 3> kCopies{"off", "on", "measured"};
  out << "scene " << spec.seed << ": " << spec.lanes << " lanes, "
      << kTransports[static_cast<std::size_t>(spec.transport)] << ", one copy "
      << kCopies[static_cast<std::size_t>(spec.one_copy)] << (spec.rings ? ", rings" : ", datagrams") << ", loss "
      << spec.loss << '\n';
  for (const ConnectionSpec& c : spec.connections) {
    out << "  " << c.lanes[0] << " <-> " << c.lanes[1] << ", MTU " << c.mtu << ", window " << c.window << ", receives "
        << c.receives << '\n';
    for (const std::size_t side : {0U, 1U}) {
      out << "   ";
      for (const MessageSpec& m : c.messages[side]) {
        out << ' ' << static_cast<int>(m.kind) << ':' << m.bytes << (m.pieces > 1 ? "*" : "");
      }
      out << '\n';
    }
  }
  for (const FaultSpec& f : spec.faults) {
    out << "  " << kFaultNames[static_cast<std::size_t>(f.kind)] << " at " << f.at / 1'000'000 << " us, lane " << f.lane
        << ", connection " << f.connection << " side " << f.side << ", for " << f.lasts / 1'000'000 << " us\n";
  }
  return out;
}

}  // namespace weft::scene
