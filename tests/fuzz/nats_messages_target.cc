// What the broker itself sends: answers of the JetStream API, acknowledgements, owner messages and
// reply subjects. Each reader gets all bytes.
// Covers: broker/stored_message.cc broker/streams.cc broker/stream_options.cc broker/pull_window.cc
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/bytes.h"
#include "broker/connection.h"
#include "broker/publisher.h"
#include "broker/pull_window.h"
#include "broker/stored_message.h"
#include "broker/stream_owner.h"
#include "broker/streams.h"
#include "cloudevents/subject.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

constexpr std::string_view kApiSubject = "$JS.API.STREAM.MSG.GET.S";

void check_broker_error(const Error& error) {
  CHECK(error.code.starts_with("broker."), "the code is {}", error.code);
  CHECK(is_utf8(error.message), "the message is not text");
}

void check_stored(const Json& answer) {
  const Result<StoredMessage> stored = read_stored(answer);
  if (!stored) return check_broker_error(stored.error());
  CHECK(stored->message.data.size() <= dump_json(answer).size());
  broker_time(stored->stamped);
}

void check_description(const Json& answer) {
  const StreamSettings settings = events_stream();
  const Result<StreamInfo> info = check_stream(answer, settings);
  if (!info) return check_broker_error(info.error());
  bool is_covered = false;
  for (const std::string& subject : info->subjects) {
    is_covered = is_covered || subject_covers(subject, settings.subjects);
  }
  CHECK(is_covered, "no subject of the stream covers {}", settings.subjects);
  for (const std::string& note : info->notes) CHECK(is_utf8(note));
}

void check_owner(std::string_view bytes) {
  const std::optional<OwnerRecord> owner = decode_owner(bytes);
  if (!owner) return;
  CHECK(decode_owner(dump_json(encode(*owner))) == owner, "another owner is read back");
  CHECK(is_utf8(describe(*owner)));
}

void check_time(std::string_view bytes) {
  const Result<int64_t> nanoseconds = parse_nanoseconds(bytes);
  if (!nanoseconds) return;
  const Result<TimePoint> time = parse_rfc3339(bytes);
  CHECK(time && broker_time(*nanoseconds) == *time, "{} nanoseconds are another time than {}",
        *nanoseconds, bytes);
}

void check_ack_subject(std::string_view bytes) {
  const std::optional<DeliveryNumbers> numbers = parse_ack_subject(bytes);
  if (!numbers) return;
  const std::string again =
      fmt::format("$JS.ACK.S.{}.1.{}.{}.{}.{}", consumer_of_ack(bytes), numbers->stream_sequence,
                  numbers->consumer_sequence, numbers->stamped, numbers->pending);
  CHECK(parse_ack_subject(again) == numbers, "other numbers are read from {}", again);
  CHECK(consumer_of_ack(again) == consumer_of_ack(bytes));
  const bool has_all_digits = bytes.find(std::to_string(numbers->stream_sequence)) != bytes.npos &&
                              bytes.find(std::to_string(numbers->pending)) != bytes.npos;
  CHECK(has_all_digits, "a number of the subject is read as another one");
}

}  // namespace

FUZZ_TARGET(nats_messages) {
  const Result<PublishAck> ack = read_publish_ack(bytes);
  if (ack) {
    CHECK(ack->sequence > 0);
  } else {
    check_broker_error(ack.error());
  }
  const Result<bool> is_stored = read_whether_stored(kApiSubject, bytes);
  if (!is_stored) check_broker_error(is_stored.error());
  if (const Result<Json> answer = parse_json(bytes)) {
    const Status accepted = check_api_answer(kApiSubject, *answer);
    if (!accepted) check_broker_error(accepted.error());
    CHECK(!accepted || is_stored == true, "the answer is none to read_whether_stored()");
    check_stored(*answer);
    check_description(*answer);
  }
  check_owner(bytes);
  check_time(bytes);
  check_ack_subject(bytes);
}

}  // namespace millrace::fuzz
