#include "broker/stream_owner.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "broker/json_fields.h"
#include "broker/listening.h"
#include "broker/nats_status.h"
#include "broker/publisher.h"
#include "broker/round_trip.h"
#include "broker/stored_message.h"
#include "os/thread.h"

namespace millrace {
namespace {

using std::chrono::steady_clock;

/// The longest interval between two checks whether this process still owns the streams; a check
/// that failed is repeated after the same time.
constexpr Duration kOwnerLookEach{500};

/// The interval between two questions to a process with no subscriber on its subject: the process
/// may be about to reconnect.
constexpr Duration kAskEach{200};

/// A process with no subscriber on its subject is replaced after this many times the normal wait:
/// the process may be about to reconnect to another NATS server of a cluster.
constexpr int kAbsence = 3;

/// The time limit for the answer to one question.
constexpr Duration kAnswerTime{1'000};

/// The interval at which wait_until_decided() asks whether the process is ending.
constexpr Duration kEndLookEach{50};

/// How many owners the stream stores.
constexpr int64_t kOwnersKept = 64;

/// The subject on which a process answers whether it is alive.
std::string question_subject(std::string_view subject, std::string_view process) {
  return fmt::format("{}.{}", subject, process);
}

bool is_token(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

Json encode(const OwnerRecord& record) {
  Json json = {{"store", record.store},     {"process", record.process},
               {"folder", record.folder},   {"host", record.host},
               {"pid", record.pid},         {"started", record.started},
               {"address", record.address}, {"ended", record.ended}};
  if (record.cluster.empty()) return json;
  json["cluster"] = record.cluster;
  json["epoch"] = record.epoch;
  return json;
}

std::optional<OwnerRecord> decode_owner(std::string_view json) {
  const Result<Json> read = parse_json(json);
  if (!read) return std::nullopt;
  OwnerRecord record{.store = text_field(*read, "store"),
                     .process = text_field(*read, "process"),
                     .folder = text_field(*read, "folder"),
                     .host = text_field(*read, "host"),
                     .pid = integer_field(*read, "pid"),
                     .started = text_field(*read, "started"),
                     .address = text_field(*read, "address"),
                     .ended = field(*read, "ended") == true,
                     .cluster = text_field(*read, "cluster"),
                     .epoch = count_field(*read, "epoch")};
  if (!is_token(record.process)) return std::nullopt;
  return record;
}

std::string describe(const OwnerRecord& record) {
  return fmt::format("process {} on host {} (HTTP at {}, started {}, store {})", record.pid,
                     record.host, record.address, record.started, record.store);
}

OwnerStep next_step(const std::optional<StoredOwner>& found, const OwnerRecord& self,
                    uint64_t claimed) {
  if (!found) return OwnerStep::kClaim;
  const OwnerRecord& owner = found->record;
  if (owner.process == self.process) return OwnerStep::kOwned;
  const bool is_replaced = claimed > 0 && found->sequence >= claimed;
  if (!self.cluster.empty() && owner.cluster == self.cluster) {
    return is_replaced && owner.epoch >= self.epoch ? OwnerStep::kDeposed : OwnerStep::kReplace;
  }
  if (is_replaced) return OwnerStep::kLost;
  return owner.ended ? OwnerStep::kClaim : OwnerStep::kAsk;
}

StreamSettings owner_stream(const StreamOptions& options) {
  return {.name = stream_name(options.prefix, "OWNER"),
          .subjects = fmt::format("{}.owner", options.prefix),
          .max_age = Duration(0),
          .max_messages = kOwnersKept,
          .replicas = options.replicas,
          .cluster = options.cluster,
          .tags = options.tags};
}

StreamOwner::StreamOwner(Connection& connection, OwnerSettings settings)
    : connection_(connection),
      settings_(std::move(settings)),
      stream_(owner_stream(settings_.streams)),
      subject_(stream_.subjects),
      keeper_(connection, {stream_}) {
  watch_ = connection_.watch([this](LinkChange) {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  });
}

void StreamOwner::start() { thread_ = std::thread(&StreamOwner::run, this); }

StreamOwner::~StreamOwner() {
  connection_.unwatch(watch_);
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  for (Connection* const guarded : settings_.guarded) guarded->forbid();
  give_back();
}

void StreamOwner::run() {
  name_thread("owner");
  // The owner is checked several times within the time for which the guarded connections are
  // allowed.
  const Duration look_each = std::min(kOwnerLookEach, settings_.patience / 6);
  std::string logged;
  while (true) {
    const Status looked = check_owner();
    std::unique_lock lock(mutex_);
    if (lost_ || stopping_) return;
    if (looked) {
      logged.clear();
    } else {
      health_ = looked;
      failed_ = connection_.connected();
      if (std::exchange(logged, looked.error().message) != looked.error().message) {
        spdlog::warn("this process does not use the streams: {}", looked.error().message);
      }
      changed_.notify_all();
    }
    if (!std::exchange(soon_, false)) changed_.wait_for(lock, look_each);
  }
}

/// Waits for that time. Returns false if the process is stopping.
bool StreamOwner::pause(Duration time) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, time, [this] { return stopping_; });
}

/// Checks the newest message of the stream once, and acts on it.
Status StreamOwner::check_owner() {
  if (!connection_.connected()) {
    return fail("broker.unreachable", connection_.why_disconnected());
  }
  if (!listen()) return fail("broker.unreachable", "subscribing to questions for the owner failed");
  const Time asked_at = steady_clock::now();
  uint64_t last = 0;  // the last sequence; read before newest(), so no message is missed
  if (claimed_ == 0) last = TRY(keeper_.ensure(stream_)).last_sequence;
  const std::optional<StoredOwner> found = TRY(newest());
  switch (next_step(found, settings_.self, claimed_)) {
    case OwnerStep::kOwned:
      claimed_ = found->sequence;
      owned(asked_at);
      return {};
    case OwnerStep::kLost:
      lose(kOwnerError,
           fmt::format(
               "the streams under \"{}\" were taken over by {}, because this process did not "
               "answer, or because that process was started with --take-over; this process "
               "stops",
               settings_.streams.prefix, describe(found->record)));
      return {};
    case OwnerStep::kDeposed:
      lose(
          kDeposedError,
          fmt::format("another node of the cluster \"{}\" is the active and owns the streams under "
                      "\"{}\": {}; this node becomes a standby",
                      settings_.self.cluster, settings_.streams.prefix, describe(found->record)));
      return {};
    case OwnerStep::kReplace:
      if (claimed_ == 0) return claim(last);
      claimed_ = 0;
      soon_ = true;
      return {};
    case OwnerStep::kClaim:
      break;
    case OwnerStep::kAsk: {
      if (settings_.take_over && claimed_ == 0) return replace(last);
      const Found owner = TRY(find_out(found->record));
      if (owner == Found::kAlive) {
        lose(kOwnerError,
             fmt::format("the streams under \"{}\" belong to {}; that process answers, so this "
                         "process does not start: stop that process, or give one of them its own "
                         "--stream-prefix, or start this process with --take-over",
                         settings_.streams.prefix, describe(found->record)));
        return {};
      }
      if (owner == Found::kSilent && claimed_ == 0) return replace(last);
      break;
    }
  }
  if (claimed_ != 0) {
    // The broker has lost our message, so this process publishes the message again.
    claimed_ = 0;
    pause(StreamKeeper::kLeaveAlone);
    soon_ = true;
    return {};
  }
  return claim(last);
}

/// The newest owner message; nullopt: there is none, or it cannot be decoded.
Result<std::optional<StoredOwner>> StreamOwner::newest() const {
  const Result<StoredMessage> stored =
      fetch_stored(connection_, stream_.name, {{"last_by_subj", subject_}});
  if (!stored && stored.error().code == "broker.not_found") return std::nullopt;
  if (!stored) return tl::unexpected(stored.error());
  std::optional<OwnerRecord> record = decode_owner(stored->message.data);
  if (!record) return std::nullopt;
  return StoredOwner{*std::move(record), stored->sequence};
}

/// Publishes our owner message if the stream has no message after the sequence `behind`. Whatever
/// the answer is, the next check shows whether the message is stored.
Status StreamOwner::claim(uint64_t behind) {
  if (is_stopping()) return fail("stopping", "millrace is stopping");
  const NatsMessage message{.subject = subject_,
                            .headers = {{"Nats-Expected-Last-Sequence", std::to_string(behind)}},
                            .data = dump_json(encode(settings_.self))};
  const NatsMessage answer = TRY(connection_.request(message));
  // A refusal means that another process was faster: the next check asks that process.
  const Result<PublishAck> stored = read_publish_ack(answer.data);
  if (stored) {
    stored_ = stored->sequence;
  } else {
    pause(kAskEach);
  }
  soon_ = true;
  return {};
}

/// Publishes our owner message although the previous owner may still be running. The previous owner
/// sees at its next check that it was replaced, and its earlier permission to send has expired when
/// this function returns.
Status StreamOwner::replace(uint64_t behind) {
  TRY(claim(behind));
  pause(settings_.patience);
  return {};
}

/// Asks the owner until it answers, or has not answered for long enough. If the owner used our own
/// folder and there is no subscriber, the owner has ended, because this process holds the folder's
/// lock.
Result<StreamOwner::Found> StreamOwner::find_out(const OwnerRecord& owner) {
  const bool is_our_folder =
      owner.store == settings_.self.store && owner.folder == settings_.self.folder;
  Duration needed = settings_.patience;
  Duration silent{0};
  Duration logged{0};
  while (true) {
    const Time begin = steady_clock::now();
    const Heard heard = ask(owner);
    if (heard == Heard::kAnswer) return Found::kAlive;
    // If the broker itself does not answer, nothing is known about the owner.
    TRY(check_round_trip());
    if (heard == Heard::kNoSubscriber && is_our_folder) return Found::kEnded;
    if (heard == Heard::kNoSubscriber) needed = settings_.patience * kAbsence;
    {
      const std::lock_guard lock(mutex_);
      health_ = fail("broker.unreachable",
                     fmt::format("the streams belong to {}; that process does not answer, and this "
                                 "process replaces it after {} s without an answer",
                                 describe(owner), needed.count() / 1000));
    }
    if (std::exchange(logged, needed) != needed) log_wait(owner, needed);
    const bool goes_on = pause(heard == Heard::kNoSubscriber ? kAskEach : Duration(0));
    if (!goes_on) return fail("stopping", "millrace is stopping");
    // If this process was suspended meanwhile, the answer may have arrived but not been read yet.
    // So a longer pause counts only as one interval.
    silent += std::min(std::chrono::duration_cast<Duration>(steady_clock::now() - begin),
                       heard == Heard::kNoSubscriber ? kAskEach : kAnswerTime);
    if (silent < needed) continue;
    spdlog::warn("{} owned the streams and has not answered for {} s: this process replaces it",
                 describe(owner), needed.count() / 1000);
    return Found::kSilent;
  }
}

void StreamOwner::log_wait(const OwnerRecord& owner, Duration needed) const {
  spdlog::warn(
      "{} owns the streams under \"{}\" and does not answer: this process takes them over after "
      "{} s without an answer, and begins to use them {} s later, so that two processes never use "
      "them at once; until then it is not ready",
      describe(owner), settings_.streams.prefix, needed.count() / 1000,
      settings_.patience.count() / 1000);
}

/// Ok if all messages that were published before have reached the broker.
Status StreamOwner::check_round_trip() const {
  const natsStatus status = round_trip(connection_.handle().get(), kAnswerTime);
  if (status == NATS_OK) return {};
  return fail("broker.unreachable",
              fmt::format("NATS did not answer during a request to the owner of the streams: {}",
                          natsStatus_GetText(status)));
}

/// Sends one question. The answer comes to the subject on which other processes ask this process,
/// so no further permission is needed.
StreamOwner::Heard StreamOwner::ask(const OwnerRecord& owner) {
  {
    const std::lock_guard lock(mutex_);
    heard_ = Heard::kNothing;
    asked_ = owner.process;
  }
  const std::string to = question_subject(subject_, owner.process);
  const std::string answer_to = question_subject(subject_, settings_.self.process);
  if (natsConnection_PublishRequest(connection_.handle().get(), to.c_str(), answer_to.c_str(), "",
                                    0) != NATS_OK) {
    return Heard::kNothing;
  }
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kAnswerTime, [this] { return heard_ != Heard::kNothing || stopping_; });
  return heard_;
}

/// Handles a question (it has a reply subject), or the answer to our question. On a thread of
/// nats.c.
void StreamOwner::on_message(natsMsg* message) {
  if (const char* const answer_to = natsMsg_GetReply(message); answer_to != nullptr) {
    // Another millrace asks for an answer on a subject of this kind. With any other one, a client
    // would have this process publish with its own permissions.
    if (!std::string_view(answer_to).starts_with(subject_ + ".")) return;
    const std::string answer = dump_json(encode(settings_.self));
    // If the answer is not sent, the other process asks again.
    std::ignore =
        natsConnection_PublishString(connection_.handle().get(), answer_to, answer.c_str());
    return;
  }
  const auto size = static_cast<size_t>(natsMsg_GetDataLength(message));
  const std::optional<OwnerRecord> answer =
      decode_owner({size == 0 ? "" : natsMsg_GetData(message), size});
  const std::lock_guard lock(mutex_);
  if (answer && answer->process == asked_) {
    heard_ = Heard::kAnswer;
  } else if (natsMsg_IsNoResponders(message) && heard_ == Heard::kNothing) {
    heard_ = Heard::kNoSubscriber;
  }
  changed_.notify_all();
}

void StreamOwner::owned(Time asked_at) {
  const Time until = asked_at + settings_.patience * 8 / 10;
  for (Connection* const guarded : settings_.guarded) guarded->allow_until(until, asked_at);
  const bool in_time = steady_clock::now() < until;
  {
    const std::lock_guard lock(mutex_);
    health_ = in_time
                  ? Status()
                  : fail("broker.unreachable",
                         "NATS took too long to report the owner of the streams: nothing is sent");
    changed_.notify_all();
  }
  if (std::exchange(announced_, true)) return;
  spdlog::info("this process owns the streams under \"{}\"", settings_.streams.prefix);
  settings_.on_owned();
}

void StreamOwner::lose(std::string_view code, std::string message) {
  for (Connection* const guarded : settings_.guarded) guarded->forbid();
  questions_.reset();
  claimed_ = 0;
  stored_ = 0;
  const Error error{std::string(code), std::move(message)};
  {
    const std::lock_guard lock(mutex_);
    lost_ = true;
    health_ = tl::unexpected(error);
    changed_.notify_all();
  }
  settings_.on_lost(error);
}

void StreamOwner::give_back() {
  // A process that ends before it uses the streams releases them, too.
  const uint64_t ours = claimed_ != 0 ? claimed_ : stored_;
  if (ours == 0 || !connection_.connected()) return;
  OwnerRecord ended = settings_.self;
  ended.ended = true;
  const NatsMessage message{.subject = subject_,
                            .headers = {{"Nats-Expected-Last-Sequence", std::to_string(ours)}},
                            .data = dump_json(encode(ended))};
  // If the message does not arrive, the next process asks this one and gets no answer.
  (void)connection_.request(message, kAnswerTime);
}

/// Subscribes to questions. nats.c subscribes again at each reconnect; only a new connection needs
/// another subscription.
bool StreamOwner::listen() {
  const std::shared_ptr<natsConnection> handle = connection_.handle();
  if (questions_ != nullptr && questions_->status() == NATS_OK && questions_->handle() == handle) {
    return true;
  }
  questions_.reset();
  questions_ =
      std::make_unique<Listening>(connection_, question_subject(subject_, settings_.self.process),
                                  [this](NatsMsgHandle& message) { on_message(message.get()); });
  return questions_->status() == NATS_OK;
}

Status StreamOwner::wait_until_decided(Duration without_broker,
                                       const std::function<bool()>& is_ending) {
  const Time begin = steady_clock::now();
  std::unique_lock lock(mutex_);
  while (!health_ && !lost_ && !failed_) {
    const Duration at_most =
        connection_.connected() ? settings_.patience * (kAbsence + 2) : without_broker;
    const Time now = steady_clock::now();
    if (now - begin >= at_most) return {};
    if (is_ending && is_ending()) {
      stopping_ = true;
      changed_.notify_all();
      return fail("stopping", "millrace was stopped before it owned the streams");
    }
    const Time until = begin + at_most;
    changed_.wait_until(lock, is_ending ? std::min(until, now + kEndLookEach) : until);
  }
  return lost_ ? health_ : Status();
}

Status StreamOwner::health() const {
  const std::lock_guard lock(mutex_);
  return health_;
}

bool StreamOwner::is_stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

bool StreamOwner::is_lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

}  // namespace millrace
