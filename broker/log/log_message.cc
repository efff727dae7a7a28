#include "broker/log/log_message.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/codec.h"
#include "base/excerpt.h"
#include "base/whole_number.h"

namespace millrace {
namespace {

/// The headers of the log, in the order in which they are written.
enum HeaderOfLog : size_t {
  kExpectedHeader,
  kKindHeader,
  kEpochHeader,
  kIncarnationHeader,
  kCommitHeader,
  kPartHeader,
  kFormatHeader,
  kEncodingHeader,
  kPreviousHeader,
  kChainHeader,
  kHeadersOfLog
};

constexpr std::array<std::string_view, kHeadersOfLog> kHeaderNames = {
    "Nats-Expected-Last-Sequence",
    "Millrace-Kind",
    "Millrace-Epoch",
    "Millrace-Incarnation",
    "Millrace-Commit",
    "Millrace-Part",
    "Millrace-Format",
    "Millrace-Encoding",
    "Millrace-Previous",
    "Millrace-Chain",
};

constexpr std::array kLogKinds = {LogKind::kBegin, LogKind::kCommit, LogKind::kBeat, LogKind::kEnd};

constexpr std::string_view kPacked = "zstd";

/// The values of the headers of the log; nullptr: the message does not have the header.
using HeaderTexts = std::array<const std::string*, kHeadersOfLog>;

tl::unexpected<Error> foreign(std::string why) { return fail("log.foreign", std::move(why)); }

tl::unexpected<Error> wrong_header(HeaderOfLog header, std::string_view text,
                                   std::string_view expected) {
  return foreign(fmt::format("the header {} is {}; expected {}", kHeaderNames[header],
                             excerpt(text, 64), expected));
}

Result<HeaderTexts> header_texts(const Headers& headers) {
  HeaderTexts texts{};
  for (const auto& [name, value] : headers) {
    for (size_t i = 0; i < kHeadersOfLog; ++i) {
      if (!same_header(name, kHeaderNames[i])) continue;
      if (texts[i] != nullptr) {
        return foreign(
            fmt::format("the header {} is present twice; expected one", kHeaderNames[i]));
      }
      texts[i] = &value;
    }
  }
  for (size_t i = 0; i < kHeadersOfLog; ++i) {
    if (texts[i] == nullptr && i != kPartHeader && i != kEncodingHeader) {
      return foreign(fmt::format("the header {} is missing", kHeaderNames[i]));
    }
  }
  return texts;
}

/// The number in the only form in which it is written: without zeros at its beginning.
std::optional<uint64_t> exact_number(std::string_view text) {
  const std::optional<uint64_t> number = whole_number(text);
  if (!number || text.size() != fmt::formatted_size("{}", *number)) return std::nullopt;
  return number;
}

Result<uint64_t> number_in(const HeaderTexts& texts, HeaderOfLog header, uint64_t least) {
  const std::optional<uint64_t> number = exact_number(*texts[header]);
  if (number && *number >= least) return *number;
  return wrong_header(header, *texts[header],
                      fmt::format("a whole number of at least {}, of at most 64 bits", least));
}

Status read_hex_header(const HeaderTexts& texts, HeaderOfLog header,
                       std::array<uint8_t, 16>& bytes) {
  if (read_hex(*texts[header], bytes)) return {};
  return wrong_header(header, *texts[header], "32 lower-case hexadecimal digits");
}

Result<LogPart> part_in(const std::string& text) {
  if (const std::optional<LogPart> part = read_log_part(text)) return *part;
  return wrong_header(kPartHeader, text,
                      fmt::format("`i/n` with 1 ≤ i ≤ n and 2 ≤ n ≤ {}", kMostLogParts));
}

/// Checks the rules of the kinds of messages.
Status check_kind(const LogMessage& message) {
  const bool is_commit = message.kind == LogKind::kCommit;
  if (is_commit && message.commit == 0) {
    return wrong_header(kCommitHeader, "0", "at least 1 in a commit");
  }
  if (message.kind == LogKind::kBegin && message.commit != 0) {
    return wrong_header(kCommitHeader, fmt::to_string(message.commit), "0 in a begin");
  }
  if (!is_commit && (message.part.count != 1 || message.is_packed)) {
    return foreign(fmt::format("a message of the kind {} has the header {}; only a commit has it",
                               name_of(message.kind),
                               kHeaderNames[message.is_packed ? kEncodingHeader : kPartHeader]));
  }
  const bool is_begin = message.kind == LogKind::kBegin;
  if (!is_commit && is_begin == message.payload.empty()) {
    return foreign(fmt::format("a message of the kind {} has {} bytes; expected {}",
                               name_of(message.kind), message.payload.size(),
                               is_begin ? "at least 1" : "0"));
  }
  return {};
}

}  // namespace

std::string_view name_of(LogKind kind) {
  switch (kind) {
    case LogKind::kBegin:
      return "begin";
    case LogKind::kCommit:
      return "commit";
    case LogKind::kBeat:
      return "beat";
    case LogKind::kEnd:
      return "end";
  }
  return "";
}

std::optional<LogPart> read_log_part(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::optional<uint64_t> number = exact_number(text.substr(0, slash));
  const std::optional<uint64_t> count = exact_number(text.substr(slash + 1));
  if (!number || !count || *number < 1 || *number > *count || *count < 2 ||
      *count > kMostLogParts) {
    return std::nullopt;
  }
  return LogPart{*number, *count};
}

LogChain log_chain(std::string_view key, const LogMessage& message) {
  Writer head;
  head.u8(static_cast<uint8_t>(message.kind));
  head.u64(message.expected);
  head.u64(message.epoch);
  head.id(message.incarnation);
  head.u64(message.commit);
  head.u64(message.part.number);
  head.u64(message.part.count);
  head.u64(message.format);
  head.boolean(message.is_packed);
  head.id(message.previous);
  return keyed_fingerprint(key, {"millrace log", head.view(), message.payload});
}

NatsMessage encode_log_message(LogMessage message, std::string_view subject) {
  NatsMessage encoded{.subject = std::string(subject), .headers = {}, .data = {}};
  const auto add = [&](HeaderOfLog header, std::string value) {
    encoded.headers.emplace_back(kHeaderNames[header], std::move(value));
  };
  add(kExpectedHeader, fmt::to_string(message.expected));
  add(kKindHeader, std::string(name_of(message.kind)));
  add(kEpochHeader, fmt::to_string(message.epoch));
  add(kIncarnationHeader, to_hex(message.incarnation));
  add(kCommitHeader, fmt::to_string(message.commit));
  if (message.part.count > 1) {
    add(kPartHeader, fmt::format("{}/{}", message.part.number, message.part.count));
  }
  add(kFormatHeader, fmt::to_string(message.format));
  if (message.is_packed) add(kEncodingHeader, std::string(kPacked));
  add(kPreviousHeader, to_hex(message.previous));
  add(kChainHeader, to_hex(message.chain));
  encoded.data = std::move(message.payload);
  return encoded;
}

NatsMessage log_filler(uint64_t expected, std::string_view subject) {
  return {.subject = std::string(subject),
          .headers = {{std::string(kHeaderNames[kExpectedHeader]), fmt::to_string(expected)}},
          .data = {}};
}

Result<LogMessage> decode_log_message(NatsMessage message) {
  const HeaderTexts texts = TRY(header_texts(message.headers));
  LogMessage decoded;
  const std::string& kind = *texts[kKindHeader];
  const auto is_kind = [&](LogKind one) { return name_of(one) == kind; };
  const auto* const found = std::find_if(kLogKinds.begin(), kLogKinds.end(), is_kind);
  if (found == kLogKinds.end()) {
    return wrong_header(kKindHeader, kind, "begin, commit, beat or end");
  }
  decoded.kind = *found;
  decoded.expected = TRY(number_in(texts, kExpectedHeader, 0));
  decoded.epoch = TRY(number_in(texts, kEpochHeader, 1));
  decoded.commit = TRY(number_in(texts, kCommitHeader, 0));
  decoded.format = TRY(number_in(texts, kFormatHeader, 0));
  TRY(read_hex_header(texts, kIncarnationHeader, decoded.incarnation));
  TRY(read_hex_header(texts, kPreviousHeader, decoded.previous));
  TRY(read_hex_header(texts, kChainHeader, decoded.chain));
  if (texts[kPartHeader] != nullptr) decoded.part = TRY(part_in(*texts[kPartHeader]));
  if (texts[kEncodingHeader] != nullptr) {
    if (*texts[kEncodingHeader] != kPacked) {
      return wrong_header(kEncodingHeader, *texts[kEncodingHeader], "zstd, or no such header");
    }
    decoded.is_packed = true;
  }
  decoded.payload = std::move(message.data);
  TRY(check_kind(decoded));
  return decoded;
}

Result<LogMessage> read_log_message(std::string_view key, uint64_t sequence, NatsMessage message) {
  LogMessage read = TRY(decode_log_message(std::move(message)));
  if (log_chain(key, read) != read.chain) {
    return foreign(fmt::format(
        "the chain {} is not the one that the key of the cluster gives; expected a message "
        "of a node with the same secret key",
        to_hex(read.chain)));
  }
  if (sequence == 0 || read.expected != sequence - 1) {
    return foreign(
        fmt::format("the message is a copy: it was written for the sequence after {}, "
                    "and stands at {}",
                    read.expected, sequence));
  }
  return read;
}

}  // namespace millrace
