#include "app/server.h"

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "app/process_parts.h"
#include "app/running_engine.h"
#include "broker/server_version.h"
#include "gateway/page_files.h"
#include "orchestrator/batch/crash_note_file.h"
#include "os/thread.h"

namespace millrace {

Result<Descriptor> Server::bind(const ServerSettings& settings) {
  return HttpServer::bind(settings.listen, !settings.token_file.empty());
}

Result<std::unique_ptr<Server>> Server::start(ServerSettings settings, JqLauncher launcher) {
  Descriptor address = TRY(bind(settings));
  return start(std::move(settings), std::move(address), std::move(launcher));
}

Result<std::unique_ptr<Server>> Server::start(ServerSettings settings, Descriptor address,
                                              JqLauncher launcher) {
  TRY(check_stream_options(settings.streams));
  // All threads that are started from here on inherit it, such as those of the NATS client.
  run_promptly();
  auto token = TRY(read_gateway_token(settings.token_file));
  auto store = TRY(open_store(settings));
  auto process = TRY(ProcessParts::open(std::move(settings), std::move(launcher)));
  std::unique_ptr<Server> server(new Server(std::move(process)));
  CrashNoteFile::note_crashes();
  if (!server->process_->settings.cluster.name.empty()) {
    TRY(server->start_node(std::move(store), std::move(address), token));
  } else {
    TRY(server->start_engine(std::move(store), std::move(address), token));
  }
  return server;
}

Server::Server(std::unique_ptr<ProcessParts> process) : process_(std::move(process)) {}

Server::~Server() {
  if (process_->gateway) process_->gateway->stop();
  node_.reset();
  engine_.reset();
}

// The gateway starts first, so that /readyz shows the progress; commands wait in the intake until
// the engine thread runs.
Status Server::start_engine(std::unique_ptr<Environment> store, Descriptor address,
                            std::optional<BearerToken> token) {
  engine_ = TRY(RunningEngine::make(*process_, std::move(store)));
  TRY(process_->start_gateway(std::move(address), token, engine_->service()));
  return engine_->start(process_->settings.is_ending);
}

Status Server::start_node(std::unique_ptr<Environment> store, Descriptor address,
                          std::optional<BearerToken> token) {
  NodeEvents events{.on_service = [this](Service& service) { process_->gateway->serve(service); },
                    .on_active_changed =
                        [this] {
                          if (process_->gateway) process_->gateway->active_changed();
                        },
                    .on_lead_lost =
                        [this] {
                          if (process_->gateway) process_->gateway->stop_waiting_for_log();
                        },
                    .on_end =
                        [this](NodeEnd how) {
                          {
                            const std::lock_guard lock(mutex_);
                            if (end_) return;
                            end_ = std::move(how);
                            ended_.notify_all();
                          }
                          process_->settings.on_node_end();
                        }};
  node_ = TRY(ClusterNode::make(*process_, std::move(store), std::move(events)));
  TRY(process_->start_gateway(std::move(address), token, *node_));
  node_->start();
  return {};
}

NodeEnd Server::leave() {
  if (!node_) return {};
  node_->ask_to_stop();
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return end_.has_value(); });
  return *end_;
}

uint16_t Server::port() const { return process_->gateway->port(); }
void Server::warn_of_old_broker() const {
  if (node_ || !process_->reading->connected()) return;
  const std::string warning =
      warning_of_server_version(server_version(*process_->reading).value_or(""));
  if (!warning.empty()) spdlog::warn("{}", warning);
}

std::string Server::page_url() const {
  if (embedded_page().empty()) return "";
  const std::string& listen = process_->settings.listen;
  const std::string_view host = std::string_view(listen).substr(0, listen.rfind(':'));
  const bool is_any = host.empty() || host == "0.0.0.0" || host == "[::]";
  return fmt::format("http://{}:{}/", is_any ? "127.0.0.1" : host, port());
}

void Server::read_token_again() { process_->read_token_again(); }
Service& Server::service() { return engine_->service(); }

}  // namespace millrace
