// OriginMark: the header by which an event of the event stream names the message of an origin
// stream from which a source made it. The header has a keyed hash, so only a holder of the store's
// key can make it, and only for that event. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/time.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

/// The header with the mark.
inline constexpr std::string_view kOriginHeader = "Millrace-Origin";

/// The reason of the dead letter of an event whose mark is not accepted.
inline constexpr std::string_view kOriginError = "event.origin";

/// The id of a source: random bytes. A source that is deleted and applied again gets another id.
using SourceId = std::array<uint8_t, 16>;

/// The sequences of which stream a mark names. The messages of a stream that was created again, or
/// that was rolled back, have the sequences of other messages once more.
struct OriginStream {
  SourceId source{};
  uint64_t created = 0;  ///< when the stream was created, in nanoseconds
  uint32_t round = 0;    ///< how often a roll back of that stream was seen

  auto operator<=>(const OriginStream&) const = default;
};

struct OriginMark {
  OriginStream origin;
  uint64_t previous = 0;  ///< the sequence of the message that the source read before this one
  uint64_t sequence = 0;  ///< of the message
  TimePoint stamped;      ///< when the broker stored the message in the origin stream
  Fingerprint content{};  ///< content_of() the event's message
  Fingerprint proof{};    ///< proof_of()

  bool operator==(const OriginMark&) const = default;
};

/// A hash of the headers and the data of a message, which determine its event. Headers of the
/// broker and of millrace are left out, and the order of the headers does not matter.
Fingerprint content_of(const NatsMessage& message);

/// The keyed hash of the namespace and of all other members of the mark. `key` is
/// Seal::message_key().
Fingerprint proof_of(std::string_view key, std::string_view ns, const OriginMark& mark);

/// Whether the mark was made with the key, for an event of the namespace; takes the same time for
/// each proof.
bool is_proved(std::string_view key, std::string_view ns, const OriginMark& mark);

/// Adds the header with the mark to the message of an event of the namespace. Sets
/// OriginMark::content and OriginMark::proof by itself.
void mark_origin(std::string_view key, std::string_view ns, OriginMark mark, NatsMessage& message);

/// The mark of a message. `is_malformed` is set if the message has the header and the header is no
/// mark; then, and without the header, the result is nullopt.
std::optional<OriginMark> origin_of(const NatsMessage& message, bool& is_malformed);

/// A Nats-Msg-Id for the event of that message of an origin stream. `attempt`: how often the source
/// has read the message again because the event stream had lost its event.
std::string origin_message_id(std::string_view key, const OriginStream& origin, uint64_t sequence,
                              uint64_t attempt);

}  // namespace millrace
