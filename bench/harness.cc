#include "bench/harness.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <thread>

#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <jemalloc/jemalloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"

namespace millrace {
namespace {

/// The millrace program of the same build folder.
std::filesystem::path binary() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "app" /
         "millrace";
}

/// The environment of this process, and core dumps: without them, neither a profiler of the same
/// user can attach to the server nor can its descriptors be counted. Earlier releases ignore the
/// variable, while they would refuse the flag.
std::vector<std::string> server_environment() {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) all.emplace_back(*variable);
  all.emplace_back("MILLRACE_CORE_DUMPS=on");
  return all;
}

size_t append(char* data, size_t size, size_t count, void* to) {
  static_cast<std::string*>(to)->append(data, size * count);
  return size * count;
}

/// A field of /proc/PID/status that has a number of KiB, in bytes.
int64_t status_bytes(int pid, std::string_view field) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::atoll(line.c_str() + field.size()) * 1024;
  }
  return 0;
}

void pause_briefly() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

}  // namespace

double processor_seconds(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  // After the name, which is in parentheses, utime is the 12th field and stime the 13th.
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string field;
  double ticks = 0;
  for (int i = 1; i <= 13 && fields >> field; ++i) {
    if (i >= 12) ticks += std::stod(field);
  }
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

size_t heap_bytes() {
  uint64_t now = 1;  // jemalloc updates its statistics only when the epoch is written
  CHECK(mallctl("epoch", nullptr, nullptr, &now, sizeof now) == 0);
  size_t bytes = 0;
  size_t size = sizeof bytes;
  CHECK(mallctl("stats.allocated", &bytes, &size, nullptr, 0) == 0);
  return bytes;
}

uint64_t bytes_on_disk(const std::filesystem::path& folder) {
  uint64_t bytes = 0;
  std::error_code error;  // the folder, or a file in it, may be removed at any time
  for (std::filesystem::directory_iterator at(folder, error), end; at != end; at.increment(error)) {
    struct stat file {};
    if (::lstat(at->path().c_str(), &file) != 0) continue;
    bytes += S_ISDIR(file.st_mode) ? bytes_on_disk(at->path())
                                   : static_cast<uint64_t>(file.st_blocks) * 512;
  }
  return bytes;
}

ProgramRun run_program(std::vector<std::string> command) {
  const Stopwatch watch;
  std::array<int, 2> output;
  CHECK(pipe2(output.data(), O_CLOEXEC) == 0);
  const Result<LaunchedProcess> process =
      launch({.command = std::move(command), .output = output[1]});
  close(output[1]);
  CHECK(process.has_value(), "{}", process.error().message);
  ProgramRun run;
  std::array<char, 4096> buffer;
  for (ssize_t size; (size = read(output[0], buffer.data(), buffer.size())) > 0;) {
    run.output.append(buffer.data(), static_cast<size_t>(size));
  }
  close(output[0]);
  std::optional<int> code;
  while (!code) code = wait_for_end(*process, Duration(1000));
  run.code = *code;
  run.seconds = watch.seconds();
  return run;
}

ProgramRun run_millrace(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), binary().string());
  return run_program(std::move(arguments));
}

double percentile(std::vector<double> samples, double part) {
  CHECK(!samples.empty());
  const auto nth =
      samples.begin() + static_cast<ptrdiff_t>(part * static_cast<double>(samples.size() - 1));
  std::nth_element(samples.begin(), nth, samples.end());
  return *nth;
}

MillraceProcess::MillraceProcess(std::filesystem::path data, std::string nats_url,
                                 std::vector<std::string> options, std::filesystem::path program)
    : data_(std::move(data)),
      nats_url_(std::move(nats_url)),
      options_(std::move(options)),
      program_(program.empty() ? binary() : std::move(program)) {}

MillraceProcess::~MillraceProcess() {
  if (process_) kill();
}

double MillraceProcess::start() {
  const Stopwatch watch;
  std::array<int, 2> log;
  CHECK(pipe(log.data()) == 0);
  const std::string listen = fmt::format("127.0.0.1:{}", listen_port_);
  std::vector<std::string> command = {program_,   "serve", "--data", data_,
                                      "--listen", listen,  "--nats", nats_url_};
  command.insert(command.end(), options_.begin(), options_.end());
  Result<LaunchedProcess> process = launch(
      {.command = std::move(command), .environment = server_environment(), .errors = log[1]});
  CHECK(process.has_value(), "{}", process.error().message);
  process_ = *std::move(process);
  close(log[1]);
  std::string text;
  port_ = 0;
  while (port_ == 0) {
    std::array<char, 4096> buffer;
    const ssize_t size = read(log[0], buffer.data(), buffer.size());
    CHECK(size > 0, "millrace did not start: {}", text);
    text.append(buffer.data(), static_cast<size_t>(size));
    const size_t at = text.find("on port ");
    if (at != std::string::npos) port_ = std::atoi(text.c_str() + at + 8);
  }
  // Copies the further log of the process to standard error, so that the process never blocks on a
  // full pipe.
  std::thread([fd = log[0]] {
    std::array<char, 4096> buffer;
    for (ssize_t size; (size = read(fd, buffer.data(), buffer.size())) > 0;) {
      if (write(STDERR_FILENO, buffer.data(), static_cast<size_t>(size)) < 0) break;
    }
    close(fd);
  }).detach();
  for (long status = 0; status != 200; pause_briefly()) {
    CHECK(!wait_for_end(*process_, Duration(0)), "millrace ended while it started");
    request("GET", "/readyz", "", &status);
  }
  return watch.seconds();
}

void MillraceProcess::stop() {
  constexpr Duration kMostEnd = std::chrono::minutes(1);
  ::kill(process_->pid, SIGTERM);
  CHECK(wait_for_end(*process_, kMostEnd), "millrace has not ended after a minute");
  process_.reset();
}

void MillraceProcess::kill() {
  kill_process(*process_);
  process_.reset();
}

std::string MillraceProcess::request(const std::string& method, const std::string& path,
                                     const std::string& body, long* status) {
  const std::string address = url() + path;
  std::string answer;
  CURL* curl = curl_easy_init();
  curl_easy_setopt(curl, CURLOPT_URL, address.c_str());
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method.c_str());
  // Without a content type, a body may be an event in the JSON format.
  curl_slist* const headers = curl_slist_append(nullptr, "Content-Type:");
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  if (!body.empty()) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  }
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
  if (curl_easy_perform(curl) == CURLE_OK) {
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, status);
  }
  curl_easy_cleanup(curl);
  curl_slist_free_all(headers);
  return answer;
}

void MillraceProcess::apply(const std::string& workflow_text, const std::string& id) {
  ask("PUT", "/v1/ns/default/workflows/" + id, workflow_text);
}

Json MillraceProcess::ask(const std::string& method, const std::string& path,
                          const std::string& body) {
  long status = 0;
  const std::string answer = request(method, path, body, &status);
  CHECK(status >= 200 && status < 300, "{} {}: status {}, {}", method, path, status, answer);
  Result<Json> json = parse_json(answer);
  CHECK(json.has_value(), "{} {}: {}", method, path, json.error().message);
  return *std::move(json);
}

std::string MillraceProcess::metrics() {
  long status = 0;
  return request("GET", "/metrics", "", &status);
}

void MillraceProcess::wait_for(const std::string& name, double value) {
  // The program writes all metrics for each reading, so they are not read often.
  while (metric(name) < value) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

std::string MillraceProcess::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

int64_t MillraceProcess::anonymous_memory() const { return status_bytes(pid(), "RssAnon:"); }

int64_t MillraceProcess::resident_memory() const { return status_bytes(pid(), "VmRSS:"); }

size_t MillraceProcess::open_descriptors() const {
  size_t count = 0;
  std::error_code error;
  const std::filesystem::path folder = fmt::format("/proc/{}/fd", pid());
  for (std::filesystem::directory_iterator at(folder, error), end; at != end; at.increment(error)) {
    ++count;
  }
  return count;
}

PlainClient::PlainClient(const std::string& url) {
  natsOptions* options = nullptr;
  natsOptions_Create(&options);
  natsOptions_SetURL(options, url.c_str());
  natsOptions_SetSendAsap(options, true);
  CHECK(natsConnection_Connect(&connection_, options) == NATS_OK);
  natsOptions_Destroy(options);
}

PlainClient::~PlainClient() {
  for (natsSubscription* one : subscriptions_) natsSubscription_Destroy(one);
  natsConnection_Destroy(connection_);
}

void PlainClient::subscribe(const std::string& subject, Heard heard) {
  heard_.push_back(std::make_unique<Heard>(std::move(heard)));
  natsSubscription* subscription = nullptr;
  CHECK(natsConnection_Subscribe(
            &subscription, connection_, subject.c_str(),
            [](natsConnection*, natsSubscription*, natsMsg* message, void* closure) {
              (*static_cast<Heard*>(closure))(
                  {natsMsg_GetData(message), static_cast<size_t>(natsMsg_GetDataLength(message))});
              natsMsg_Destroy(message);
            },
            heard_.back().get()) == NATS_OK);
  natsSubscription_SetPendingLimits(subscription, -1, -1);
  subscriptions_.push_back(subscription);
  flush();
}

void PlainClient::publish(const std::string& subject, std::string_view data) {
  CHECK(natsConnection_Publish(connection_, subject.c_str(), data.data(),
                               static_cast<int>(data.size())) == NATS_OK);
}

void PlainClient::flush() { CHECK(natsConnection_Flush(connection_) == NATS_OK); }

std::string event_text(std::string_view type, std::string_view id, std::string_view key) {
  return fmt::format(R"({{"specversion":"1.0","id":"{}","source":"bench","type":"{}","key":"{}",)"
                     R"("datacontenttype":"application/json","data":{{"filler":"{}"}}}})",
                     id, type, key, std::string(330, 'x'));
}

std::string with_key(std::string_view type, std::string_view id, std::string_view key) {
  return fmt::format(
      R"({{"specversion":"1.0","id":"{}","source":"bench","type":"{}","key":"{}",)"
      R"("datacontenttype":"application/json","data":{{"key":"{}","filler":"{}"}}}})",
      id, type, key, key, std::string(300, 'x'));
}

ScratchFolder make_run_folder() {
  auto folder =
      ScratchFolder::make_in(std::filesystem::read_symlink("/proc/self/exe").parent_path(), "run");
  CHECK(folder.has_value(), "{}", folder.error().message);
  return *std::move(folder);
}

Site::Site(std::string program) {
  auto started = DevServer::start({.folder = folder() / "nats", .program = std::move(program)});
  CHECK(started.has_value(), "{}", started.error().message);
  broker = std::move(*started);
}

void row(std::string_view what, std::string_view figure, std::string_view beside) {
  fmt::print("| {:<58} | {:>28} | {:<44} |\n", what, figure, beside);
  std::fflush(stdout);
}

}  // namespace millrace
