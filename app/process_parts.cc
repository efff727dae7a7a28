#include "app/process_parts.h"

#include <spdlog/spdlog.h>

#include "cli/token_file.h"
#include "gateway/page_files.h"
#include "http/webhook.h"
#include "os/file_access.h"

namespace millrace {

Result<std::optional<BearerToken>> read_gateway_token(const std::string& file) {
  if (file.empty()) return std::nullopt;
  const std::string token = TRY(read_token_file(file));
  TRY(check_token_strength(token, file));
  if (const auto exposure = exposure_of(file)) spdlog::warn("token: {}", *exposure);
  return BearerToken(token);
}

ProcessParts::ProcessParts(ServerSettings its_settings, std::unique_ptr<JqPool> workers,
                           std::unique_ptr<Connection> for_reading,
                           std::unique_ptr<Connection> for_publishing,
                           std::unique_ptr<Connection> for_working)
    : settings(std::move(its_settings)),
      reading(std::move(for_reading)),
      publishing(std::move(for_publishing)),
      working(std::move(for_working)),
      publisher(std::make_unique<JetStreamPublisher>(
          *publishing, kAckTimeout, [this] { on_missing_stream(); }, settings.streams.prefix)),
      jq(std::move(workers)),
      webhooks(std::make_unique<Webhooks>(http, WebhookSettings{.origin = "millrace"})) {}

ProcessParts::~ProcessParts() = default;

Result<std::unique_ptr<ProcessParts>> ProcessParts::open(ServerSettings settings,
                                                         JqLauncher launcher) {
  auto jq = TRY(JqPool::start(std::move(launcher), {}));
  auto reading = TRY(Connection::open(settings.nats));
  ConnectionSettings for_publishing = settings.nats;
  for_publishing.name += " publishing";
  for_publishing.send_at_once = false;
  for_publishing.guarded = true;
  auto publishing = TRY(Connection::open(std::move(for_publishing)));
  ConnectionSettings for_working = settings.nats;
  for_working.name += " tasks";
  for_working.guarded = true;
  auto working = TRY(Connection::open(std::move(for_working)));
  return std::unique_ptr<ProcessParts>(new ProcessParts(std::move(settings), std::move(jq),
                                                        std::move(reading), std::move(publishing),
                                                        std::move(working)));
}

HttpServer::Options ProcessParts::gateway_options(std::optional<BearerToken> token) {
  return {.listen = settings.listen,
          .origins = settings.origins,
          .token = token,
          .page = embedded_page(),
          .session_realm = settings.cluster.name,
          .transport = {.memory_bytes = settings.bounds.http_memory},
          .on_token_failure = [this](const TokenFailure& failure) { note_token_failure(failure); }};
}

Status ProcessParts::start_gateway(Descriptor address, std::optional<BearerToken> token,
                                   Service& service) {
  gateway = TRY(HttpServer::start(gateway_options(token), std::move(address), service));
  return {};
}

Status ProcessParts::start_gateway(Descriptor address, std::optional<BearerToken> token,
                                   NodeFront& front) {
  gateway = TRY(HttpServer::start(gateway_options(token), std::move(address), front));
  return {};
}

void ProcessParts::note_token_failure(const TokenFailure& failure) {
  metrics.count_refused_token(failure.error.code != "token.wrong");
  if (const auto line = token_failures.note(failure, clock.elapsed())) spdlog::warn("{}", *line);
}

void ProcessParts::read_token_again() {
  auto token = read_gateway_token(settings.token_file);
  if (!token) return spdlog::error("{}; the previous token stays valid", token.error().message);
  gateway->replace_token(**token);
  spdlog::info("the token was read again from its file");
}

void ProcessParts::end_callbacks() {
  jq.reset();         // afterwards no evaluation result arrives
  publisher.reset();  // afterwards no acknowledgement arrives
  webhooks.reset();   // afterwards no result of a delivery arrives
}

}  // namespace millrace
