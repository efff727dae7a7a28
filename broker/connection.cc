#include "broker/connection.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sodium.h>
#include <spdlog/spdlog.h>

#include "base/bytes.h"
#include "base/excerpt.h"
#include "broker/connect_failure.h"
#include "broker/connection_options.h"
#include "broker/json_fields.h"
#include "broker/nats_status.h"
#include "broker/refused_subject.h"
#include "broker/round_trip.h"
#include "os/permission.h"
#include "os/thread.h"

namespace millrace {
namespace {

constexpr int64_t kLongestRemakeMillis = 2'000;  // the wait before a closed connection is replaced
constexpr Duration kLongestRoundTrip{1'000};
constexpr Duration kFirstAttempt{100};
constexpr Duration kLastAttempt{10'000};

/// How many missing permissions one Connection logs at most. NATS reports a violation for each
/// message to a forbidden subject.
constexpr size_t kMostViolationsLogged = 16;
constexpr std::string_view kGrantIt =
    "give the user that permission (docs/nats.md, \"Permissions\")";

bool is_violation(std::string_view complaint) {
  return complaint.starts_with("Permissions Violation");
}

}  // namespace

struct Connection::Impl {
  explicit Impl(ConnectionSettings given)
      : settings(std::move(given)), permission(settings.guarded) {}

  const ConnectionSettings settings;

  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  bool connected = false;  ///< to a NATS server, whether or not its use is allowed
  Permission permission;
  bool closed = false;  ///< nats.c has closed `handle` and makes no more callbacks
  bool stopping = false;
  std::string complaint;
  std::string reason;  ///< why no NATS server is connected, as a sentence; empty: not known yet
  size_t violations_logged = 0;
  std::shared_ptr<natsConnection> handle;
  /// Ended subscriptions, which are freed once nats.c can no longer use them.
  std::vector<NatsSubscriptionHandle> retired;

  std::mutex watchers_mutex;  ///< held while watchers are called, so unwatch() waits for them
  std::map<uint64_t, std::function<void(LinkChange)>> watchers;
  std::map<uint64_t, std::function<void(const std::string&)>> refusal_watchers;
  uint64_t next_watch = 1;

  std::thread keeper;

  /// All options of the connection: those of the settings, and the callbacks by which nats.c calls
  /// this object.
  Result<NatsOptionsHandle> make_options();
  Status connect();
  void find_reason();
  std::string why_disconnected() const;
  void complain(std::string text);
  void note_complaint(std::string text);
  void keep();
  void notify(LinkChange change);
  void set_connected(bool now);
  Status check_usable(std::string_view doing) const;
  Error request_error(natsStatus status, std::string_view subject, std::string_view doing) const;
  int64_t request_millis(std::optional<Duration> at_most) const {
    return at_most.value_or(settings.request_timeout).count();
  }
  bool is_connected() const {
    const std::lock_guard lock(mutex);
    return connected;
  }

  static Impl& of(void* closure) { return *static_cast<Impl*>(closure); }
};

Result<NatsOptionsHandle> Connection::Impl::make_options() {
  NatsOptionsHandle options = TRY(make_link_options(settings));
  NatsOptionSetter set(options.get());
  void* const closure = this;
  set(natsOptions_SetRetryOnFailedConnect, true,
      natsConnectionHandler([](natsConnection*, void* state) { of(state).set_connected(true); }),
      closure);
  set(natsOptions_SetReconnectedCB,
      natsConnectionHandler([](natsConnection*, void* state) { of(state).set_connected(true); }),
      closure);
  set(natsOptions_SetDisconnectedCB,
      natsConnectionHandler([](natsConnection*, void* state) { of(state).set_connected(false); }),
      closure);
  set(natsOptions_SetLameDuckModeCB, natsConnectionHandler([](natsConnection*, void* state) {
        of(state).notify(LinkChange::kLameDuck);
      }),
      closure);
  set(natsOptions_SetErrorHandler,
      natsErrHandler([](natsConnection* connection, natsSubscription*, natsStatus, void* state) {
        // The connection has only its newest error; the thread has the one of this call.
        const char* text = nats_GetLastError(nullptr);
        if (text == nullptr || *text == '\0') natsConnection_GetLastError(connection, &text);
        if (text != nullptr) of(state).complain(text);
      }),
      closure);
  set(natsOptions_SetClosedCB, natsConnectionHandler([](natsConnection* connection, void* state) {
        const char* text = nullptr;
        natsConnection_GetLastError(connection, &text);
        const std::lock_guard lock(of(state).mutex);
        if (text != nullptr && *text != '\0') of(state).complaint = text;
        of(state).closed = true;
        of(state).changed.notify_all();  // under the lock: the destructor may wait for this
      }),
      closure);
  TRY(set.check(settings));
  return options;
}

Status Connection::Impl::connect() {
  const NatsOptionsHandle options = TRY(make_options());
  {
    const std::lock_guard lock(mutex);
    closed = false;
  }
  natsConnection* raw = nullptr;
  const natsStatus status = natsConnection_Connect(&raw, options.get());
  if (status != NATS_OK && status != NATS_NOT_YET_CONNECTED) {
    const std::lock_guard lock(mutex);
    closed = true;
    return fail("broker.settings", fmt::format("cannot connect to {}: {}", shown_servers(settings),
                                               natsStatus_GetText(status)));
  }
  {
    const std::lock_guard lock(mutex);
    handle = std::shared_ptr<natsConnection>(raw, natsConnection_Destroy);
  }
  // If nats.c connects at once, it makes no callback. The status is read again because the
  // connection may be lost by now.
  if (status == NATS_OK && natsConnection_Status(raw) == NATS_CONN_STATUS_CONNECTED) {
    set_connected(true);
  }
  return {};
}

/// Finds out why there is no connection. nats.c does not report why it cannot connect, so this
/// function makes an attempt of its own.
void Connection::Impl::find_reason() {
  std::string found;
  if (Result<NatsOptionsHandle> options = make_attempt_options(settings)) {
    natsConnection* raw = nullptr;
    const natsStatus status = natsConnection_Connect(&raw, options->get());
    const char* const detail = status == NATS_OK ? nullptr : nats_GetLastError(nullptr);
    const std::unique_ptr<natsConnection, decltype(&natsConnection_Destroy)> attempt(
        raw, natsConnection_Destroy);
    if (status != NATS_OK) {
      found = explain_connect_failure(status, detail == nullptr ? "" : detail, settings.servers);
    }
  } else {
    found = options.error().message;
  }
  const std::lock_guard lock(mutex);
  if (!connected) reason = std::move(found);
}

/// Handles an error that the NATS server reported.
void Connection::Impl::complain(std::string text) {
  const std::optional<std::string> subject = refused_subject(text);
  note_complaint(std::move(text));
  if (!subject) return;
  const std::lock_guard lock(watchers_mutex);
  for (const auto& [number, watcher] : refusal_watchers) watcher(*subject);
}

/// Stores the newest error that the NATS server reported. Missing permissions are logged, because
/// their only other effect may be that a message gets no answer.
void Connection::Impl::note_complaint(std::string text) {
  const std::lock_guard lock(mutex);
  const bool is_new = complaint != text;
  complaint = std::move(text);
  if (!is_new || !is_violation(complaint) || violations_logged >= kMostViolationsLogged) return;
  ++violations_logged;
  spdlog::warn("NATS: {}; {}", complaint, kGrantIt);
}

/// The loop of the keeper thread. nats.c closes a connection for good when its login was refused
/// twice. The login may be corrected later, so this thread makes a new connection.
void Connection::Impl::keep() {
  name_thread("connection");
  Duration wait = kFirstAttempt;
  std::unique_lock lock(mutex);
  while (!stopping) {
    if (!closed && connected) {
      wait = kFirstAttempt;
      changed.wait(lock);
      continue;
    }
    changed.wait_for(lock, closed ? Duration(0) : wait,
                     [this] { return stopping || connected || closed; });
    if (stopping) return;
    if (!closed && connected) continue;
    lock.unlock();
    find_reason();
    lock.lock();
    wait = std::min(wait * 2, kLastAttempt);
    if (!closed) continue;
    connected = false;
    changed.wait_for(lock, Duration(kLongestRemakeMillis), [this] { return stopping; });
    if (stopping) return;
    lock.unlock();
    const Status again = connect();
    lock.lock();
    if (!again) complaint = again.error().message;
  }
}

void Connection::Impl::set_connected(bool now) {
  {
    const std::lock_guard lock(mutex);
    connected = now;
    if (now) {
      reason.clear();
      complaint.clear();
    }
    changed.notify_all();
  }
  if (now && !permission.is_valid()) return;
  notify(now ? LinkChange::kConnected : LinkChange::kDisconnected);
}

std::string Connection::Impl::why_disconnected() const {
  const std::lock_guard lock(mutex);
  if (!reason.empty()) return reason;
  return fmt::format("not connected to {}{}{}", shown_servers(settings),
                     complaint.empty() ? "" : ": ", complaint);
}

/// The error of a request that got no answer. NATS drops messages to subjects on which the user may
/// not publish, and answers on subjects to which the user may not subscribe. NATS reports such a
/// violation in a separate message.
Error Connection::Impl::request_error(natsStatus status, std::string_view subject,
                                      std::string_view doing) const {
  Error error = nats_error(status, doing);
  const std::lock_guard lock(mutex);
  if (status != NATS_TIMEOUT || !is_violation(complaint)) return error;
  const bool is_about_it = complaint.find(fmt::format("\"{}\"", subject)) != std::string::npos;
  const bool is_about_answers = complaint.find("Subscription") != std::string::npos;
  if (!is_about_it && !is_about_answers) return error;
  error.message += fmt::format("; NATS reported: {}; {}", complaint, kGrantIt);
  return error;
}

Status Connection::Impl::check_usable(std::string_view doing) const {
  if (!is_connected()) {
    return fail("broker.unreachable", fmt::format("{}: {}", doing, why_disconnected()));
  }
  if (!permission.is_valid()) {
    return fail("broker.unreachable",
                fmt::format("{}: this process does not own the streams", doing));
  }
  return {};
}

void Connection::Impl::notify(LinkChange change) {
  const std::lock_guard lock(watchers_mutex);
  for (const auto& [number, watcher] : watchers) watcher(change);
}

Connection::Connection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Connection>> Connection::open(ConnectionSettings settings) {
  if (settings.servers.empty()) return fail("broker.settings", "the list of NATS servers is empty");
  if (settings.js_domain.find_first_of(".*> \t\r\n") != std::string::npos) {
    return fail("broker.settings",
                fmt::format("the JetStream domain \"{}\" is not one token: it has "
                            "a dot, a wildcard or a blank",
                            settings.js_domain));
  }
  if (!is_inbox_prefix(settings.inbox_prefix)) {
    return fail("broker.settings",
                fmt::format("the inbox prefix \"{}\" is not valid; expected tokens without blanks "
                            "and wildcards, joined by dots, that do not begin with $ and have {} "
                            "bytes at most, such as _INBOX_millrace",
                            excerpt(settings.inbox_prefix), kMostInboxPrefix));
  }
  auto impl = std::make_unique<Impl>(std::move(settings));
  TRY(impl->connect());
  impl->keeper = std::thread(&Impl::keep, impl.get());
  return std::unique_ptr<Connection>(new Connection(std::move(impl)));
}

Connection::~Connection() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
    impl_->changed.notify_all();
  }
  impl_->keeper.join();
  natsConnection_Close(impl_->handle.get());
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait(lock, [this] { return impl_->closed; });
}

bool Connection::connected() const { return impl_->is_connected() && impl_->permission.is_valid(); }

void Connection::allow_until(Permission::Time until, std::optional<Permission::Time> asked) {
  const bool is_new = impl_->permission.allow_until(until, asked);
  if (is_new && connected()) impl_->notify(LinkChange::kConnected);
}

void Connection::forbid() {
  impl_->permission.forbid();
  if (impl_->is_connected()) impl_->notify(LinkChange::kDisconnected);
}

bool Connection::wait_until_connected(Duration at_most) const {
  std::unique_lock lock(impl_->mutex);
  return impl_->changed.wait_for(lock, at_most, [this] { return impl_->connected; });
}

uint64_t Connection::watch(std::function<void(LinkChange)> watcher) {
  const std::lock_guard lock(impl_->watchers_mutex);
  impl_->watchers.emplace(impl_->next_watch, std::move(watcher));
  return impl_->next_watch++;
}

void Connection::unwatch(uint64_t watch) {
  const std::lock_guard lock(impl_->watchers_mutex);
  impl_->watchers.erase(watch);
  impl_->refusal_watchers.erase(watch);
}

uint64_t Connection::watch_refusals(std::function<void(const std::string&)> watcher) {
  const std::lock_guard lock(impl_->watchers_mutex);
  impl_->refusal_watchers.emplace(impl_->next_watch, std::move(watcher));
  return impl_->next_watch++;
}

Result<NatsMessage> Connection::request(std::string_view subject, std::string_view data,
                                        std::optional<Duration> at_most) const {
  const std::string doing = fmt::format("request to {}", subject);
  TRY(impl_->check_usable(doing));
  natsMsg* raw = nullptr;
  const natsStatus status =
      natsConnection_Request(&raw, handle().get(), std::string(subject).c_str(), data.data(),
                             static_cast<int>(data.size()), impl_->request_millis(at_most));
  const NatsMsgHandle answer(raw);
  if (status != NATS_OK) return tl::unexpected(impl_->request_error(status, subject, doing));
  NatsMessage message;
  read_message(answer.get(), message);
  return message;
}

std::string Connection::make_inbox() const {
  // The inboxes of nats.c are consecutive numbers after a prefix that all of them share, so that a
  // service which gets a request could guess on which subjects millrace receives its events.
  std::array<uint8_t, 16> random{};
  randombytes_buf(random.data(), random.size());
  return fmt::format("{}.{}", impl_->settings.inbox_prefix, to_hex(random));
}

std::string Connection::api_subject(std::string_view subject) const {
  const std::string& domain = impl_->settings.js_domain;
  if (domain.empty()) return fmt::format("$JS.API.{}", subject);
  return fmt::format("$JS.{}.API.{}", domain, subject);
}

Result<NatsMessage> Connection::request(const NatsMessage& message,
                                        std::optional<Duration> at_most) const {
  const std::string doing = fmt::format("request to {}", message.subject);
  TRY(impl_->check_usable(doing));
  NatsMsgHandle question;
  natsStatus status = make_message(message, message.subject, nullptr, question);
  natsMsg* answered = nullptr;
  if (status == NATS_OK) {
    status = natsConnection_RequestMsg(&answered, handle().get(), question.get(),
                                       impl_->request_millis(at_most));
  }
  const NatsMsgHandle answer(answered);
  if (status != NATS_OK) {
    return tl::unexpected(impl_->request_error(status, message.subject, doing));
  }
  NatsMessage read;
  read_message(answer.get(), read);
  return read;
}

Result<Json> Connection::api(std::string_view subject, const Json& body,
                             std::optional<Duration> at_most) const {
  ApiAnswer answer = TRY(ask_api(subject, body, at_most));
  TRY(std::move(answer.accepted));
  return std::move(answer.body);
}

Result<ApiAnswer> Connection::ask_api(std::string_view subject, const Json& body,
                                      std::optional<Duration> at_most) const {
  const std::string full = api_subject(subject);
  const NatsMessage message = TRY(request(full, dump_json(body), at_most));
  return read_api_answer(full, parse_json(message.data).value_or(Json()));
}

ApiAnswer read_api_answer(std::string_view subject, Json answer) {
  ApiAnswer read;
  read.accepted = check_api_answer(subject, answer);
  read.reason = integer_field(field(answer, "error"), "err_code");
  read.body = std::move(answer);
  return read;
}

Status check_api_answer(std::string_view subject, const Json& answer) {
  if (!answer.is_object()) {
    return fail("broker.protocol",
                fmt::format("request to {}: the answer is not a JSON object", subject));
  }
  const Json& error = field(answer, "error");
  if (!error.is_object()) return {};
  return fail(integer_field(error, "code") == 404 ? "broker.not_found" : "broker.refused",
              fmt::format("request to {}: {} ({})", subject, text_field(error, "description"),
                          integer_field(error, "err_code")));
}

size_t Connection::max_payload() const {
  const int64_t most = natsConnection_GetMaxPayload(handle().get());
  // Before the first connection the limit is not known.
  return most > 0 ? static_cast<size_t>(most) : size_t{1} << 20;
}

std::string Connection::why_disconnected() const { return impl_->why_disconnected(); }

std::string Connection::last_complaint() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->complaint;
}

std::shared_ptr<natsConnection> Connection::handle() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->handle;
}

/// Before 3.6, nats.c finds the subscription of a message under one lock, and takes the
/// subscription's own lock later without a reference to it (nats.c, issue 637). So a subscription
/// may be freed only after a round trip: the read loop reads the answer after any such message.
void Connection::retire(natsSubscription* subscription) const {
  // A failure is ignored: a NATS server that cannot be reached sends no more messages either.
  std::ignore = natsSubscription_Unsubscribe(subscription);
  std::vector<NatsSubscriptionHandle> leaving;
  std::unique_lock lock(impl_->mutex);
  leaving.swap(impl_->retired);
  leaving.emplace_back(subscription);
  const std::shared_ptr<natsConnection> handle = impl_->handle;
  lock.unlock();
  if (round_trip(handle.get(), kLongestRoundTrip) == NATS_OK) return;
  lock.lock();
  std::move(leaving.begin(), leaving.end(), std::back_inserter(impl_->retired));
}

}  // namespace millrace
