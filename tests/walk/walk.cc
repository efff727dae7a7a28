// walk: sends one event to a whole server, and prints the calls between files that process it. The
// event wakes an instance in a consumeEvent state; the next state is a generateEvent; then the
// instance ends. The path goes from the reader of the stream to the acknowledgement of the
// generated event. Only `./dev walk` builds this program.
#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "app/server.h"
#include "expressions/workers/worker.h"
#include "tests/support/folder.h"
#include "tests/support/nats_fixture.h"
#include "tests/support/process.h"
#include "tests/walk/call_path.h"
#include "tests/walk/call_trace.h"

/// The address at which this program is loaded; the linker defines it.
extern "C" const char __executable_start;

namespace millrace {
namespace {

/// The number of events, sent one after another. Of their paths the shortest is printed, which has
/// no calls of a timer that fired by chance.
constexpr size_t kEvents = 20;

constexpr const char* kDefinition = R"(
id: walk
states:
- id: wait
  type: consumeEvent
  event: {type: walk.go, context: {which: jq(.which)}}
  transition: tell
- id: tell
  type: generateEvent
  event: {type: walk.gone, source: /walk, data: 1}
)";

[[noreturn]] void give_up(const std::string& why) {
  fmt::print(stderr, "walk: {}\n", why);
  std::exit(1);
}

Json ask(Service& service, Command command) {
  std::mutex mutex;
  std::condition_variable came;
  std::optional<Result<Json>> answer;
  service.command(std::move(command), [&](Result<Json> result) {
    const std::lock_guard lock(mutex);
    answer = std::move(result);
    came.notify_all();
  });
  std::unique_lock lock(mutex);
  came.wait(lock, [&] { return answer.has_value(); });
  if (!*answer) give_up(answer->error().message);
  return **answer;
}

void await(const std::string& what, const std::function<bool()>& holds) {
  if (!eventually(holds)) give_up("waited without success until the time limit: " + what);
}

/// The places of functions, from the debug information of this program.
class Places {
 public:
  explicit Places(std::string root) : root_(std::move(root)) {}

  void find(const std::vector<TracedThread>& threads) {
    std::set<const void*> functions;
    for (const TracedThread& thread : threads) {
      for (const TracedCall& call : thread.calls) {
        if (call.function != nullptr) functions.insert(call.function);
      }
    }
    const Folder folder;
    const auto addresses = folder.path() / "addresses";
    const auto answers = folder.path() / "answers";
    {
      std::ofstream out(addresses);
      for (const void* function : functions) {
        out << fmt::format("{:#x}\n", static_cast<const char*>(function) - &__executable_start);
      }
    }
    const std::string command = fmt::format("addr2line -f -C -e /proc/{}/exe < {} > {}", ::getpid(),
                                            addresses.string(), answers.string());
    if (std::system(command.c_str()) != 0) give_up("addr2line failed");
    std::ifstream in(answers);
    for (const void* function : functions) {
      std::string name;
      std::string line;
      std::getline(in, name);
      std::getline(in, line);
      places_[function] = {file_of(line.substr(0, line.rfind(':'))), name};
    }
  }

  const CodePlace& of(const void* function) const { return places_.at(function); }

 private:
  std::string file_of(std::string file) const {
    // With a compiler cache, the path may be relative to the folder of the build.
    file = (std::filesystem::path(MILLRACE_BINARIES) / file).lexically_normal().string();
    if (!file.starts_with(root_)) return "";
    file = file.substr(root_.size());
    if (file.starts_with("build/") || file.starts_with("tests/")) return "";
    return file.substr(0, file.rfind('.'));
  }

  std::string root_;
  std::map<const void*, CodePlace> places_;
};

PathRules rules() {
  return {.ignored = {"base/", "broker/nats_handles", "model/", "orchestrator/loop/work",
                      "orchestrator/ports/clock", "os/"},
          .libraries = {"cloudevents/", "expressions/", "language/", "matchers/",
                        "orchestrator/store/"}};
}

std::vector<FileVisit> play() {
  NatsServer broker;
  const Folder data;
  auto launcher = JqLauncher::start();
  if (!launcher) give_up(launcher.error().message);
  begin_trace();
  auto server = Server::start(
      {.data = data.path(), .listen = "127.0.0.1:0", .nats = {.servers = {broker.url()}}},
      *std::move(launcher));
  if (!server) give_up(server.error().message);
  Service& service = (*server)->service();
  await("ready", [&] { return service.ready().has_value(); });
  Loaded loaded = service.load_definition(kDefinition, "default");
  for (const Finding& finding : loaded.findings.sorted())
    fmt::print(stderr, "{}\n", finding.message);
  if (!loaded.workflow) give_up("the definition does not load");
  ask(service, ApplyWorkflow{.ns = "default", .text = kDefinition, .workflow = loaded.workflow});
  for (size_t i = 0; i < kEvents; ++i) {
    ask(service, StartInstance{
                     .ns = "default", .workflow = "walk", .input = {{"which", std::to_string(i)}}});
  }
  const auto client = broker.client();
  client->subscribe("millrace.generated.>");
  std::vector<int64_t> begins;
  const auto counts = [&](const std::string& line) {
    return service.metrics().find("\n" + line + "\n") != std::string::npos;
  };
  for (size_t i = 0; i < kEvents; ++i) {
    begins.push_back(trace_time());
    client->publish(
        "millrace.events.default.walk.go",
        fmt::format(
            R"({{"specversion":"1.0","id":"{}","source":"/t","type":"walk.go","which":"{}"}})", i,
            i),
        "");
    client->flush();
    await("the event is generated", [&] {
      return counts(fmt::format("millrace_events_published_total {}", i + 1)) &&
             counts("millrace_outbox_in_flight 0");
    });
  }
  begins.push_back(trace_time());
  const std::vector<TracedThread> threads = end_trace();
  server->reset();

  Places places(MILLRACE_SOURCES "/");
  places.find(threads);
  const CodePlaceOf place_of = [&](const void* function) -> const CodePlace& {
    return places.of(function);
  };
  std::vector<FileVisit> shortest;
  for (size_t i = 0; i < kEvents; ++i) {
    const auto visits = visits_of(threads, begins[i], begins[i + 1], place_of);
    auto steps = steps_of(visits, rules());
    if (shortest.empty() || steps.size() < shortest.size()) shortest = std::move(steps);
  }
  return shortest;
}

/// The names of the functions that the step calls, without the parts that all these names have in
/// common.
std::string shown(const FileVisit& step) {
  std::string names = fmt::format("{}", fmt::join(step.functions, ", "));
  for (const std::string_view same : {"millrace::", "[abi:cxx11]"}) {
    for (size_t at = names.find(same); at != std::string::npos; at = names.find(same)) {
      names.erase(at, same.size());
    }
  }
  return names;
}

/// The steps as a tree: children by parent, and the steps without a parent by thread.
struct Tree {
  explicit Tree(const std::vector<FileVisit>& all) : steps(all) {
    for (size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].parent) {
        inside[*steps[i].parent].push_back(i);
      } else {
        of_thread[steps[i].thread].push_back(i);
      }
    }
  }

  void print(size_t step, size_t depth) const {
    const FileVisit& one = steps[step];
    fmt::print("{:{}}{} -> {}  {}\n", "", 2 * depth, one.from.file, one.to.file, shown(one));
    const auto found = inside.find(step);
    if (found == inside.end()) return;
    for (const size_t next : found->second) print(next, depth + 1);
  }

  const std::vector<FileVisit>& steps;
  std::map<size_t, std::vector<size_t>> inside;
  std::map<std::string, std::vector<size_t>> of_thread;
};

void print(const std::vector<FileVisit>& steps) {
  const Tree tree(steps);
  for (const char* const thread : {"reader", "engine", "sender"}) {
    fmt::print("{}\n", thread);
    const auto found = tree.of_thread.find(thread);
    if (found == tree.of_thread.end()) continue;
    for (const size_t step : found->second) tree.print(step, 1);
  }
  std::map<std::string, size_t> entered;
  for (const FileVisit& step : steps) {
    ++entered[step.to.file];
    entered.try_emplace(step.from.file);
  }
  fmt::print("\n{} calls between {} files\nentered more than once:", steps.size(), entered.size());
  for (const auto& [file, times] : entered) {
    if (times > 1) fmt::print(" {} {}×", file, times);
  }
  fmt::print("\n");
}

/// Runs the program. With `--most N` it returns 1 if the path has more than N steps.
int run(const std::vector<std::string>& arguments) {
  spdlog::set_level(spdlog::level::err);
  const std::vector<FileVisit> steps = play();
  print(steps);
  if (arguments.size() < 2 || arguments[0] != "--most") return 0;
  const size_t most = std::stoul(arguments[1]);
  if (steps.size() <= most) return 0;
  fmt::print(stderr, "walk: {} calls between files are more than {}\n", steps.size(), most);
  return 1;
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  if (const std::optional<int> code = millrace::run_as_jq_process(argc, argv)) return *code;
  return millrace::run({argv + 1, argv + argc});
}
