#include "broker/connection_options.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <random>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "broker/nkey.h"
#include "cloudevents/subject.h"
#include "os/read_file.h"
#include "os/thread.h"

namespace millrace {
namespace {

constexpr int kPingIntervalMillis = 2'500;  // a dead peer is noticed within 7.5 s
constexpr int kWriteDeadlineMillis = 5'000;
constexpr int64_t kShortestWaitMillis = 100;
constexpr int64_t kLongestWaitMillis = 2'000;
constexpr int64_t kAttemptMillis = 2'000;
constexpr int kIoBufferBytes = 128 << 10;
constexpr size_t kMostKeyFileBytes = size_t{1} << 20;

/// The wait before a reconnect: 100 ms, doubled with each failure up to 2 s, minus a random part of
/// up to a half, so that clients do not reconnect all at once.
int64_t reconnect_wait(natsConnection* /*connection*/, int attempts, void* /*closure*/) {
  thread_local std::minstd_rand random(std::random_device{}());
  const int64_t wait =
      std::min(kLongestWaitMillis, kShortestWaitMillis << std::clamp(attempts - 1, 0, 5));
  return std::uniform_int_distribution<int64_t>(wait / 2, wait)(random);
}

/// Starts the threads that nats.c has for all connections. One of them frees messages: each free
/// wakes it if it sleeps. It must not interrupt the thread that wakes it, which often frees some
/// more messages (SpentMessages).
void start_library() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::thread([] {
      run_behind_others(0);
      std::ignore = nats_Open(-1);  // natsOptions_Create() calls it, too, and has its error
    }).join();
  });
}

/// Reads a key file that the connection settings name.
Result<std::string> read_key_file(const std::string& path) {
  Result<std::string> text = read_file(path, kMostKeyFileBytes);
  if (!text) return fail("broker.settings", fmt::format("{} cannot be read", path));
  return text;
}

const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

}  // namespace

std::vector<std::string> without_logins(std::vector<std::string> servers) {
  for (std::string& server : servers) {
    const size_t scheme = server.find("://");
    const size_t login = scheme == std::string::npos ? 0 : scheme + 3;
    const size_t at = server.rfind('@');
    if (at != std::string::npos && at >= login) server.erase(login, at + 1 - login);
  }
  return servers;
}

bool is_inbox_prefix(std::string_view prefix) {
  return prefix.size() <= kMostInboxPrefix && is_publish_subject(prefix) &&
         !prefix.starts_with('$');
}

std::string shown_servers(const ConnectionSettings& settings) {
  return fmt::format("{}", fmt::join(without_logins(settings.servers), ", "));
}

Status NatsOptionSetter::check(const ConnectionSettings& settings) const {
  if (status_ == NATS_OK) return {};
  return fail("broker.settings",
              fmt::format("nats.c refused the settings of the connection to {}: {}",
                          shown_servers(settings), natsStatus_GetText(status_)));
}

Result<NatsOptionsHandle> make_login_options(const ConnectionSettings& settings) {
  start_library();
  natsOptions* raw = nullptr;
  const natsStatus created = natsOptions_Create(&raw);
  NatsOptionsHandle options(raw);
  NatsOptionSetter set(raw);
  set([&](natsOptions*) { return created; });

  std::vector<const char*> servers;
  for (const std::string& server : settings.servers) servers.push_back(server.c_str());
  set(natsOptions_SetServers, servers.data(), static_cast<int>(servers.size()));
  set(natsOptions_SetName, settings.name.c_str());
  set(natsOptions_SetCustomInboxPrefix, settings.inbox_prefix.c_str());
  if (!settings.user.empty()) {
    set(natsOptions_SetUserInfo, settings.user.c_str(), settings.password.c_str());
  }
  if (!settings.token.empty()) set(natsOptions_SetToken, settings.token.c_str());
  if (!settings.creds_file.empty()) {
    // Checked here, because nats.c reports an unreadable file only at each connect.
    TRY(read_key_file(settings.creds_file));
    set(natsOptions_SetUserCredentialsFromFiles, settings.creds_file.c_str(),
        static_cast<const char*>(nullptr));
  }
  if (!settings.nkey_seed_file.empty()) {
    Result<std::string> nkey = public_nkey(TRY(read_key_file(settings.nkey_seed_file)));
    if (!nkey) return fail_in(settings.nkey_seed_file, nkey.error());
    set(natsOptions_SetNKeyFromSeed, nkey->c_str(), settings.nkey_seed_file.c_str());
  }
  if (!settings.tls_ca_file.empty() || !settings.tls_cert_file.empty()) {
    set(natsOptions_SetSecure, true);
  }
  if (!settings.tls_ca_file.empty()) {
    set(natsOptions_LoadCATrustedCertificates, settings.tls_ca_file.c_str());
  }
  if (!settings.tls_cert_file.empty()) {
    set(natsOptions_LoadCertificatesChain, settings.tls_cert_file.c_str(),
        or_null(settings.tls_key_file));
  }
  TRY(set.check(settings));
  return options;
}

Result<NatsOptionsHandle> make_link_options(const ConnectionSettings& settings) {
  NatsOptionsHandle options = TRY(make_login_options(settings));
  NatsOptionSetter set(options.get());
  set(natsOptions_SetSendAsap, settings.send_at_once);
  set(natsOptions_SetIOBufSize, kIoBufferBytes);
  set(natsOptions_SetWriteDeadline, int64_t{kWriteDeadlineMillis});
  set(natsOptions_SetPingInterval, int64_t{kPingIntervalMillis});
  set(natsOptions_SetMaxPingsOut, 2);
  set(natsOptions_SetFailRequestsOnDisconnect, true);
  set(natsOptions_SetMaxReconnect, -1);
  set(natsOptions_SetCustomReconnectDelay, reconnect_wait, static_cast<void*>(nullptr));
  // The reconnect buffer is effectively off: the outbox buffers the messages, and would not know
  // which messages nats.c sends from a buffer of its own.
  set(natsOptions_SetReconnectBufSize, 1);
  TRY(set.check(settings));
  return options;
}

Result<NatsOptionsHandle> make_attempt_options(const ConnectionSettings& settings) {
  NatsOptionsHandle options = TRY(make_login_options(settings));
  NatsOptionSetter set(options.get());
  set(natsOptions_SetAllowReconnect, false);
  set(natsOptions_SetTimeout, kAttemptMillis);
  TRY(set.check(settings));
  return options;
}

}  // namespace millrace
