#include "broker/task_book.h"

#include <algorithm>
#include <string>
#include <utility>

#include "cloudevents/headers.h"
#include "model/call_limit.h"

namespace millrace {
namespace {

/// Limits for workers' acknowledgements of a message that the stream has not acknowledged to us
/// yet: the number of messages, the words for each message, and how long they are stored. The words
/// must be limited because other clients may use the stream too, and the words for their messages
/// are never used.
constexpr size_t kMostEarly = 16'384;
constexpr size_t kMostEarlyWords = 8;
constexpr Duration kEarlyKept{10'000};

uint64_t message_bytes(const NatsMessage& message) {
  return message.subject.size() + message.data.size();
}

TaskReport unavailable(const InstanceId& task, std::string why) {
  return {task, TaskEnded{.result = tl::unexpected<Error>(
                              Error{std::string(kFunctionUnavailable), std::move(why)})}};
}

}  // namespace

void TaskBook::add(const InstanceId& task, std::string_view ns, bool queued, NatsMessage message,
                   std::optional<Duration> limit, bool inherited) {
  const auto [at, is_new] = tasks_.try_emplace(task);
  if (!is_new) return;
  const auto [subject, is_new_subject] =
      subjects_.try_emplace(queued ? message.subject : std::string());
  if (queued && is_new_subject) subject->second.consumer = task_consumer(message.subject);
  at->second.subject = subject;
  at->second.ns = spaces_.try_emplace(std::string(ns)).first;
  at->second.may_answer_later = find_header(message.headers, kCallbackHeader) != nullptr;
  set_message(at->second, std::move(message));
  at->second.queued = queued;
  at->second.limit = limit;
  at->second.inherited = inherited;
  if (!queued) return add_call(task, at->second);
  queue_.push_back(task);
}

/// Gives a task the message that has to be sent.
void TaskBook::set_message(Entry& entry, NatsMessage message) {
  entry.ns->second.unsent_bytes += message_bytes(message);
  ++unsent_;
  entry.message = std::make_shared<const NatsMessage>(std::move(message));
}

void TaskBook::stop(const InstanceId& task) {
  const auto at = tasks_.find(task);
  if (at == tasks_.end() || at->second.standing == Standing::kStopped) return;
  Entry& entry = at->second;
  const bool has_left = entry.message == nullptr || entry.sent || doubts_.contains(task);
  if (has_left && entry.standing != Standing::kAnswered) stops_.push_back(task);
  if (entry.queued && entry.message != nullptr && entry.sent) {
    entry.standing = Standing::kStopped;  // stored() will give its sequence soon
    return;
  }
  if (entry.sequence != 0 && !entry.gone) deletes_.push_back(entry.sequence);
  forget(at);
}

bool TaskBook::has_mail(bool with_stream) const {
  if (!stops_.empty() || !calls_.empty()) return true;
  if (!with_stream) return false;
  return !deletes_.empty() || doubts_.has_question() ||
         (!queue_.empty() && unacknowledged_ < settings_.most_unacknowledged);
}

TaskMail TaskBook::take_mail(bool with_stream, size_t most, Time now) {
  TaskMail mail;
  mail.stops.swap(stops_);
  if (with_stream) mail.deletes.swap(deletes_);
  const auto take = [&](std::deque<InstanceId>& from) {
    const InstanceId task = from.front();
    from.pop_front();
    const auto at = tasks_.find(task);
    if (at == tasks_.end() || at->second.message == nullptr || at->second.sent) return;
    Entry& entry = at->second;
    entry.sent = true;
    if (entry.queued) {
      ++unacknowledged_;
      check_started(task, entry, now + settings_.ack_timeout);
    }
    mail.messages.push_back({task, entry.queued, entry.message, doubts_.contains(task)});
  };
  while (!calls_.empty() && mail.messages.size() < most) take(calls_);
  if (!with_stream) return mail;
  const auto has_space = [&] { return mail.messages.size() + mail.questions.size() < most; };
  // Questions come first: there are few of them, and messages may wait without end.
  while (has_space()) {
    std::optional<TaskQuestion> question = doubts_.open_next();
    if (!question) break;
    Entry& entry = tasks_.at(question->task);
    question->ns = entry.ns->first;
    check_started(question->task, entry, now + settings_.ack_timeout);
    mail.questions.push_back(*std::move(question));
  }
  while (!queue_.empty() && has_space() && unacknowledged_ < settings_.most_unacknowledged) {
    take(queue_);
  }
  return mail;
}

/// The broker has the message: its bytes are not needed any more.
void TaskBook::have_sent(Entry& entry) {
  if (entry.message == nullptr) return;
  --unsent_;
  entry.ns->second.unsent_bytes -= message_bytes(*entry.message);
  if (entry.queued && entry.sent) --unacknowledged_;
  entry.message.reset();
}

void TaskBook::not_sent(TaskMail mail) {
  deletes_.insert(deletes_.end(), mail.deletes.begin(), mail.deletes.end());
  stops_.insert(stops_.end(), mail.stops.begin(), mail.stops.end());
}

std::optional<TaskReport> TaskBook::delivered(const InstanceId& task, Time now) {
  const auto at = tasks_.find(task);
  if (at == tasks_.end() || at->second.started) return std::nullopt;
  have_sent(at->second);
  has_started(at->second);
  if (at->second.limit) check_started(task, at->second, now + *at->second.limit);
  return TaskReport{task, TaskStarted{}};
}

void TaskBook::send_again(const InstanceId& task) {
  const auto at = tasks_.find(task);
  if (at == tasks_.end()) return;
  Entry& entry = at->second;
  if (entry.message == nullptr || !entry.sent) return;
  if (entry.standing != Standing::kWanted) {
    // It is not known whether the stream has the message, so it is neither sent again nor deleted.
    forget(at);
    return;
  }
  entry.sent = false;
  if (entry.queued) --unacknowledged_;
  (entry.queued ? queue_ : calls_).push_back(task);
}

void TaskBook::link_lost() {
  for (auto at = tasks_.begin(); at != tasks_.end();) {
    const InstanceId task = at->first;
    ++at;  // send_again() may erase the entry
    send_again(task);
  }
  doubts_.ask_open_again();
  early_.clear();
  early_in_order_.clear();
}

std::vector<TaskReport> TaskBook::stored(const InstanceId& task, const PublishAck& ack, Time now) {
  const auto at = tasks_.find(task);
  if (at == tasks_.end() || !at->second.queued || at->second.sequence != 0) return {};
  if (doubts_.is_of_first_message(task, ack)) return {};
  doubts_.drop(task);
  std::vector<TaskReport> reports;
  if (!ack.duplicate && ack.sequence <= newest_) {
    reports = lost(ack.sequence, newest_);
    newest_ = ack.sequence;
  }
  newest_ = std::max(newest_, ack.sequence);

  Entry& entry = at->second;
  entry.sequence = ack.sequence;
  by_sequence_[ack.sequence] = task;
  entry.subject->second.not_started[ack.sequence] = task;
  if (const auto early = early_.find(ack.sequence); early != early_.end()) {
    for (const auto& [consumer, word] : early->second.words) {
      if (consumer != entry.subject->second.consumer) continue;
      if (std::optional<TaskReport> report = apply(task, entry, word, now)) {
        reports.push_back(*std::move(report));
      }
    }
  }
  // The broker acknowledges new messages in the order of their sequences. So the words of workers
  // about messages up to newest_ do not wait for an acknowledgement any more.
  early_.erase(early_.begin(), early_.upper_bound(newest_));
  if (early_.empty()) early_in_order_.clear();
  if (entry.inherited && ack.duplicate && entry.standing == Standing::kWanted && !entry.started) {
    doubts_.add(task, entry.sequence, entry.message);
    entry.subject->second.not_started.erase(entry.sequence);
  }
  have_sent(entry);
  take_from_stream(at, now);
  return reports;
}

void TaskBook::found(const InstanceId& task, TaskQuestion::About about, bool is_there, Time now) {
  if (!doubts_.close(task, about)) return;
  Entry& entry = tasks_.at(task);
  if (about == TaskQuestion::About::kMessage && is_there) {
    doubts_.drop(task);  // a worker has the task, or will get it
    entry.subject->second.not_started[entry.sequence] = task;
  } else if (about == TaskQuestion::About::kAnswer && !is_there) {
    deliver_again(task, entry);
  } else {
    // An answer that is in its stream will be read; then the task is not doubtful any more. Without
    // an answer, the worker that removed the message may send one soon.
    entry.gone = true;
    doubts_.message_is_gone(task);
    check_started(task, entry, now + settings_.grace);
  }
}

/// Sends a doubtful task to the workers once more, under another Nats-Msg-Id: the stream takes it
/// as a new message.
void TaskBook::deliver_again(const InstanceId& task, Entry& entry) {
  forget_sequence(task, entry);
  set_message(entry, sent_again(*doubts_.send_again(task), settings_.folder));
  entry.sequence = 0;
  entry.sent = false;
  entry.gone = false;
  entry.inherited = false;
  queue_.push_back(task);
}

/// Handles a task that is over and whose sequence in the stream is known: its message has to be
/// deleted.
void TaskBook::take_from_stream(Tasks::iterator at, Time now) {
  Entry& entry = at->second;
  if (entry.standing == Standing::kStopped && !entry.gone) deletes_.push_back(entry.sequence);
  if (entry.standing == Standing::kStopped ||
      (entry.standing == Standing::kAnswered && entry.gone)) {
    forget(at);
  } else if (entry.standing == Standing::kAnswered) {
    check_started(at->first, entry,
                  now + settings_.grace);  // usually the worker acknowledges the message by then
  }
}

std::vector<TaskReport> TaskBook::lost(uint64_t first, uint64_t last) {
  std::vector<TaskReport> reports;
  std::erase_if(deletes_, [&](uint64_t gone) { return gone >= first && gone <= last; });
  for (auto at = tasks_.begin(); at != tasks_.end();) {
    const Entry& entry = at->second;
    if (entry.sequence == 0 || entry.sequence < first || entry.sequence > last) {
      ++at;
      continue;
    }
    if (entry.standing == Standing::kWanted || entry.standing == Standing::kRefused) {
      reports.push_back(unavailable(at->first, "the broker has lost the task"));
    }
    at = forget(at);
  }
  return reports;
}

std::optional<TaskReport> TaskBook::heard(std::string_view consumer, uint64_t sequence,
                                          AckWord word, Time now) {
  const auto found = by_sequence_.find(sequence);
  if (found == by_sequence_.end()) {
    if (unacknowledged_ > 0 && sequence > newest_) keep_early(consumer, sequence, word, now);
    return std::nullopt;
  }
  const auto at = tasks_.find(found->second);
  if (consumer != at->second.subject->second.consumer) return std::nullopt;
  std::optional<TaskReport> report = apply(at->first, at->second, word, now);
  doubts_.drop(at->first);  // this worker will send its answer to this process
  if (at->second.standing == Standing::kAnswered && at->second.gone) forget(at);
  return report;
}

void TaskBook::keep_early(std::string_view consumer, uint64_t sequence, AckWord word, Time now) {
  forget_early(now - kEarlyKept);
  while (early_.size() >= kMostEarly && !early_.contains(sequence)) {
    forget_early(early_in_order_.front().first);
  }
  const auto [at, is_new] = early_.try_emplace(sequence, Early{.since = now, .words = {}});
  if (is_new) early_in_order_.emplace_back(now, sequence);
  auto& words = at->second.words;
  std::pair<std::string, AckWord> said(consumer, word);
  if (words.size() >= kMostEarlyWords) return;
  if (std::find(words.begin(), words.end(), said) == words.end()) words.push_back(std::move(said));
}

/// Drops the words for messages whose first word came at that time or before.
void TaskBook::forget_early(Time before) {
  while (!early_in_order_.empty() && early_in_order_.front().first <= before) {
    const auto [since, sequence] = early_in_order_.front();
    early_in_order_.pop_front();
    const auto at = early_.find(sequence);
    if (at != early_.end() && at->second.since == since) early_.erase(at);
  }
}

std::optional<TaskReport> TaskBook::apply(const InstanceId& task, Entry& entry, AckWord word,
                                          Time now) {
  if (word == AckWord::kDone || word == AckWord::kTerm) entry.gone = true;
  if (entry.standing != Standing::kWanted) return std::nullopt;
  if (word == AckWord::kNak || word == AckWord::kTerm) {
    entry.standing = Standing::kRefused;
    check_started(task, entry, now + settings_.grace);
    return std::nullopt;
  }
  entry.heard_at = now;
  if (!entry.started) {
    has_started(entry);
    return TaskReport{task, TaskStarted{}};
  }
  if (entry.reported_at && now - *entry.reported_at < settings_.heartbeat_each) return std::nullopt;
  entry.reported_at = now;
  return TaskReport{task, TaskHeartbeat{}};
}

bool TaskBook::ask(const InstanceId& task, Time now) {
  const auto at = tasks_.find(task);
  if (at == tasks_.end()) return false;
  Entry& entry = at->second;
  const bool may_be_a_workers = entry.queued && (entry.message == nullptr || entry.sent);
  if (entry.started || !may_be_a_workers) return entry.started;
  entry.asked_until = now + settings_.look_timeout;
  asked_.insert(task);
  asked_until_.emplace_back(*entry.asked_until, task);
  return true;
}

TaskBook::Asked TaskBook::take_asked() {
  Asked by_subject;
  std::erase_if(asked_, [&](const InstanceId& task) {
    const auto at = tasks_.find(task);
    if (at == tasks_.end() || !at->second.asked_until) return true;
    // The task stays until the stream has acknowledged it, and until it is known whether the stream
    // has its message.
    if (at->second.sequence == 0 || doubts_.is_message_unknown(task)) return false;
    by_subject[at->second.subject->first].push_back(task);
    return true;
  });
  return by_subject;
}

std::vector<TaskReport> TaskBook::not_started(const std::vector<InstanceId>& tasks) {
  std::vector<TaskReport> reports;
  for (const InstanceId& task : tasks) {
    const auto at = tasks_.find(task);
    if (at == tasks_.end() || !std::exchange(at->second.asked_until, std::nullopt)) continue;
    reports.push_back({task, TaskNotStarted{}});
  }
  return reports;
}

void TaskBook::has_started(Entry& entry) {
  entry.started = true;
  entry.asked_until.reset();
  entry.subject->second.not_started.erase(entry.sequence);
}

std::vector<TaskReport> TaskBook::given_out(const std::string& subject, uint64_t sequence) {
  std::vector<TaskReport> reports;
  const auto found = subjects_.find(subject);
  if (found == subjects_.end()) return reports;
  auto& waiting = found->second.not_started;
  while (!waiting.empty() && waiting.begin()->first <= sequence) {
    const InstanceId task = waiting.begin()->second;
    has_started(tasks_.at(task));
    reports.push_back({task, TaskStarted{}});
  }
  return reports;
}

bool TaskBook::waits_for_workers() const {
  return std::any_of(subjects_.begin(), subjects_.end(),
                     [](const auto& one) { return !one.second.not_started.empty(); });
}

std::vector<std::string> TaskBook::waiting_subjects() const {
  std::vector<std::string> subjects;
  for (const auto& [name, subject] : subjects_) {
    if (!subject.not_started.empty()) subjects.push_back(name);
  }
  return subjects;
}

bool TaskBook::answered(const InstanceId& task, const std::optional<std::string>& ns, Time now) {
  const auto at = tasks_.find(task);
  if (at == tasks_.end() || (ns && *ns != at->second.ns->first)) return false;
  Entry& entry = at->second;
  const bool waited_for =
      entry.standing == Standing::kWanted || entry.standing == Standing::kRefused;
  if (entry.standing != Standing::kStopped) entry.standing = Standing::kAnswered;
  if (entry.sequence != 0) {
    doubts_.drop(task);
    take_from_stream(at, now);
  } else if (!entry.queued || !entry.sent) {
    forget(at);
  }
  return waited_for;
}

bool TaskBook::failed(const InstanceId& task) {
  const auto at = tasks_.find(task);
  if (at == tasks_.end()) return false;
  const bool waited_for = at->second.standing == Standing::kWanted;
  forget(at);
  return waited_for;
}

std::vector<TaskReport> TaskBook::elapse(Time now) {
  forget_early(now - kEarlyKept);
  // Tasks about which the broker has not answered: they count as not started.
  std::vector<InstanceId> unknown;
  while (!asked_until_.empty() && asked_until_.front().first <= now) {
    const auto [until, task] = asked_until_.front();
    asked_until_.pop_front();
    const auto at = tasks_.find(task);
    if (at != tasks_.end() && at->second.asked_until == until) unknown.push_back(task);
  }
  std::vector<TaskReport> reports = not_started(unknown);
  while (!looks_.empty() && looks_.begin()->first <= now) {
    const InstanceId task = looks_.begin()->second;
    looks_.erase(looks_.begin());
    const auto at = tasks_.find(task);
    if (at == tasks_.end() || at->second.look_at > now) continue;
    Entry& entry = at->second;
    if (entry.message != nullptr) {
      if (entry.sent) send_again(task);
      continue;
    }
    if (entry.standing == Standing::kWanted && entry.limit) {
      reports.push_back(
          {task, TaskEnded{.result = tl::unexpected(call_limit_error(*entry.limit))}});
      stops_.push_back(task);
      forget(at);
      continue;
    }
    if (entry.standing == Standing::kWanted) {
      doubts_.ask(task);
      continue;
    }
    if (entry.standing == Standing::kRefused) {
      reports.push_back(unavailable(task, "a worker gave the task back without an answer"));
    }
    if (!entry.gone) deletes_.push_back(entry.sequence);
    forget(at);
  }
  return reports;
}

std::optional<TaskBook::Time> TaskBook::next_time() const {
  std::optional<Time> next;
  if (!looks_.empty()) next = looks_.begin()->first;
  if (!asked_until_.empty()) {
    next = std::min(next.value_or(asked_until_.front().first), asked_until_.front().first);
  }
  return next;
}

void TaskBook::check_started(const InstanceId& task, Entry& entry, Time when) {
  entry.look_at = when;
  looks_.emplace(when, task);
}

TaskBook::Tasks::iterator TaskBook::forget(Tasks::iterator at) {
  have_sent(at->second);
  doubts_.drop(at->first);
  if (!at->second.started) at->second.subject->second.not_started.erase(at->second.sequence);
  forget_sequence(at->first, at->second);
  if (!at->second.queued) forget_request(at);
  Space* const space = at->second.is_called ? &at->second.ns->second : nullptr;
  const auto next = tasks_.erase(at);
  if (space != nullptr) call_next(*space);
  return next;
}

void TaskBook::forget_sequence(const InstanceId& task, const Entry& entry) {
  // After a loss, another message may have the same sequence.
  const auto place = by_sequence_.find(entry.sequence);
  if (place != by_sequence_.end() && place->second == task) by_sequence_.erase(place);
}

}  // namespace millrace
