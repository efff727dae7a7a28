#include "orchestrator/loop/intake.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "orchestrator/outgoing/outbox.h"
#include "os/crash_point.h"

namespace millrace {
namespace {

/// Acknowledgements alone wake the engine thread only when there are this many: fewer do not
/// justify a commit of their own.
constexpr size_t kManyAcks = Outbox::kWindow / 2;

/// About the bytes of memory that the delivery takes besides its fields.
size_t delivery_bytes(const Delivery& delivery) {
  if (const auto* const event = std::get_if<EventInput>(&delivery)) return event->bytes;
  const auto* const unreadable = std::get_if<UnreadableInput>(&delivery);
  if (unreadable == nullptr) return 0;
  size_t bytes = unreadable->message.subject.size() + unreadable->message.data.size();
  for (const auto& [name, value] : unreadable->message.headers) bytes += name.size() + value.size();
  return bytes;
}

}  // namespace

Error stopping() { return {"stopping", "millrace is stopping; try again"}; }

bool makes_room(const Command& command) {
  const auto* const replay = std::get_if<ChangeReplay>(&command);
  return std::holds_alternative<CancelInstance>(command) ||
         std::holds_alternative<DropPendingStarts>(command) ||
         std::holds_alternative<DeleteInstance>(command) ||
         std::holds_alternative<DeleteInstances>(command) ||
         std::holds_alternative<DeleteWorkflow>(command) ||
         std::holds_alternative<DeleteVariable>(command) ||
         std::holds_alternative<DeleteSecret>(command) ||
         std::holds_alternative<DeleteNamespace>(command) ||
         std::holds_alternative<RemoveNode>(command) ||
         std::holds_alternative<PauseInboundWebhook>(command) ||
         std::holds_alternative<DeleteInboundWebhook>(command) ||
         std::holds_alternative<PauseSource>(command) ||
         std::holds_alternative<DeleteSource>(command) ||
         std::holds_alternative<ForgetConsumer>(command) ||
         // A replay publishes nothing new under backpressure, but notes what it has published.
         (replay != nullptr && replay->kind != ChangeReplay::Kind::kBegin);
}

bool Intake::deliver(std::vector<Delivery> deliveries) {
  std::unique_lock guard(lock_);
  if (!refuses_deliveries_) note_changes(deliveries);
  room_came_.wait(guard, [&] { return refuses_deliveries_ || !is_full(); });
  if (refuses_deliveries_) return false;
  const bool was_idle = !has_work();
  for (const Delivery& one : deliveries) bytes_ += delivery_bytes(one);
  std::move(deliveries.begin(), deliveries.end(), std::back_inserter(deliveries_));
  if (was_idle) work_came_.notify_one();
  return true;
}

/// Whether too many deliveries wait, or too many bytes of them.
bool Intake::is_full() const {
  return deliveries_.size() >= limits_.waiting_deliveries || bytes_ >= limits_.waiting_bytes;
}

/// Puts the changes of the stream into their own lane, before there is room for the deliveries:
/// such a change may be what makes room.
void Intake::note_changes(const std::vector<Delivery>& deliveries) {
  for (const Delivery& delivery : deliveries) {
    const auto* const opened = std::get_if<StreamOpened>(&delivery);
    if (opened == nullptr && !std::holds_alternative<StreamLost>(delivery)) continue;
    StreamChange& change = lanes_.stream_changes.emplace_back();
    change.openings = openings_;
    if (opened != nullptr) change.opened = *opened;
    work_came_.notify_one();
  }
}

void Intake::command(Command command, Done done) {
  std::unique_lock guard(lock_);
  std::optional<Error> refused;
  if (closed_) {
    refused = stopping();
  } else if (asked_.size() >= limits_.waiting_commands) {
    refused = {"busy", "too many commands are waiting; try again in a second"};
  } else if (!makes_room(command)) {
    refused = refusal_;
  }
  if (refused) {
    guard.unlock();
    return done(tl::unexpected(std::move(*refused)));
  }
  const uint64_t request = ++last_request_;
  asked_.emplace(request, std::move(done));
  lanes_.commands.push_back({request, std::move(command)});
  work_came_.notify_one();
}

void Intake::answer(uint64_t request, Result<Json> result) {
  Done done;
  {
    const std::lock_guard guard(lock_);
    const auto found = asked_.find(request);
    if (found == asked_.end()) return;
    done = std::move(found->second);
    asked_.erase(found);
  }
  crash_point(CrashPoint::kAnswering);
  done(std::move(result));
  crash_point(CrashPoint::kAnswered);
}

void Intake::wait_for_end(EndWaiter waiter) {
  std::unique_lock guard(lock_);
  if (closed_) {
    guard.unlock();
    return waiter.done(tl::unexpected(stopping()));
  }
  lanes_.waiters.push_back(std::move(waiter));
  work_came_.notify_one();
}

void Intake::ask(IndexQuestion question) {
  std::unique_lock guard(lock_);
  if (!closed_ && questions_.size() < limits_.waiting_questions) {
    questions_.push_back(std::move(question));
    work_came_.notify_one();
    return;
  }
  const Error refused =
      closed_
          ? stopping()
          : Error{"busy", "too many questions about listeners are waiting; try again in a second"};
  guard.unlock();
  question.refuse(refused);
}

void Intake::ask_turn(std::function<void()> answered) {
  const std::lock_guard guard(lock_);
  if (closed_) return;
  turn_question_ = std::move(answered);
  work_came_.notify_one();
}

void Intake::answer_question(const EngineMemory& memory) {
  std::function<void()> turned;
  IndexQuestion first;
  {
    const std::lock_guard guard(lock_);
    turned = std::exchange(turn_question_, nullptr);
    if (!questions_.empty()) {
      first = std::move(questions_.front());
      questions_.pop_front();
      ++answered_questions_;
    }
  }
  if (turned) turned();
  if (first.answer) first.answer(memory);
}

uint64_t Intake::answered_questions() const {
  const std::lock_guard guard(lock_);
  return answered_questions_;
}

void Intake::put(EvaluatedInput input) {
  crash_point(CrashPoint::kEvaluated);
  const std::lock_guard guard(lock_);
  lanes_.evaluated.push_back(std::move(input));
  crash_point(CrashPoint::kResultQueued);
  work_came_.notify_one();
}

void Intake::report(TaskReport report, std::function<void()> stored) {
  crash_point(CrashPoint::kReported);
  const std::lock_guard guard(lock_);
  lanes_.tasks.push_back({std::move(report), std::move(stored)});
  crash_point(CrashPoint::kReportQueued);
  work_came_.notify_one();
}

void Intake::put(WebhookResult result) {
  crash_point(CrashPoint::kDeliveryReported);
  const std::lock_guard guard(lock_);
  lanes_.webhook_results.push_back(std::move(result));
  crash_point(CrashPoint::kDeliveryQueued);
  work_came_.notify_one();
}

void Intake::put(ArchivedPage page) {
  const std::lock_guard guard(lock_);
  lanes_.archived.push_back(std::move(page));
  work_came_.notify_one();
}

void Intake::opening() {
  const std::lock_guard guard(lock_);
  ++openings_;
}

void Intake::acknowledge(uint64_t number, Result<PublishAck> ack) {
  const std::lock_guard guard(lock_);
  lanes_.acks.push_back({number, std::move(ack), openings_});
  if (lanes_.acks.size() == kManyAcks) work_came_.notify_one();
}

Status Intake::takes_new_work() const {
  const std::lock_guard guard(lock_);
  if (refusal_) return tl::unexpected(*refusal_);
  return {};
}

Status Intake::goes_on() const {
  const std::lock_guard guard(lock_);
  if (failure_) return tl::unexpected(*failure_);
  return {};
}

bool Intake::wait_until_quiet(Duration at_most) {
  std::unique_lock guard(lock_);
  return quiet_came_.wait_for(
      guard, at_most, [&] { return !working_ && at_rest_ && !has_work() && lanes_.acks.empty(); });
}

void Intake::refuse_deliveries() {
  const std::lock_guard guard(lock_);
  refuses_deliveries_ = true;
  room_came_.notify_all();
}

void Intake::close() {
  const std::lock_guard guard(lock_);
  closed_ = true;
  refuses_deliveries_ = true;
  work_came_.notify_all();
  room_came_.notify_all();
}

std::vector<Refuse> Intake::abandoned() {
  const std::lock_guard guard(lock_);
  std::vector<Refuse> left;
  for (auto& [request, done] : std::exchange(asked_, {})) {
    left.emplace_back([done = std::move(done)](const Error& why) { done(tl::unexpected(why)); });
  }
  for (EndWaiter& waiter : std::exchange(lanes_.waiters, {})) {
    left.emplace_back(
        [done = std::move(waiter.done)](const Error& why) { done(tl::unexpected(why)); });
  }
  turn_question_ = nullptr;
  for (IndexQuestion& question : std::exchange(questions_, {})) {
    left.push_back(std::move(question.refuse));
  }
  return left;
}

void Intake::set_refusal(const std::optional<Error>& refusal) {
  const std::lock_guard guard(lock_);
  refusal_ = refusal;
}

void Intake::set_applied(const Cursor& cursor) {
  const std::lock_guard guard(lock_);
  applied_ = cursor;
}

Cursor Intake::applied() const {
  const std::lock_guard guard(lock_);
  return applied_;
}

void Intake::set_failure(const std::optional<Error>& failure) {
  const std::lock_guard guard(lock_);
  failure_ = failure;
}

void Intake::gather(Work& work) {
  const std::lock_guard guard(lock_);
  const bool was_full = is_full();
  size_t most =
      std::min(deliveries_.size(),
               limits_.batch_events - std::min(limits_.batch_events, work.deliveries.size()));
  if (refusal_) most = 0;
  size_t bytes = 0;
  for (const Delivery& one : work.deliveries) bytes += delivery_bytes(one);
  size_t count = 0;
  for (; count < most && bytes < limits_.batch_bytes; ++count) {
    const size_t taken = delivery_bytes(deliveries_[count]);
    bytes += taken;
    bytes_ -= taken;
  }
  const auto end = deliveries_.begin() + static_cast<ptrdiff_t>(count);
  std::move(deliveries_.begin(), end, std::back_inserter(work.deliveries));
  deliveries_.erase(deliveries_.begin(), end);
  if (was_full && count > 0) room_came_.notify_all();
  move_all(lanes_.commands, work.commands);
  move_all(lanes_.evaluated, work.evaluated);
  move_all(lanes_.tasks, work.tasks);
  move_all(lanes_.webhook_results, work.webhook_results);
  move_all(lanes_.acks, work.acks);
  move_all(lanes_.stream_changes, work.stream_changes);
  move_all(lanes_.archived, work.archived);
  move_all(lanes_.waiters, work.waiters);
}

bool Intake::has_deliveries() const {
  const std::lock_guard guard(lock_);
  return !deliveries_.empty();
}

bool Intake::has_inputs() const {
  const std::lock_guard guard(lock_);
  return has_steps();
}

/// Whether inputs wait that step instances.
bool Intake::has_steps() const { return (!deliveries_.empty() && !refusal_) || lanes_.size() > 0; }

bool Intake::has_work() const {
  return has_steps() || !questions_.empty() || turn_question_ || !lanes_.webhook_results.empty() ||
         !lanes_.waiters.empty() || !lanes_.stream_changes.empty() || !lanes_.archived.empty() ||
         lanes_.acks.size() >= kManyAcks;
}

bool Intake::sleep(const Sleep& sleep) {
  std::unique_lock guard(lock_);
  working_ = false;
  at_rest_ = sleep.at_rest;
  quiet_came_.notify_all();
  const auto wanted = [&] { return closed_ || (!sleep.through && has_work()); };
  if (!sleep.at_most) {
    work_came_.wait(guard, wanted);
  } else {
    work_came_.wait_for(guard, std::min<Duration>(*sleep.at_most, std::chrono::hours(1)), wanted);
  }
  working_ = true;
  return !closed_;
}

}  // namespace millrace
