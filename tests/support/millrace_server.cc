#include "tests/support/millrace_server.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <sstream>

#include <fmt/format.h>

#include "base/check.h"
#include "tests/support/answer_check.h"
#include "tests/support/file_bytes.h"
#include "tests/support/store_check.h"

namespace millrace {
namespace {

/// Holds an answer against the OpenAPI document (forwarder_to).
std::string fault_of_answer(uint16_t port, std::string_view method, std::string_view target,
                            const HttpReply& reply) {
  static std::mutex lock;
  static std::unique_ptr<AnswerCheck> check;
  const std::lock_guard guard(lock);
  if (reply.status == 0) return "";
  if (!check) {
    const HttpReply document = request(port, "GET", "/v1/openapi.json");
    if (document.status != 200) return "";
    check = std::make_unique<AnswerCheck>(document.json());
  }
  return check->fault_of(method, target, reply);
}

std::string full_path(std::string_view path) {
  if (path.starts_with('/')) return std::string(path);
  return fmt::format("/v1/ns/default/{}", path);
}

}  // namespace

std::string millrace_program() { return MILLRACE_PROGRAM; }

std::string path_with_millrace() {
  const char* path = std::getenv("PATH");
  return fmt::format("{}:{}", std::filesystem::path(millrace_program()).parent_path().string(),
                     path == nullptr ? "/usr/bin:/bin" : path);
}

std::unique_ptr<AnswerForwarder> forwarder_to(uint16_t port) {
  return std::make_unique<AnswerForwarder>(
      port, [port](std::string_view method, std::string_view target, const HttpReply& reply) {
        return fault_of_answer(port, method, target, reply);
      });
}

std::string MillraceServer::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

AnswerForwarder& MillraceServer::forwarder() const {
  CHECK(process_, "the server does not run");
  if (!forwarder_) forwarder_ = forwarder_to(port_);
  return *forwarder_;
}

std::vector<std::string> complaints_in(const std::string& log) {
  std::vector<std::string> found;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string time, level;
    words >> time >> level;
    // The nats-server of the machine may be old.
    if (line.find("the NATS server has version") != std::string::npos) continue;
    if (level != "info") found.push_back(line);
  }
  return found;
}

std::vector<std::string> MillraceServer::command() const {
  std::vector<std::string> command = {program_,   "serve", "--data", data().string(),
                                      "--listen", listen_, "--nats", nats_url_};
  command.insert(command.end(), arguments_.begin(), arguments_.end());
  return command;
}

void MillraceServer::launch(std::map<std::string, std::string> environment) {
  CHECK(!process_, "the server runs already");
  environment.insert(environment_.begin(), environment_.end());
  process_ =
      std::make_unique<Process>(ProcessSettings{.command = command(), .environment = environment});
}

void MillraceServer::start() {
  launch();
  wait_until_it_listens();
}

bool MillraceServer::listens() {
  constexpr std::string_view kPort = " listens on port ";
  const std::optional<std::string> line = process_->error_line(kPort);
  if (!line) return false;
  port_ = static_cast<uint16_t>(std::stoi(line->substr(line->find(kPort) + kPort.size())));
  forwarder_.reset();  // it connects to the port of the former process
  return true;
}

void MillraceServer::wait_until_it_listens() {
  const bool started = listens();
  CHECK(started, "millrace did not start:\n{}", process_->errors());
}

void MillraceServer::start_ready() {
  start();
  const bool ready = eventually([this] { return ask("GET", "/readyz").status == 200; });
  CHECK(ready, "millrace did not become ready:\n{}", process_->errors());
}

void MillraceServer::kill() {
  process_->signal(SIGKILL);
  process_->wait();
  CHECK(process_->group_ends(), "a process outlived the server");
  process_.reset();
  expect_sound_folder(data(), "after a kill");
}

void MillraceServer::kill_after(Duration time) {
  CHECK(!process_->wait(time), "millrace has ended by itself:\n{}", process_->errors());
  kill();
}

ProcessEnd MillraceServer::end() {
  const std::optional<int> code = process_->wait();
  CHECK(code.has_value(), "the server did not end:\n{}", process_->errors());
  CHECK(process_->group_ends(), "a process outlived the server");
  process_->wait_for_streams();
  ProcessEnd end{.code = *code, .output = process_->output(), .errors = process_->errors()};
  process_.reset();
  expect_sound_folder(data(), fmt::format("after an end with code {}", end.code));
  return end;
}

void MillraceServer::stop() {
  process_->signal(SIGTERM);
  const ProcessEnd how = end();
  EXPECT_EQ(how.code, 0) << how.errors;
}

HttpReply MillraceServer::ask(std::string_view method, std::string_view path, std::string_view body,
                              const Headers& headers) const {
  const std::string target = full_path(path);
  HttpReply reply = request(port_, method, target, headers, body);
  EXPECT_EQ(fault_of_answer(port_, method, target, reply), "")
      << method << " " << target << " → " << reply.status << " " << reply.body;
  return reply;
}

Json MillraceServer::get(std::string_view path) const {
  const HttpReply reply = ask("GET", path);
  CHECK(reply.status == 200, "GET {}: {} {}", path, reply.status, reply.body);
  return reply.json();
}

std::vector<Json> MillraceServer::items(std::string_view path) const {
  return get(path).at("items").get<std::vector<Json>>();
}

std::vector<Json> MillraceServer::items_of_all_pages(const std::string& path) const {
  std::vector<Json> all;
  Json page = get(path);
  while (true) {
    for (Json& item : page.at("items")) all.push_back(std::move(item));
    if (page.at("next").is_null()) return all;
    page = get(path + "&cursor=" + page.at("next").get<std::string>());
  }
}

Json MillraceServer::apply(std::string_view definition, std::string_view ns) const {
  const size_t at = definition.starts_with("id: ") ? 0 : definition.find("\nid: ") + 1;
  const size_t end = definition.find('\n', at);
  const std::string_view id = definition.substr(at + 4, end - at - 4);
  const HttpReply reply = ask("PUT", fmt::format("/v1/ns/{}/workflows/{}", ns, id), definition);
  CHECK(reply.status == 200, "{}: {} {}", id, reply.status, reply.body);
  return reply.json();
}

std::string MillraceServer::start_instance(std::string_view workflow, const Json& input) const {
  const HttpReply reply =
      ask("POST", fmt::format("workflows/{}/start", workflow), dump_json(input));
  CHECK(reply.status == 201, "{}: {} {}", workflow, reply.status, reply.body);
  return reply.json().at("id");
}

Json MillraceServer::instance_once(const std::string& id, std::string_view status) const {
  Json last;
  const bool has_it = eventually([&] {
    last = instance(id);
    return last.at("status") == status;
  });
  EXPECT_TRUE(has_it) << "expected status " << status << ": " << last;
  return last;
}

Json MillraceServer::only_instance_once(const std::string& workflow,
                                        std::string_view status) const {
  const std::string query = fmt::format("workflow={}", workflow);
  EXPECT_TRUE(has_instances(query, 1)) << workflow;
  const std::vector<Json> all = items("instances?" + query);
  CHECK(!all.empty(), "there is no instance of {}", workflow);
  return instance_once(all.front().at("id"), status);
}

std::vector<Json> MillraceServer::history(const std::string& id) const {
  return items("instances/" + id + "/history");
}

bool MillraceServer::has_instances(const std::string& query, size_t count) const {
  return eventually([&] { return instances(query).size() == count; });
}

std::vector<Json> MillraceServer::instances(const std::string& query) const {
  std::vector<Json> all;
  const std::string path = fmt::format("instances?limit=1000{}{}", query.empty() ? "" : "&", query);
  std::string cursor;
  do {
    const Json page = get(fmt::format("{}&cursor={}", path, cursor));
    for (const Json& item : page.at("items")) all.push_back(item);
    cursor = page.at("next").is_null() ? "" : page.at("next").get<std::string>();
  } while (!cursor.empty());
  return all;
}

bool MillraceServer::has_usage(size_t live, size_t ended) const {
  return eventually([&] {
    const Json namespaces = get("/v1/info").at("store").at("namespaces");
    return std::any_of(namespaces.begin(), namespaces.end(), [&](const Json& one) {
      return one.at("namespace") == "default" && one.at("live") == live && one.at("ended") == ended;
    });
  });
}

ProcessEnd MillraceServer::cli(const std::vector<std::string>& arguments, std::string input) const {
  std::vector<std::string> command = {millrace_program()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_process({.command = std::move(command),
                      .environment = {{"MILLRACE_URL", process_ ? checked_url() : url()}},
                      .input = std::move(input)});
}

std::string read_repository_file(const std::string& path) {
  std::string bytes = file_bytes(path);
  CHECK(!bytes.empty(), "there is no file {}: tests run from the root of the repository", path);
  return bytes;
}

}  // namespace millrace
