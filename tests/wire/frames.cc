// Frames between Weft and other RoCEv2 implementations, for the scripts beside this file. A frame travels with its
// fields as one line of JSON.
//
//   frames build        a frame of every opcode over IPv4 and IPv6, and of every connection manager message
//   frames pcap FILE    the same without srnic and calls, which are our own; the frames go to FILE as a capture
//   frames parse        reads frames as hexadecimal lines, says what they are
#include <array>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "wire/cm.h"
#include "wire/cnp.h"
#include "wire/frame.h"
#include "wire/ip_cm.h"
#include "wire/test_model.h"

namespace weft::wire {
namespace {

using Bytes = std::vector<std::byte>;

std::string hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const std::byte b : bytes) {
    out += kDigits[std::to_integer<std::size_t>(b) >> 4];
    out += kDigits[std::to_integer<std::size_t>(b) & 15];
  }
  return out;
}

Bytes from_hex(std::string_view text) {
  Bytes out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    out.push_back(static_cast<std::byte>(std::stoul(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

// One JSON object of numbers and hexadecimal strings.
class Line {
 public:
  void add(std::string_view key, std::uint64_t value) { put(key, std::to_string(value)); }
  void add(std::string_view key, std::string_view value) { put(key, '"' + std::string(value) + '"'); }
  void add(std::string_view key, std::span<const std::byte> value) { add(key, std::string_view(hex(value))); }
  void add(std::string_view key, const Address& value) { add(key, std::as_bytes(std::span(value.bytes))); }
  void print() const { std::cout << '{' << text_ << "}\n"; }

 private:
  void put(std::string_view key, std::string_view value) {
    if (!text_.empty()) text_ += ", ";
    text_ += '"' + std::string(key) + "\": " + std::string(value);
  }
  std::string text_;
};

void add_packet(Line& line, const Packet& p) {
  const Headers& h = p.headers;
  const OpcodeInfo& o = info(h.bth.opcode);
  line.add("ip.src", p.flow.source);
  line.add("ip.dst", p.flow.destination);
  line.add("ip.tc", p.flow.traffic_class);
  line.add("ip.hops", p.flow.hop_limit);
  line.add("ip.label", p.flow.flow_label);
  line.add("udp.sport", p.flow.source_port);
  line.add("bth.opcode", static_cast<std::uint8_t>(h.bth.opcode));
  line.add("bth.solicited", h.bth.solicited);
  line.add("bth.migrated", h.bth.migrated);
  line.add("bth.pad", h.bth.pad);
  line.add("bth.version", h.bth.version);
  line.add("bth.pkey", h.bth.pkey.raw());
  line.add("bth.fecn", h.bth.fecn);
  line.add("bth.becn", h.bth.becn);
  line.add("bth.qpn", h.bth.destination.raw());
  line.add("bth.ack", h.bth.ack_request);
  line.add("bth.psn", h.bth.psn.raw());
  if (o.sequence) {
    line.add("sequence.msn", h.sequence.msn());
    line.add("sequence.ssn", h.sequence.ssn());
    line.add("sequence.offset", h.sequence.offset());
  }
  if (o.target) {
    line.add("target.va", h.reth.address);
    line.add("target.key", h.reth.key.raw());
  }
  if (o.srnic_ack) {
    line.add("ack.syndrome", h.srnic_ack.syndrome);
    line.add("ack.expected", h.srnic_ack.expected.raw());
    line.add("ack.run", h.srnic_ack.run);
    line.add("ack.duplicates", h.srnic_ack.duplicates);
    line.add("ack.marked", h.srnic_ack.marked);
  }
  if (o.deth) {
    line.add("deth.qkey", h.deth.qkey.raw());
    line.add("deth.qpn", h.deth.source.raw());
  }
  if (o.reth) {
    line.add("reth.va", h.reth.address);
    line.add("reth.key", h.reth.key.raw());
    line.add("reth.length", h.reth.length);
  }
  if (o.atomic_eth) {
    line.add("atomic.va", h.atomic.address);
    line.add("atomic.key", h.atomic.key.raw());
    line.add("atomic.swap", h.atomic.swap_add);
    line.add("atomic.compare", h.atomic.compare);
  }
  if (o.aeth) {
    line.add("aeth.syndrome", h.aeth.syndrome);
    line.add("aeth.msn", h.aeth.msn.raw());
  }
  if (o.atomic_ack_eth) line.add("atomicack.original", h.atomic_ack.original);
  if (o.immediate) line.add("imm", h.immediate.value);
  if (o.ieth) line.add("ieth.key", h.invalidate.key.raw());
  line.add("payload", p.payload.near());
}

void add_path(Line& line, const std::string& prefix, const CmPath& path) {
  line.add(prefix + "local_lid", path.local_lid);
  line.add(prefix + "remote_lid", path.remote_lid);
  line.add(prefix + "local", path.local);
  line.add(prefix + "remote", path.remote);
  line.add(prefix + "label", path.flow_label);
  line.add(prefix + "rate", path.rate);
  line.add(prefix + "tc", path.traffic_class);
  line.add(prefix + "hops", path.hop_limit);
  line.add(prefix + "sl", path.service_level);
  line.add(prefix + "subnet_local", path.subnet_local);
  line.add(prefix + "ack_timeout", path.ack_timeout);
}

void add_cm(Line& line, const CmReq& m) {
  line.add("req.local_id", m.local_id);
  line.add("req.service_id", m.service_id);
  line.add("req.guid", m.ca_guid);
  line.add("req.qkey", m.qkey.raw());
  line.add("req.qpn", m.qpn.raw());
  line.add("req.responder_resources", m.responder_resources);
  line.add("req.local_eecn", m.local_eecn);
  line.add("req.initiator_depth", m.initiator_depth);
  line.add("req.remote_eecn", m.remote_eecn);
  line.add("req.remote_timeout", m.remote_response_timeout);
  line.add("req.transport", m.transport);
  line.add("req.flow_control", m.flow_control);
  line.add("req.psn", m.starting_psn.raw());
  line.add("req.local_timeout", m.local_response_timeout);
  line.add("req.retries", m.retry_count);
  line.add("req.pkey", m.pkey.raw());
  line.add("req.mtu", m.mtu);
  line.add("req.rdc", m.rdc_exists);
  line.add("req.rnr_retries", m.rnr_retry_count);
  line.add("req.cm_retries", m.max_cm_retries);
  line.add("req.srq", m.srq);
  line.add("req.extended", m.extended_transport);
  add_path(line, "req.primary.", m.primary);
  add_path(line, "req.alternate.", m.alternate);
  const auto ip = IpCmHeader::decode(std::span(m.private_data).first<IpCmHeader::kBytes>());
  line.add("req.ip.version", ip.ip_version);
  line.add("req.ip.port", ip.source_port);
  line.add("req.ip.src", ip.source);
  line.add("req.ip.dst", ip.destination);
  line.add("req.ip.private", std::span<const std::byte>(m.private_data).subspan(IpCmHeader::kBytes));
}

void add_cm(Line& line, const CmRep& m) {
  line.add("rep.local_id", m.local_id);
  line.add("rep.remote_id", m.remote_id);
  line.add("rep.qkey", m.qkey.raw());
  line.add("rep.qpn", m.qpn.raw());
  line.add("rep.eecn", m.local_eecn);
  line.add("rep.psn", m.starting_psn.raw());
  line.add("rep.responder_resources", m.responder_resources);
  line.add("rep.initiator_depth", m.initiator_depth);
  line.add("rep.ack_delay", m.target_ack_delay);
  line.add("rep.failover", m.failover_accepted);
  line.add("rep.flow_control", m.flow_control);
  line.add("rep.rnr_retries", m.rnr_retry_count);
  line.add("rep.srq", m.srq);
  line.add("rep.guid", m.ca_guid);
  line.add("rep.private", m.private_data);
}

void add_cm(Line& line, const CmRej& m) {
  line.add("rej.local_id", m.local_id);
  line.add("rej.remote_id", m.remote_id);
  line.add("rej.about", static_cast<std::uint8_t>(m.about));
  line.add("rej.info_length", m.info_length);
  line.add("rej.reason", m.reason);
  line.add("rej.info", m.info);
  line.add("rej.private", m.private_data);
}

void add_cm(Line& line, const CmRtu& m) {
  line.add("rtu.local_id", m.local_id);
  line.add("rtu.remote_id", m.remote_id);
  line.add("rtu.private", m.private_data);
}

void add_cm(Line& line, const CmDreq& m) {
  line.add("dreq.local_id", m.local_id);
  line.add("dreq.remote_id", m.remote_id);
  line.add("dreq.qpn", m.remote_qpn.raw());
  line.add("dreq.private", m.private_data);
}

void add_cm(Line& line, const CmDrep& m) {
  line.add("drep.local_id", m.local_id);
  line.add("drep.remote_id", m.remote_id);
  line.add("drep.private", m.private_data);
}

// No other dissector takes these apart.
template <class Message>
void add_cm(Line&, const Message&) {}

const std::array<Flow, 2> kFlows{Flow{.source = Address::v4(10, 0, 0, 1),
                                      .destination = Address::v4(192, 168, 7, 9),
                                      .source_port = 0xC123,
                                      .traffic_class = 0x6A,
                                      .hop_limit = 61},
                                 Flow{.source = {{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}},
                                      .destination = {{0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
                                      .flow_label = 0xB'EEF1,
                                      .source_port = 0xFFFE,
                                      .traffic_class = 0xA1,
                                      .hop_limit = 60}};

struct Sample {
  Bytes frame;
  Line line;
};

Sample sample(const Flow& flow, Headers headers, std::span<const std::byte> payload, Ipv4Ident ident) {
  Sample out;
  Bytes datagram(datagram_bytes(headers.bth.opcode, payload.size()));
  if (encode_datagram(headers, payload, flow, datagram, ident) != datagram.size()) std::abort();
  out.frame.resize(kMaxFrameHeaderBytes + datagram.size());
  out.frame.resize(build_frame(flow, datagram, out.frame, {.ident = ident}));
  headers.bth.pad = pad_for(payload.size());
  out.line.add("frame", out.frame);
  add_packet(out.line, Packet{flow, headers, payload});
  return out;
}

// Nobody else speaks these.
bool is_our_own(const OpcodeInfo& o) {
  const bool calls = o.verb == Verb::rpc || o.verb == Verb::rpc_write || o.verb == Verb::reply;
  return calls || o.dialect == Dialect::srnic;
}

// Every opcode with every pad. No payload of a few bytes: tshark guesses at what is inside, and fails on those.
void add_opcodes(std::vector<Sample>& out, bool with_our_own) {
  model::Numbers numbers(2024);
  for (const Flow& flow : kFlows) {
    for (const auto& line : model::lines()) {
      if (!with_our_own && is_our_own(info(static_cast<Opcode>(line.opcode)))) continue;
      for (const std::size_t size : {0, 29, 30, 67}) {
        if (size > 0 && !line.payload) continue;
        const auto payload = numbers.bytes(size);
        const Ipv4Ident ident{static_cast<std::uint16_t>(size == 30 ? numbers.next() : 0),
                              static_cast<std::uint16_t>(size == 67 ? 0 : 0x4000)};
        out.push_back(sample(flow, numbers.headers(static_cast<Opcode>(line.opcode)), payload, ident));
      }
    }
    out.push_back(sample(flow, make_cnp(Qpn(0xD2)), {}, {}));
  }
}

template <std::size_t... I>
std::vector<CmBody> random_bodies(model::Numbers& numbers, std::index_sequence<I...>) {
  const auto one = [&]<class Message>(std::type_identity<Message>) {
    return Message::decode(std::span<const std::byte>(numbers.bytes(kMadDataBytes)).first<kMadDataBytes>());
  };
  return {CmBody(one(std::type_identity<std::variant_alternative_t<I, CmBody>>{}))...};
}

void add_cm_messages(std::vector<Sample>& out) {
  model::Numbers numbers(2025);
  for (const Flow& flow : kFlows) {
    for (CmBody& body : random_bodies(numbers, std::make_index_sequence<std::variant_size_v<CmBody>>{})) {
      if (auto* req = std::get_if<CmReq>(&body)) {
        req->service_id = cm_service_id(PortSpace::tcp, 7471);
        req->primary.local = flow.source;
        req->primary.remote = flow.destination;
        const std::uint8_t version = flow.source.is_v4() ? 4 : 6;
        IpCmHeader{.ip_version = version, .source_port = 4242, .source = flow.source, .destination = flow.destination}
            .encode(std::span(req->private_data).first<IpCmHeader::kBytes>());
      }
      const CmMessage message{.transaction = numbers.next(), .body = body};
      std::array<std::byte, kMadBytes> mad;
      encode_cm(message, mad);
      Headers headers{.bth = {.opcode = Opcode::ud_send_only, .destination = kGsiQpn}};
      headers.deth = {.qkey = kGsiQkey, .source = kGsiQpn};
      Sample s = sample(flow, headers, mad, {});
      const MadHeader header = MadHeader::decode(std::span(mad).first<MadHeader::kBytes>());
      s.line.add("mad.class", header.management_class);
      s.line.add("mad.class_version", header.class_version);
      s.line.add("mad.method", header.method);
      s.line.add("mad.transaction", header.transaction);
      s.line.add("mad.attribute", header.attribute);
      std::visit([&](const auto& m) { add_cm(s.line, m); }, message.body);
      out.push_back(std::move(s));
    }
  }
}

bool write_pcap(const char* path, const std::vector<Sample>& samples) {
  std::FILE* file = std::fopen(path, "wb");
  if (file == nullptr) return false;
  const auto put32 = [&](std::uint32_t v) { std::fwrite(&v, 4, 1, file); };
  // In the machine's own byte order: readers tell by the magic number.
  put32(0xA1B2'C3D4);
  put32(4u << 16 | 2u);  // version 2.4
  put32(0);
  put32(0);
  put32(65'535);
  put32(1);  // Ethernet
  for (const Sample& s : samples) {
    const auto size = static_cast<std::uint32_t>(s.frame.size());
    put32(0);
    put32(0);
    put32(size);
    put32(size);
    std::fwrite(s.frame.data(), 1, size, file);
  }
  return std::fclose(file) == 0;
}

void parse_lines() {
  std::string text;
  while (std::getline(std::cin, text)) {
    const Bytes frame = from_hex(text);
    Packet packet;
    const Refusal refusal = parse_frame(frame, packet);
    Line line;
    line.add("refusal", refusal == Refusal::none ? std::string_view() : weft::text(refusal).counter);
    if (refusal == Refusal::none) add_packet(line, packet);
    line.print();
  }
}

int run(std::span<char*> args) {
  const std::string_view mode = args.size() > 1 ? args[1] : "";
  if (mode == "parse") {
    parse_lines();
    return 0;
  }
  if (mode != "build" && !(mode == "pcap" && args.size() == 3)) {
    std::cerr << "usage: frames build | pcap FILE | parse\n";
    return 2;
  }
  std::vector<Sample> samples;
  add_opcodes(samples, mode == "build");
  add_cm_messages(samples);
  if (mode == "pcap" && !write_pcap(args[2], samples)) {
    std::cerr << "frames: cannot write " << args[2] << '\n';
    return 1;
  }
  for (const Sample& s : samples) s.line.print();
  return 0;
}

}  // namespace
}  // namespace weft::wire

int main(int argc, char** argv) { return weft::wire::run({argv, static_cast<std::size_t>(argc)}); }
