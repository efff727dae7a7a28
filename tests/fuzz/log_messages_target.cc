// A message of the log of a cluster: headers, an empty line, and the payload (headed_input.h). The
// payload is also read as that of a commit, compressed and not, and as the body of a `begin`.
// Covers: broker/log/log_message.cc broker/log/log_payload.cc broker/log/log_begin.cc
// Covers: broker/log/log_judge.cc
#include <limits>
#include <string>
#include <utility>

#include "broker/log/log_begin.h"
#include "broker/log/log_judge.h"
#include "broker/log/log_message.h"
#include "broker/log/log_payload.h"
#include "tests/fuzz/headed_input.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

const std::string kKeyOfLog(32, 'k');
constexpr const char* kSubjectOfLog = "millrace.log.test.0";

/// What a reader makes of the message, if the history that it has read ends before the message.
void check_log_judge(const LogMessage& message) {
  LogHistory history{.place = {message.expected, message.previous},
                     .epoch = message.epoch,
                     .incarnation = message.incarnation,
                     .commit = message.commit};
  if (message.kind == LogKind::kBegin) --history.epoch;
  if (message.kind == LogKind::kCommit) --history.commit;
  LogJudge judge(kKeyOfLog, message.format, history);
  const auto seen = judge.see(message.expected + 1, encode_log_message(message, kSubjectOfLog));
  if (!seen) {
    CHECK(judge.history() == history, "a message that is not applied has an effect");
    return check_shown_error(seen.error());
  }
  CHECK(judge.foreign() == 0);
  CHECK(judge.history().place.sequence == message.expected + 1);
  CHECK(judge.history().place.chain == message.chain);
  if (seen->what == LogSeen::What::kCommit && !message.is_packed) {
    CHECK(seen->write_set == message.payload);
  }
}

/// A message that decodes is written as it was read, and is read only with its chain, in its place.
void check_log_message(LogMessage message) {
  CHECK(decode_log_message(encode_log_message(message, kSubjectOfLog)) == message);
  message.chain = log_chain(kKeyOfLog, message);
  const NatsMessage stored = encode_log_message(message, kSubjectOfLog);
  if (message.expected == std::numeric_limits<uint64_t>::max()) return;
  CHECK(read_log_message(kKeyOfLog, message.expected + 1, stored) == message);
  CHECK(!read_log_message(kKeyOfLog, message.expected, stored));
  check_log_judge(message);
  message.chain[0] ^= 1;
  CHECK(!read_log_message(kKeyOfLog, message.expected + 1,
                          encode_log_message(message, kSubjectOfLog)));
}

/// What was unpacked is unpacked again after it was packed.
void check_log_payload(bool is_packed, std::string payload) {
  static LogPacker packer;
  const auto write_set = unpack_log_payload(is_packed, std::move(payload));
  if (!write_set) return check_shown_error(write_set.error());
  CHECK(write_set->size() <= kMostLogCommitBytes);
  if (write_set->size() > 1 << 20) return;  // would take long
  const Result<LogUnit> unit = packer.pack({}, *write_set, 1'024);
  CHECK(unit.has_value());
  std::string joined;
  for (const std::string& part : unit->parts) {
    CHECK(part.size() <= 1'024);
    joined += part;
  }
  CHECK(unpack_log_payload(unit->is_packed, std::move(joined)) == *write_set);
}

void check_log_begin(std::string_view body) {
  const auto begin = decode_log_begin(body);
  if (!begin) return check_shown_error(begin.error());
  CHECK(decode_log_begin(encode_log_begin(*begin)) == *begin);
}

}  // namespace

FUZZ_TARGET(log_messages) {
  const HeadedInput input = read_headed_input(bytes);
  const auto message = decode_log_message(
      {.subject = kSubjectOfLog, .headers = input.headers, .data = std::string(input.body)});
  if (message) {
    check_log_message(*message);
  } else {
    check_shown_error(message.error());
  }
  check_log_payload(false, std::string(input.body));
  check_log_payload(true, std::string(input.body));
  check_log_begin(input.body);
}

}  // namespace millrace::fuzz
