#include "orchestrator/service/source_run.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/bytes.h"
#include "cloudevents/subject.h"
#include "model/origin_mark.h"
#include "orchestrator/outgoing/messages.h"
#include "orchestrator/service/awaited_publish.h"
#include "orchestrator/service/event_admission.h"
#include "orchestrator/service/source_origin.h"
#include "orchestrator/store/rows/meta_rows.h"

namespace millrace {
namespace {

/// How long a source waits after an error, or while no further event may be published.
constexpr Duration kAfterSourceError{1'000};
/// How long it waits while too many of its events are not applied.
constexpr Duration kWhileFull{2};
/// How long it waits while too many bytes of it are with the jq workers.
constexpr Duration kWhileMapping{20};
/// One page has at most as many messages as the rate permits in a hundredth of a second.
constexpr uint32_t kSourcePagesInSecond = 100;
/// If no published event is applied for so long, the event stream is asked whether it has them.
constexpr Duration kStalled{2'000};
/// The error of a right that the NATS server does not give millrace.
constexpr std::string_view kNotPermitted = "source.not_permitted";
/// The error of messages that did not reach this process, or of a consumer that is gone.
constexpr std::string_view kInterrupted = "source.interrupted";
/// How many dead letters, and bytes of them, one command makes.
constexpr size_t kMostRefused = 32;
constexpr size_t kMostRefusedBytes = size_t{1} << 20;

/// Slow mappings of a source delay only those of the same source. Workflows have small numbers, and
/// trials the largest one.
uint64_t lane_of_source(const SourceId& source) {
  uint64_t lane = 1;
  for (size_t i = 0; i < sizeof(lane) - 1; ++i) lane = lane << 8 | source[i];
  return lane << 7;
}

}  // namespace

Result<Json> await_command(const SourceParts& parts, Command command) {
  const auto answered = std::make_shared<std::promise<Result<Json>>>();
  std::future<Result<Json>> answer = answered->get_future();
  parts.command(std::move(command),
                [answered](Result<Json> result) { answered->set_value(std::move(result)); });
  return answer.get();
}

SourceFigures SourceFigures::past() const {
  SourceFigures past = *this;
  past.is_read = false;
  past.lag.reset();
  past.waits.reset();
  return past;
}

SourceRun::SourceRun(const SourceParts& parts, SourcePlace place, std::string ns,
                     std::optional<SourceConsumer> consumer)
    : parts_(parts), place_(std::move(place)), ns_(std::move(ns)), consumer_(std::move(consumer)) {}

SourceFigures SourceRun::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

void SourceRun::note(const std::function<void(SourceFigures& figures)>& change) {
  const std::lock_guard lock(mutex_);
  change(figures_);
}

/// Adds the number to the figure, and to the total of all sources.
void SourceRun::count(uint64_t SourceFigures::*figure, std::atomic<uint64_t> SourceTotals::*total,
                      uint64_t number) {
  note([&](SourceFigures& figures) { figures.*figure += number; });
  if (parts_.totals != nullptr) parts_.totals->*total += number;
}

void SourceRun::notice(const Error& what) {
  spdlog::warn("source {} of namespace {}: {}", place_.name, ns_, what.message);
  note([&](SourceFigures& figures) { figures.notice = what; });
}

/// Passes refused messages to the engine, some in each command.
Status SourceRun::refuse(std::vector<RefusedMessage> messages) {
  size_t next = 0;
  while (next < messages.size()) {
    RefuseMessages command{.ns = ns_, .name = place_.name, .origin = origin_, .messages = {}};
    size_t bytes = 0;
    while (next < messages.size() && command.messages.size() < kMostRefused &&
           bytes < kMostRefusedBytes) {
      bytes += messages[next].message.data.size();
      command.messages.push_back(std::move(messages[next++]));
    }
    TRY(await_command(parts_, std::move(command)));
  }
  return {};
}

/// Ends reading. What is published stays in the event stream; the rest is read again.
void SourceRun::close() {
  reader_.reset();
  prepared_.clear();
  sent_.reset();
  published_.clear();
  published_bytes_ = 0;
  unacknowledged_.clear();
}

Duration SourceRun::turn() {
  Result<Duration> wait = advance();
  const auto pending = reader_ == nullptr ? std::nullopt : reader_->pending();
  note([&](SourceFigures& figures) {
    figures.waits = wait ? held_ : std::optional(wait.error());
    // What is done without the right, such as acknowledgements, fails again and again, and between
    // two failures the stream is read.
    if (!wait && wait.error().code == kNotPermitted) figures.notice = wait.error();
    if (!wait && wait.error().code == kInterrupted) {
      ++figures.interrupted;
      // What was lost is of more interest.
      if (!figures.notice) figures.notice = wait.error();
    }
    figures.is_read = reader_ != nullptr;
    figures.position = position_;
    figures.lag = pending ? std::optional(*pending + prepared_.size() + unapplied()) : std::nullopt;
  });
  log_change(wait ? Status() : Status(tl::unexpected(wait.error())));
  if (wait) return *wait;
  close();
  return kAfterSourceError;
}

/// Logs why the source is not read, once for each reason, and that it is read again.
void SourceRun::log_change(const Status& status) {
  if (!status) {
    const std::string before = std::exchange(logged_, status.error().message);
    if (before == logged_) return;
    spdlog::warn("source {} of namespace {} is not read: {}", place_.name, ns_, logged_);
  } else if (reader_ != nullptr && !logged_.empty()) {
    logged_.clear();
    spdlog::info("source {} of namespace {} is read again", place_.name, ns_);
  }
}

Result<Duration> SourceRun::advance() {
  std::optional<Rows> rows = TRY(rows_to_read());
  if (!rows) return kAfterSourceError;
  TRY(take_settings(*rows));
  if (has_other_consumer_) return kAfterSourceError;
  if (reader_ == nullptr && !TRY(open(*rows))) return Duration(0);
  acknowledge_applied(*rows);
  if (!TRY(forget_applied(*rows))) return Duration(0);
  if (prepared_.empty()) {
    const Duration wait = TRY(read_page(*rows));
    if (wait > Duration(0)) {
      TRY(take_acks());
      return wait;
    }
  }
  map_prepared();
  TRY(take_acks());
  // A pause, or other settings, may have been answered meanwhile: then none of these messages is
  // published as it is prepared, and they are read again.
  rows = TRY(rows_to_read());
  if (!rows) return kAfterSourceError;
  if (!has_settings_of(*rows)) {
    close();
    return Duration(0);
  }
  if (!prepared_.empty() && !prepared_.front().event) return kWhileMapping;
  return TRY(publish(*rows, ready())) ? Duration(0) : kAfterSourceError;
}

/// nullopt: the source was deleted or is paused, so its reader is closed.
Result<std::optional<SourceRun::Rows>> SourceRun::rows_to_read() {
  std::optional<Rows> rows = TRY(read_rows());
  if (rows && !rows->source.is_paused) return rows;
  close();
  return std::optional<Rows>();
}

/// nullopt: the source was deleted.
Result<std::optional<SourceRun::Rows>> SourceRun::read_rows() const {
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  auto source = TRY(read_source(view, place_));
  if (!source) return std::optional<Rows>();
  auto origin = TRY(read_origin(view, source->origin));
  if (!origin) {
    return fail("store.damaged_row",
                "the row `origin/` of the source is missing; delete the source and apply it again");
  }
  return std::optional(Rows{.source = *std::move(source),
                            .origin = *std::move(origin),
                            .cursor = TRY(read_cursor(view))});
}

bool SourceRun::has_settings_of(const Rows& rows) const {
  return rows.source.settings == settings_text_ && rows.source.origin == origin_;
}

/// New settings count from the next message on.
Status SourceRun::take_settings(const Rows& rows) {
  if (has_settings_of(rows)) return {};
  close();
  settings_ = TRY(read_source_settings(rows.source.settings));
  settings_text_ = rows.source.settings;
  has_other_consumer_ = consumer_of(ns_, place_, rows.source) != consumer_;
  stream_ = origin_name(parts_.origins, ns_, place_.name, settings_);
  mapping_ = {.mapping = shared_mapping(settings_),
              .stream = stream_,
              .source = source_attribute(ns_, place_.name),
              .lane = lane_of_source(rows.source.origin.source),
              .space = static_cast<uint64_t>(place_.ns)};
  if (origin_ != rows.source.origin) {
    gone_to_ = 0;
    gaps_.clear();
  }
  origin_ = rows.source.origin;
  return {};
}

/// Forgets the published events that are applied. Returns false if the event stream has lost one
/// that is not: then the origin stream is read again.
Result<bool> SourceRun::forget_applied(const Rows& rows) {
  if (event_stream_ == 0) event_stream_ = rows.cursor.stream_created;
  if (published_.empty()) progress_at_ = parts_.clock.now();
  while (!published_.empty() && rows.origin.applied.has(published_.front().sequence)) {
    published_bytes_ -= published_.front().bytes;
    published_.pop_front();
    progress_at_ = parts_.clock.now();
  }
  if (!TRY(is_lost(rows))) return true;
  ++attempt_;
  count(&SourceFigures::lost_events, &SourceTotals::lost_events);
  notice({"source.lost_events",
          fmt::format("the event stream has lost the event of message {}; the messages from {} on "
                      "are read again",
                      published_.front().sequence, rows.origin.applied.floor() + 1)});
  close();
  return false;
}

/// Whether the oldest published event is lost: the engine is behind it and has not applied it, or
/// the event stream does not reach to it any more.
Result<bool> SourceRun::is_lost(const Rows& rows) {
  if (published_.empty()) return false;
  const uint64_t event = published_.front().event;
  if (rows.cursor.stream_created != event_stream_ || rows.cursor.sequence >= event) return true;
  const TimePoint now = parts_.clock.now();
  if (now >= progress_at_ && now - progress_at_ < kStalled) return false;
  progress_at_ = now;
  const StreamSpan span = TRY(parts_.events.span());
  return span.created != event_stream_ || span.last < event;
}

/// How many events are published, and not applied as far as is known.
size_t SourceRun::unapplied() const { return published_.size() + (sent_ ? sent_->page.size() : 0); }

/// How many events may be published and not applied now.
size_t SourceRun::most_now() const {
  const bool has_others = others_at_ && parts_.clock.now() - *others_at_ < kOthersCount;
  return has_others ? kLeastUnapplied : most_unapplied(settings_.rate);
}

size_t SourceRun::room() const {
  if (published_bytes_ + (sent_ ? sent_->bytes : 0) >= kMostUnappliedBytes) return 0;
  const size_t most = most_now();
  return most - std::min(most, unapplied());
}

/// Reads the next page, as much as the rate and the events that are not applied permit. Returns how
/// long to wait until something may be read.
Result<Duration> SourceRun::read_page(const Rows& rows) {
  const TimePoint now = parts_.clock.now();
  if (due_ > now + Duration(1'000)) due_ = now;  // the clock was set back
  if (due_ > now) return due_ - now;
  // A half, so that a page is mapped while the one before is published.
  const size_t page = std::clamp<size_t>(settings_.rate / kSourcePagesInSecond, 1, most_now() / 2);
  const size_t most = std::min(room(), page);
  if (most == 0) return kWhileFull;
  // What is sent has its acknowledgements soon.
  const Duration patience = sent_ ? Duration(0) : parts_.patience;
  std::vector<OriginMessage> messages = TRY(reader_->read(most, patience));
  for (OriginMessage& message : messages) {
    if (is_of_rolled_back_queue(rows, message)) {
      TRY(move_to_all(rows));
      return Duration(0);
    }
    if (must_prepare(rows, message)) prepared_.push_back(prepared(std::move(message)));
  }
  TRY(check_gaps());
  due_ = now + Duration(prepared_.size() * 1'000 / settings_.rate);
  return Duration(0);
}

/// Whether the message has the sequence of one that was applied, but was stored later than all that
/// were: then the consumed stream was rolled back and has grown since.
bool SourceRun::is_of_rolled_back_queue(const Rows& rows, const OriginMessage& message) const {
  return settings_.consume && rows.origin.applied.has(message.sequence) &&
         message.stamped > rows.origin.stamped;
}

/// Notes that the message must be acknowledged, if that is so. Returns whether it has to be
/// published: a message of a consumed stream is read again if it was applied and the
/// acknowledgement was lost, or after the broker has waited too long for that.
bool SourceRun::must_prepare(const Rows& rows, const OriginMessage& message) {
  if (!settings_.consume) return true;
  if (!message.reply.empty() && unacknowledged_.size() < kMostUnacknowledged) {
    unacknowledged_.push_back({.sequence = message.sequence, .reply = message.reply});
  }
  if (message.sequence <= position_) return false;
  if (!rows.origin.applied.has(message.sequence)) return true;
  position_ = message.sequence;
  return false;
}

/// Acknowledges the messages of a consumed stream that are applied as of the commit of `rows`.
void SourceRun::acknowledge_applied(const Rows& rows) {
  std::vector<std::string> replies;
  std::erase_if(unacknowledged_, [&](Unacknowledged& one) {
    if (!rows.origin.applied.has(one.sequence)) return false;
    replies.push_back(std::move(one.reply));
    return true;
  });
  if (!replies.empty()) reader_->acknowledge(replies);
}

SourceRun::Prepared SourceRun::prepared(OriginMessage message) {
  note_gap(message.sequence);
  const uint64_t previous = std::exchange(position_, message.sequence);
  return {.previous = previous, .message = std::move(message)};
}

/// The evaluator; what waits for it counts in mapped_bytes_.
Evaluator SourceRun::counted() const {
  if (!parts_.evaluate) return nullptr;
  return [&evaluate = parts_.evaluate, waiting = mapped_bytes_](
             Evaluation evaluation, std::function<void(EvaluationResult)> done) {
    const size_t bytes = input_bytes(evaluation);
    *waiting += bytes;
    evaluate(std::move(evaluation),
             [waiting, bytes, done = std::move(done)](EvaluationResult results) {
               *waiting -= bytes;
               done(std::move(results));
             });
  };
}

/// Asks for the events of what is prepared, of as much as may wait for jq workers.
void SourceRun::map_prepared() {
  const Evaluator evaluate = counted();
  for (Prepared& one : prepared_) {
    if (one.event) continue;
    if (*mapped_bytes_ >= kMostMappedBytes) return;
    one.event = make_event(mapping_, one.message, parts_.clock.now(), evaluate);
  }
}

/// How many of the first messages have become events or dead letters. Waits for the first one, as
/// long as for messages.
size_t SourceRun::ready() const {
  if (prepared_.empty()) return 0;
  prepared_.front().event->wait_until(std::chrono::steady_clock::now() + parts_.patience);
  const auto first = std::find_if_not(prepared_.begin(), prepared_.end(),
                                      [](const Prepared& one) { return one.is_ready(); });
  return static_cast<size_t>(first - prepared_.begin());
}

/// The event of the message as it is published, with its mark.
NatsMessage SourceRun::event_of(const Prepared& one, const Event& event) const {
  const std::string_view key = parts_.environment.seal().message_key();
  NatsMessage published = event_message(ns_, event);
  published.headers.emplace_back("Nats-Msg-Id",
                                 origin_message_id(key, origin_, one.message.sequence, attempt_));
  mark_origin(key, ns_,
              {.origin = origin_,
               .previous = one.previous,
               .sequence = one.message.sequence,
               .stamped = one.message.stamped},
              published);
  return published;
}

/// Publishes the first `count` of what is prepared, or as much of it as the quota permits, and does
/// not wait: take_acks() does. Returns false if nothing more may be published now.
Result<bool> SourceRun::publish(const Rows& rows, size_t count) {
  while (count > 0) {
    Status admitted = parts_.admit(ns_, count);
    if (admitted) break;
    if (admitted.error().code != kOverRate || count == 1) {
      held_ = admitted.error();
      return false;
    }
    count /= 2;
  }
  held_.reset();
  if (count == 0) return true;
  if (published_.empty()) event_stream_ = rows.cursor.stream_created;
  Sent sent;
  std::vector<NatsMessage> messages;
  for (size_t i = 0; i < count; ++i) {
    Prepared one = std::move(prepared_.front());
    prepared_.pop_front();
    const Result<Event> event = one.event->take();
    if (event) {
      messages.push_back(event_of(one, *event));
      sent.sizes.push_back(messages.back().data.size());
      sent.bytes += sent.sizes.back();
      sent.page.push_back(std::move(one));
    } else if (event.error().code == kNoJqWorker) {
      return tl::unexpected(event.error());
    } else {
      sent.refused.push_back(refused(std::move(one), event.error()));
    }
  }
  const bool is_careful = careful_ > 0;
  careful_ -= std::min(careful_, messages.size());
  sent.acks.emplace(parts_.publisher, std::move(messages), is_careful ? Acks::kEach : Acks::kLast);
  sent_ = std::move(sent);
  if (sent_->acks->is_over()) TRY(take_acks());
  return true;
}

RefusedMessage SourceRun::refused(Prepared one, const Error& reason) {
  return {.previous = one.previous,
          .sequence = one.message.sequence,
          .stamped = one.message.stamped,
          .reason = reason,
          .message = std::move(one.message.message)};
}

/// Notes whether other events came among the last `count` ones that were published, of which the
/// newest has the sequence `last`.
void SourceRun::note_others(uint64_t last, size_t count) {
  const uint64_t before = std::exchange(last_event_, last);
  if (before != 0 && last > before + count) others_at_ = parts_.clock.now();
}

/// Waits until what is sent is acknowledged, and makes dead letters of what cannot be published.
/// After an error the origin stream must be read again.
Status SourceRun::take_acks() {
  if (!sent_) return {};
  Sent sent = *std::move(sent_);
  sent_.reset();
  std::optional<Error> failure;
  const auto acks = std::move(*sent.acks).wait();
  for (size_t i = 0; i < acks.size(); ++i) {
    Prepared& one = sent.page[i];
    if (acks[i]) {
      published_.push_back(
          {.sequence = one.message.sequence, .event = acks[i]->sequence, .bytes = sent.sizes[i]});
      published_bytes_ += sent.sizes[i];
    } else if (acks[i].error().code == kTooLarge) {
      sent.refused.push_back(refused(std::move(one), acks[i].error()));
    } else if (!failure) {
      failure = acks[i].error();
    }
  }
  if (failure) return tl::unexpected(*failure);
  if (!acks.empty() && acks.back()) note_others(acks.back()->sequence, acks.size());
  return refuse(std::move(sent.refused));
}

}  // namespace millrace
