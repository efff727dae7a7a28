#include "app/server.h"

#include <utility>

#include "app/process_parts.h"
#include "app/running_engine.h"
#include "orchestrator/batch/crash_note.h"
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
  auto engine = TRY(RunningEngine::make(*process, std::move(store)));
  std::unique_ptr<Server> server(new Server(std::move(process), std::move(engine)));
  CrashNote::note_crashes();
  // The gateway starts first, so that /readyz shows the progress; commands wait in the intake until
  // the engine thread runs.
  TRY(server->process_->start_gateway(std::move(address), token, server->service()));
  TRY(server->engine_->start());
  return server;
}

Server::Server(std::unique_ptr<ProcessParts> process, std::unique_ptr<RunningEngine> engine)
    : process_(std::move(process)), engine_(std::move(engine)) {}

Server::~Server() {
  if (process_->gateway) process_->gateway->stop();
  engine_.reset();
}

uint16_t Server::port() const { return process_->gateway->port(); }
void Server::read_token_again() { process_->read_token_again(); }
Service& Server::service() { return engine_->service(); }

}  // namespace millrace
