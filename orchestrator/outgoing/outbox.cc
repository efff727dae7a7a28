#include "orchestrator/outgoing/outbox.h"

#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "cloudevents/subject.h"
#include "orchestrator/outgoing/messages.h"
#include "os/crash_point.h"

namespace millrace {

uint64_t size_of(const OutboxRecord& record) {
  return record.message.subject.size() + record.message.data.size();
}

Outbox::Message Outbox::describe(const OutboxRecord& record) {
  return {.instance = record.instance,
          .bytes = size_of(record),
          .is_event = record.message.subject.starts_with(kEventSubjectPrefix)};
}

Status Outbox::load(const View& view, const OnDamage& damaged) {
  TRY(forget_batch(view, damaged));
  look_from(1);
  has_more_ = false;
  bytes_ = 0;
  return each_outbox(
      view, 0,
      [&](uint64_t number, std::string_view row) -> Result<bool> {
        if (passes_over(number)) return true;
        const OutboxRecord record = TRY(decode_outbox(view, number, row));
        has_more_ = true;
        bytes_ += size_of(record);
        return true;
      },
      damaged);
}

Status Outbox::forget_batch(const View& view, const OnDamage& damaged) {
  again_.reset();
  return kept_.load(view, damaged);
}

Status Outbox::on_ack(Transaction& tx, uint64_t number, const Result<PublishAck>& ack,
                      uint64_t openings, Duration elapsed, OnAck on_ack) {
  const bool too_large = !ack && ack.error().code == kTooLarge;
  uint64_t letter_bytes = 0;
  if (ack) TRY(was_taken(tx, number, ack->sequence, openings, on_ack));
  if (too_large) letter_bytes = TRY(bury(tx, number, ack.error()));
  const auto found = under_way_.find(number);
  if (found == under_way_.end()) return {};  // the result was applied in a lost batch, too
  const Message message = found->second;
  under_way_.erase(found);
  if (!ack && !too_large) {
    failed(number, message.instance, elapsed);
    return {};
  }
  bytes_ -= message.bytes;
  if (letter_bytes > 0) {
    bytes_ += letter_bytes;
    due_.insert(number);
  }
  if (message.instance) line_moves_on(*message.instance);
  return {};
}

Status Outbox::was_taken(Transaction& tx, uint64_t number, uint64_t sequence, uint64_t openings,
                         OnAck on_ack) {
  if (on_ack == OnAck::kErase) {
    erase_outbox(tx, number);
    return {};
  }
  Message message;
  if (const auto found = under_way_.find(number); found != under_way_.end()) {
    message = found->second;
  } else if (const auto record =
                 TRY(read_outbox(tx, number))) {  // the result was applied in a lost batch, too
    message = describe(*record);
  }
  if (message.is_event) {
    kept_.add({.number = number, .sequence = sequence, .bytes = message.bytes}, openings);
  } else {
    erase_outbox(tx, number);
  }
  return {};
}

/// Replaces a message that the broker will never accept: an event by a dead letter with the start
/// of its bytes, and a dead letter by a shorter one. A dead letter without data is erased. Returns
/// the bytes of the replacement.
Result<uint64_t> Outbox::bury(Transaction& tx, uint64_t number, const Error& error) {
  auto record = TRY(read_outbox(tx, number));
  if (!record) return uint64_t{0};
  NatsMessage& message = record->message;
  if (message.subject.starts_with(kEventSubjectPrefix)) {
    spdlog::error("an event is too large for the broker, so a dead letter replaces it: {}",
                  error.message);
    message = too_large_letter(std::move(message), error);
    record->instance.reset();
  } else if (!shorten_letter(message)) {
    spdlog::error(
        "a dead letter is dropped, because even without its data it is too large for the broker: "
        "{}",
        error.message);
    erase_outbox(tx, number);
    return uint64_t{0};
  }
  write_outbox(tx, number, *record);
  return size_of(*record);
}

/// Schedules a failed message again. If a message of the same instance with a lower number was put
/// back, the message with the lower number is sent first.
void Outbox::failed(uint64_t number, const std::optional<InstanceId>& instance, Duration elapsed) {
  if (instance) {
    auto& behind = lines_.at(*instance);
    behind.insert(std::lower_bound(behind.begin(), behind.end(), number), number);
    number = behind.front();
    behind.pop_front();
  }
  failed_.insert(number);
  if (!retry_at_) retry_at_ = elapsed + kRetryDelay;
}

void Outbox::line_moves_on(const InstanceId& instance) {
  const auto line = lines_.find(instance);
  if (line->second.empty()) {
    lines_.erase(line);
    return;
  }
  due_.insert(line->second.front());
  line->second.pop_front();
  --behind_;
}

void Outbox::stream_opened(Transaction& tx, int64_t stream_created, uint64_t intact_to,
                           uint64_t openings) {
  const std::vector<AckedMessages::Message> lost =
      kept_.take_behind(tx, stream_created, intact_to, openings);
  if (lost.empty()) return;
  spdlog::warn("{} messages that the broker had acknowledged and then lost are sent again",
               lost.size());
  if (!again_) again_ = Again{.from = lost.front().number};
  for (const AckedMessages::Message& message : lost) {
    again_->from = std::min(again_->from, message.number);
    again_->bytes += message.bytes;
  }
}

/// Reads the rows from `number` on again, in their order. Messages that were taken but are not in
/// flight are taken again, too, so that no message of an instance overtakes a message that was put
/// back.
void Outbox::look_from(uint64_t number) {
  if (!due_.empty()) number = std::min(number, *due_.begin());
  if (!failed_.empty()) number = std::min(number, *failed_.begin());
  for (const auto& [instance, behind] : lines_) {
    if (!behind.empty()) number = std::min(number, behind.front());
  }
  next_ = std::min(next_, number);
  has_more_ = true;
  due_.clear();
  failed_.clear();
  retry_at_.reset();
  lines_.clear();
  behind_ = 0;

  no_more_ = kept_.numbers_from(next_);
  for (const auto& [sent, message] : under_way_) {
    if (message.instance) lines_.try_emplace(*message.instance);
    no_more_.push_back(sent);
  }
  std::sort(no_more_.begin(), no_more_.end());
}

bool Outbox::passes_over(uint64_t number) const {
  return std::binary_search(no_more_.begin(), no_more_.end(), number);
}

void Outbox::committed(NumberedMessage message, bool sends) {
  bytes_ += size_of(message.record);
  if (!sends || has_more_ || again_ || !has_room()) {
    has_more_ = true;
    return;
  }
  next_ = message.number + 1;
  take(message.number, std::move(message.record));
}

Status Outbox::pump(const View& view, Duration elapsed, const OnDamage& damaged) {
  if (again_) {
    look_from(again_->from);
    bytes_ += again_->bytes;
    again_.reset();
  }
  if (retry_at_ && elapsed >= *retry_at_) {
    due_.merge(failed_);
    retry_at_.reset();
  }
  Portion portion;
  Status done = send_due(view, portion);
  if (!has_more_ || !has_room() || portion.is_spent()) return done;
  has_more_ = false;
  const Status read = each_outbox(
      view, next_,
      [&](uint64_t number, std::string_view row) -> Result<bool> {
        --portion.rows;
        if (!passes_over(number)) {
          OutboxRecord record = TRY(decode_outbox(view, number, row));
          portion.count(record);
          take(number, std::move(record));
        }
        next_ = number + 1;
        has_more_ = !has_room() || portion.is_spent();
        return !has_more_;
      },
      damaged);
  if (!read) has_more_ = true;
  if (!has_more_) no_more_ = {};
  return done ? read : done;
}

void Outbox::Portion::count(const OutboxRecord& record) {
  --messages;
  bytes -= std::min(bytes, size_of(record));
}

/// Sends messages that are due. A message that cannot be read stays due.
Status Outbox::send_due(const View& view, Portion& portion) {
  Status done;
  std::vector<uint64_t> unread;
  while (!due_.empty() && !portion.is_spent()) {
    const uint64_t number = *due_.begin();
    due_.erase(due_.begin());
    auto record = read_outbox(view, number);
    if (record && *record) {
      portion.count(**record);
      send(number, std::move(**record));
      continue;
    }
    --portion.rows;
    Status missing = fail("store.corrupt", "the row of an outbox message is missing");
    if (!record) {  // the next pump() reads it again
      missing = tl::unexpected(record.error());
      unread.push_back(number);
    }
    if (done) done = std::move(missing);
  }
  due_.insert(unread.begin(), unread.end());
  return done;
}

void Outbox::take(uint64_t number, OutboxRecord record) {
  if (record.instance) {
    const auto [line, is_first] = lines_.try_emplace(*record.instance);
    if (!is_first) {
      line->second.push_back(number);
      ++behind_;
      return;
    }
  }
  send(number, std::move(record));
}

void Outbox::send(uint64_t number, OutboxRecord record) {
  crash_point(CrashPoint::kSending);
  under_way_.emplace(number, describe(record));
  publisher_.publish(std::move(record.message), std::bind_front(on_published_, number));
}

}  // namespace millrace
