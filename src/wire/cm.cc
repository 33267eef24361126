#include "wire/cm.h"

#include <utility>

namespace weft::wire {
namespace {

// Tries each message of the variant until one has this attribute.
template <std::size_t... I>
bool decode_body(std::uint16_t attribute, std::span<const std::byte, kMadDataBytes> data, CmBody& out,
                 std::index_sequence<I...>) {
  const auto try_one = [&]<class Message>(std::type_identity<Message>) {
    if (Message::kAttribute != attribute) return false;
    out = Message::decode(data);
    return true;
  };
  return (try_one(std::type_identity<std::variant_alternative_t<I, CmBody>>{}) || ...);
}

}  // namespace

Refusal parse_cm(std::span<const std::byte> mad, CmMessage& out) {
  if (mad.size() != kMadBytes) return Refusal::mad_bad_size;
  const MadHeader header = MadHeader::decode(mad.first<MadHeader::kBytes>());
  // IBA 13.4.8: all of the connection manager's messages are sent, never got or set.
  if (header.base_version != MadHeader::kBaseVersion || header.management_class != kCmClass ||
      header.class_version != kCmClassVersion || header.method != MadHeader::kMethodSend) {
    return Refusal::mad_not_cm;
  }
  const auto data = mad.subspan<MadHeader::kBytes>().first<kMadDataBytes>();
  if (!decode_body(header.attribute, data, out.body, std::make_index_sequence<std::variant_size_v<CmBody>>{})) {
    return Refusal::mad_unknown_attribute;
  }
  out.transaction = header.transaction;
  return Refusal::none;
}

void encode_cm(const CmMessage& message, std::span<std::byte, kMadBytes> out) {
  std::visit(
      [&]<class Message>(const Message& body) {
        MadHeader{.management_class = kCmClass,
                  .class_version = kCmClassVersion,
                  .method = MadHeader::kMethodSend,
                  .transaction = message.transaction,
                  .attribute = Message::kAttribute}
            .encode(out.first<MadHeader::kBytes>());
        body.encode(out.last<kMadDataBytes>());
      },
      message.body);
}

}  // namespace weft::wire
