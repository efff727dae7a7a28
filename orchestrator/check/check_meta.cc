// Checks of the table meta, without its rows of deletions (check_purges.cc): the format, the key,
// engine time, cursor and counters.
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "orchestrator/check/checker.h"
#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/rows/answer_rows.h"
#include "orchestrator/store/rows/archive_rows.h"
#include "orchestrator/store/rows/crash_row.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/identity.h"
#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/left_consumer_rows.h"
#include "orchestrator/store/rows/node_rows.h"
#include "orchestrator/store/rows/pending_input_rows.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "orchestrator/store/rows/rate_rows.h"
#include "orchestrator/store/rows/replay_rows.h"
#include "orchestrator/store/rows/source_rows.h"
#include "orchestrator/store/rows/start_rate_rows.h"
#include "orchestrator/store/rows/stream_rows.h"

namespace millrace {
namespace {

constexpr std::string_view kAnsweredKey = "given-answers/";
constexpr std::string_view kArchiveKey = "archive/";
constexpr std::string_view kCounterKey = "counter/";
constexpr std::string_view kStreamKey = "stream/";
constexpr std::string_view kRateKey = "rate/";
constexpr std::string_view kReplayKey = "replay/";
constexpr std::string_view kNodeKey = "node/";
constexpr std::string_view kSourceKey = "source/";
constexpr std::string_view kOriginKey = "origin/";
constexpr std::string_view kLeftConsumerKey = "left-consumer/";

/// The end of the year 9999, in ms: the highest valid time.
constexpr uint64_t kLastMillis = 253'402'300'799'999;

/// The highest values of counters. A counter must have a number left to assign: otherwise
/// next_number() fails, and the server does not start. The numbers of namespaces and workflows have
/// 32 bits.
constexpr uint64_t kMostOfCounter = kMostNumber - 1;
constexpr uint64_t kMostOfShort = UINT32_MAX - 1;

std::optional<uint64_t> number_of(std::string_view value) {
  Reader reader(value);
  const uint64_t number = reader.u64();
  return reader.done() ? std::optional(number) : std::nullopt;
}

}  // namespace

void Checker::check_meta() {
  // The key is checked first, because it decides whether sealed rows can be opened.
  if (const auto seal = view_.get(Table::kMeta, "seal")) {
    const auto context = rows::seal_context(Table::kMeta, "seal");
    const auto opened = view_.seal().open(*seal, context);
    has_key_ = opened.has_value();
    if (opened && !opened->empty()) {
      add(StoreFault::kRowRecord, {Table::kMeta, "seal"}, "the sealed value is not empty");
    }
  }
  each_row(Table::kMeta, [&](std::string_view key, std::string_view value) {
    check_meta_row({Table::kMeta, key}, value);
  });
  if (is_over()) return;
  compare_start_rates();
  check_stream_numbers();
  if (!format_) {
    if (about_rows_ > 0 || rows_ > 0) {
      add(StoreFault::kMetaMissing, {Table::kMeta, "format"}, "the store has no format");
    }
    return;
  }
  for (const Table table : {Table::kTasks, Table::kWebhooks, Table::kByStatus, Table::kCounts,
                            Table::kUsage, Table::kEffects}) {
    const uint64_t since = since_format(table);
    if (*format_ == 0 || *format_ >= since || !has_row(table)) continue;
    add(StoreFault::kRowValue, {Table::kMeta, "format"},
        fmt::format("the format is {}, but the tree {}, which exists since format {}, has rows",
                    *format_, table_name(table), since));
  }
  const bool has_minor = view_.get(Table::kMeta, "minor").has_value();
  if (*format_ > 0 && *format_ < kStoreFormat && (has_minor || !streams_.empty())) {
    add(StoreFault::kRowValue, {Table::kMeta, "format"},
        fmt::format("the format is {}, but meta has a row {}, which exists since format {}",
                    *format_, has_minor ? "`minor`" : "`stream/`", kStoreFormat));
  }
  constexpr Duration kYear = std::chrono::days(366);
  // `stamped` is the broker's time, which may differ from the store's.
  if (cursor_ && time_ && cursor_->stamped > *time_ + kYear) {
    add(StoreFault::kRowTime, {Table::kMeta, "cursor"},
        fmt::format("the broker's time of the latest applied message is {} ms, but the store's "
                    "time is {} ms",
                    to_millis(cursor_->stamped), to_millis(*time_)));
  }
  has_index_ = *format_ == kStoreFormat && !is_index_incomplete(view_);
  report_.index_compared = has_index_;
  has_counted_rows_ = has_index_ && read_minor(view_).value_or(0) >= kMinorOfCountedRows;
  // Only before the store has opened a stream, the cursor is at sequence 0 of stream 0.
  const bool is_at_start = cursor_ && cursor_->stream_created == 0 && cursor_->sequence == 0;
  const bool is_at_stream =
      (is_at_start && !stream_times_.empty()) || (cursor_ && cursor_->stream_created > 0);
  if (is_at_stream && *format_ == kStoreFormat &&
      !stream_times_.contains(cursor_->stream_created)) {
    add(StoreFault::kMetaMissing, {Table::kMeta, "cursor"},
        fmt::format("the stream of the cursor, created at {}, has no row `stream/`",
                    cursor_->stream_created));
  }
  if (*format_ == kStoreFormat && !view_.get(Table::kMeta, "seal")) {
    add(StoreFault::kMetaMissing, {Table::kMeta, "seal"},
        "the row that identifies the store's key is missing");
  }
  // A server writes the identity before any row of a namespace, and before it builds the index of
  // an older store.
  if (options_.had_server && has_index_ && counters_[index_of(Counter::kNamespace)] > 0 &&
      !view_.get(Table::kMeta, "store")) {
    add(StoreFault::kMetaMissing, {Table::kMeta, "store"},
        "the row that identifies the store is missing");
  }
  // A batch in which an event had an effect writes grouped events, kept events or a row of
  // `dedupe`, together with the cursor.
  const bool has_taken_events = counters_[index_of(Counter::kGrouped)] > 0 ||
                                counters_[index_of(Counter::kKeptEvents)] > 0 ||
                                has_row(Table::kDedupe);
  if (has_taken_events && !view_.get(Table::kMeta, "cursor")) {
    add(StoreFault::kMetaMissing, {Table::kMeta, "cursor"},
        "the store has applied events, but has no cursor");
  } else if (!streams_.empty() && !view_.get(Table::kMeta, "cursor")) {
    // A stream gets its number in the batch that moves the cursor to the stream.
    add(StoreFault::kMetaMissing, {Table::kMeta, "cursor"},
        "the store has opened an event stream, but has no cursor");
  }
  // The first batch that defines a workflow or starts an instance writes the time.
  const bool has_time =
      counters_[index_of(Counter::kHistory)] > 0 || counters_[index_of(Counter::kWorkflow)] > 0;
  if (!view_.get(Table::kMeta, "time") && has_time) {
    add(StoreFault::kMetaMissing, {Table::kMeta, "time"}, "the time of the last commit is missing");
  }
}

void Checker::check_meta_row(const Place& place, std::string_view value) {
  const std::string_view key = place.key;
  const auto number = [&]() -> std::optional<uint64_t> {
    const auto found = number_of(value);
    if (!found) {
      add(StoreFault::kRowRecord, place,
          fmt::format("the row has {} bytes, expected a number of 8 bytes", value.size()));
    }
    return found;
  };
  if (key == "format") {
    format_ = number();
    if (format_ && *format_ == 0) add(StoreFault::kFormat, place, "the format is 0");
  } else if (key == "time") {
    const auto millis = number();
    if (!millis) return;
    if (*millis > kLastMillis) {
      add(StoreFault::kRowValue, place,
          fmt::format("the time of the last commit is {} ms, after the year 9999", *millis));
      return;
    }
    time_ = from_millis(static_cast<int64_t>(*millis));
  } else if (key == "cursor") {
    const auto cursor = decode(place, value, decode_cursor);
    if (!cursor) return;
    if (cursor->stream_created < 0 || to_millis(cursor->stamped) < 0 ||
        (cursor->stream_created == 0 && cursor->sequence > 0)) {
      add(StoreFault::kRowValue, place,
          fmt::format(
              "the stream of the cursor was created at {}, the sequence is {}, the time is {} ms",
              cursor->stream_created, cursor->sequence, to_millis(cursor->stamped)));
    }
    cursor_ = *cursor;
  } else if (key == "seal") {
    if (!Seal::is_sealed(value)) {
      add(StoreFault::kRowRecord, place, "the row is not sealed");
    } else if (!has_key_ && options_.has_key) {
      add(StoreFault::kStoreKey, place, "the given key does not open the row");
    }
  } else if (key == "store") {
    decode(place, value, decode_store_identity);
  } else if (key == kLogKey) {
    decode(place, value, decode_log_position);
  } else if (key == kCrashRowKey) {
    check_crash_row(place, value);
  } else if (key.starts_with(kCounterKey) && key.size() == kCounterKey.size() + 1 &&
             key.back() >= 'a' && key.back() < 'a' + static_cast<char>(counters_.size())) {
    const auto last = number();
    counters_[index_of(Counter(key.back()))] = last.value_or(UINT64_MAX);
    const bool is_short =
        Counter(key.back()) == Counter::kNamespace || Counter(key.back()) == Counter::kWorkflow;
    const uint64_t most = is_short ? kMostOfShort : kMostOfCounter;
    if (last && *last > most) {
      add(StoreFault::kRowValue, place,
          fmt::format("the counter is at {}, expected at most {}", *last, most));
    }
  } else if (key == "minor") {
    minor_ = number();
  } else if (key == "index") {
    const auto build = decode(place, value, decode_index_build);
    if (build && build->stage == IndexBuild::Stage::kCounted) {
      note_minor(kMinorOfCountedRows, "a build of the index at stage 3");
    }
    if (build && !begins_at_row(view_, *build)) {
      add(StoreFault::kRowValue, place, "the next step would begin at a row that does not exist");
    }
  } else if (key.starts_with(kArchiveKey)) {
    check_archive(place, value);
  } else if (key.starts_with(kStreamKey)) {
    check_stream(place, value);
  } else if (key.starts_with(kRateKey)) {
    check_rate(place, value);
  } else if (key.starts_with(kStartRateKey)) {
    check_start_rate(place, value);
  } else if (key.starts_with(kStartRateEndKey)) {
    check_start_rate_end(place, value);
  } else if (key.starts_with(kStartRatesKey)) {
    check_start_rate_count(place, value);
  } else if (key.starts_with(kPendingStartKey) || key.starts_with(kPendingInputKey)) {
    // check_pending_starts() checks it when the owners of counted rows are known.
  } else if (key.starts_with(kPendingStartAtKey)) {
    check_listed_start(place, value);
  } else if (key.starts_with(kPendingStartsKey)) {
    check_pending_count(place, value);
  } else if (key.starts_with(kReplayKey)) {
    check_replay(place, value);
  } else if (key.starts_with(kSourceKey)) {
    check_source(place, value);
  } else if (key.starts_with(kOriginKey)) {
    check_origin(place, value);
  } else if (key.starts_with(kLeftConsumerKey)) {
    check_left_consumer(place, value);
  } else if (key.starts_with(kAnsweredKey)) {
    check_answers(place, value);
  } else if (key.starts_with(kNodeKey)) {
    check_node(place, value);
  } else if (key.starts_with(kPurgeKey)) {
    check_purge(place, value);
  } else if (key.starts_with(kRetiredKey)) {
    check_retired(place, value);
  } else {
    add(StoreFault::kMetaUnknown, place,
        fmt::format("the key is unknown; its value has {} bytes", value.size()));
  }
}

/// Checks that the minor number allows the rows that note_minor() noted. A store gets the minor
/// number of the release at the start of the server, before any other row is written. A store of an
/// earlier format gets it with the current format.
void Checker::check_minor() {
  if (format_ != kStoreFormat || !minor_) return;
  for (const auto& [rows, least] : of_minor_) {
    if (*minor_ >= least) continue;
    add(StoreFault::kRowValue, {Table::kMeta, "minor"},
        fmt::format("the minor number is {}, but the store has {}, expected at least {}", *minor_,
                    rows, least));
  }
}

void Checker::check_archive(const Place& place, std::string_view value) {
  Reader key(place.key.substr(kArchiveKey.size()));
  const uint32_t number = key.u32();
  if (!key.done() || number == 0) {
    return add(StoreFault::kRowKey, place, "the key is not the number of a namespace");
  }
  archives_.push_back(NamespaceNumber(number));
  decode(place, value, decode_archive);
}

/// Checks that each archive belongs to a namespace.
void Checker::check_archives() {
  for (const NamespaceNumber ns : archives_) {
    const std::string key = std::string(kArchiveKey).append(rows::ns_prefix(ns));
    check_namespace(ns, {Table::kMeta, key});
  }
}

void Checker::check_stream(const Place& place, std::string_view value) {
  Reader key(place.key.substr(kStreamKey.size()));
  const uint32_t number = key.u32();
  if (!key.done() || number == 0) {
    return add(StoreFault::kRowKey, place, "the key is not the number of an event stream");
  }
  streams_.insert(number);
  const auto created = decode(place, value, decode_stream);
  if (created && !stream_times_.insert(*created).second) {
    add(StoreFault::kNumberTwice, place,
        fmt::format("the stream that was created at {} has another number, too", *created));
  }
}

void Checker::check_rate(const Place& place, std::string_view value) {
  const auto ns = namespace_of_rate(place.key);
  if (!ns) return add(StoreFault::kRowKey, place, "the key is not the number of a namespace");
  note_given(Counter::kNamespace, static_cast<uint32_t>(*ns), place);
  note_minor(1, "rows `rate/` of meta");
  decode(place, value, decode_rate_use);  // its time is the broker's, which may differ
}

void Checker::check_replay(const Place& place, std::string_view value) {
  const auto replay = replay_place(place.key);
  if (!replay) return add(StoreFault::kRowKey, place, "the key is not a namespace and an id");
  note_given(Counter::kNamespace, static_cast<uint32_t>(replay->ns), place);
  note_minor(kMinorOfReplays, "rows `replay/` of meta");
  decode(place, value, decode_replay);
}

/// Checks a source. Without the row of its origin stream, none of its events would be applied.
void Checker::check_source(const Place& place, std::string_view value) {
  const auto source = source_place(place.key);
  if (!source) return add(StoreFault::kRowKey, place, "the key is not a namespace and a name");
  note_given(Counter::kNamespace, static_cast<uint32_t>(source->ns), place);
  note_minor(kMinorOfSources, "rows `source/` of meta");
  const auto record = decode(place, value, decode_source);
  if (!record) return;
  const auto origin = read_origin(view_, record->origin);
  if (origin && !*origin) {
    add(StoreFault::kMetaMissing, place, "the row `origin/` of its origin stream is missing");
  }
}

void Checker::check_origin(const Place& place, std::string_view value) {
  if (!origin_place(place.key)) {
    return add(StoreFault::kRowKey, place, "the key is not the place of an origin stream");
  }
  note_minor(kMinorOfSources, "rows `origin/` of meta");
  const auto record = decode(place, value, decode_origin);
  if (record) note_given(Counter::kNamespace, static_cast<uint32_t>(record->ns), place);
}

/// Checks a consumer that must be deleted. Its source need not exist.
void Checker::check_left_consumer(const Place& place, std::string_view value) {
  if (!left_consumer_place(place.key)) {
    return add(StoreFault::kRowKey, place, "the key is not a source and the name of a stream");
  }
  note_minor(kMinorOfLeftConsumers, "rows `left-consumer/` of meta");
  decode(place, value, decode_consumer_name);
}

/// Checks the answers of callbacks. Their tasks have ended, so nothing else names them.
void Checker::check_answers(const Place& place, std::string_view value) {
  const auto answers_of = answers_place(place.key);
  if (!answers_of) return add(StoreFault::kRowKey, place, "the key is not a namespace and a byte");
  note_given(Counter::kNamespace, static_cast<uint32_t>(answers_of->ns), place);
  note_minor(kMinorOfAnswers, "rows `given-answers/` of meta");
  const auto answers = decode(place, value, decode_answers);
  if (!answers) return;
  for (const GivenAnswer& one : *answers) {
    if (one.by != AnsweredBy::kRunner) note_minor(kMinorOfAnswerTimes, "times of given answers");
    if (one.task.bytes.back() == answers_of->last) continue;
    add(StoreFault::kRowValue, place,
        fmt::format("the answer of task {} belongs to another row", to_string(one.task)));
  }
}

/// Checks the crash row. The instance in it need not exist: the active that wrote the row died.
void Checker::check_crash_row(const Place& place, std::string_view value) {
  note_minor(kMinorOfCrashRow, "the row `crash-note` of meta");
  const auto input = decode(place, value, decode_noted_input);
  if (!input || !input->instance) return;
  note_given(Counter::kNamespace, static_cast<uint32_t>(input->instance->ns), place);
}

void Checker::check_node(const Place& place, std::string_view value) {
  if (!node_of_key(place.key)) {
    return add(StoreFault::kRowKey, place, "the key is not the id of a node");
  }
  note_minor(kMinorOfNodes, "rows `node/` of meta");
  decode(place, value, decode_node);
}

/// Checks that the numbers of the event streams have no gap: a new stream gets the next number, and
/// no row is erased. The stream of the cursor need not have the highest number, because the broker
/// may have an earlier stream again.
void Checker::check_stream_numbers() {
  uint32_t next = 1;
  for (const uint32_t number : streams_) {
    if (number != next) {
      Writer key;
      key.raw(kStreamKey);
      key.u32(next);
      add(StoreFault::kMetaMissing, {Table::kMeta, key.view()},
          fmt::format("event stream {} has no row, but event stream {} has one", next, number));
    }
    next = number + 1;
  }
}

}  // namespace millrace
