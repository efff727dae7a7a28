// What an operator does about instances, workflows and services.
#include <chrono>

#include <fmt/format.h>

#include "cli/verbs.h"

namespace millrace {
namespace {

constexpr const char* kPage = "250";

/// Shows how far it is, on a terminal, once it takes long enough for anybody to ask.
class Progress {
 public:
  explicit Progress(Session& session) : session_(session) {}
  ~Progress() {
    if (shown_) session_.console.err << '\n';
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void at(size_t done) {
    constexpr std::chrono::milliseconds kPatience(500);
    if (!session_.console.out_is_terminal) return;
    if (std::chrono::steady_clock::now() - begin_ < kPatience) return;
    session_.console.err << fmt::format("\r{} done", done) << std::flush;
    shown_ = true;
  }

 private:
  Session& session_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool shown_ = false;
};

using Parameters = std::vector<std::pair<std::string, std::string>>;

Ended control_all(Session& session, const std::string& verb, const Parameters& filter,
                  const Parameters& how) {
  Progress progress(session);
  Parameters query = filter;
  query.insert(query.end(), how.begin(), how.end());
  query.emplace_back("limit", kPage);
  query.emplace_back("all", "1");
  query.emplace_back("cursor", "");
  size_t done = 0;
  std::vector<std::string> refused;
  while (true) {
    const Reply page = TRY(session.client.send(
        {.method = "POST", .path = session.path({"instances", verb}), .query = query}));
    done += page.body["done"].get<size_t>();
    for (const Json& one : page.body["refused"]) {
      refused.push_back(fmt::format("{} [{}]\n", one["detail"].get<std::string>(),
                                    one["code"].get<std::string>()));
    }
    progress.at(done + refused.size());
    if (!page.body["next"].is_string()) break;
    query.back().second = page.body["next"];
  }
  for (const std::string& why : refused) session.console.err << why;
  session.output.item({{"done", done}, {"refused", refused.size()}}, "done");
  return refused.empty() ? ExitCode::kOk : ExitCode::kConflict;
}

}  // namespace

Ended control_instances(Session& session, const std::string& verb, const ControlOptions& options) {
  const Parameters how = {{"now", options.now ? "1" : ""},
                          {"extend", options.extend ? "1" : ""},
                          {"from", options.from}};
  const std::string since = TRY(moment_of(options.filter.since, session.console.now()));
  const Parameters filter = {
      {"workflow", options.filter.workflow}, {"status", options.filter.status}, {"since", since}};
  const bool has_filter = options.all || !options.filter.workflow.empty() ||
                          !options.filter.status.empty() || !since.empty();
  if (options.id.empty() == !has_filter) {
    return wrong_usage(
        "name one instance by its id, or all that a filter names: --workflow, --status, --since, "
        "--all");
  }
  if (has_filter) return control_all(session, verb, filter, how);
  const Reply reply = TRY(session.client.send(
      {.method = "POST", .path = session.path({"instances", options.id, verb}), .query = how}));
  session.output.item(reply.body, "id");
  return ExitCode::kOk;
}

Ended control_workflow(Session& session, const std::string& verb, const std::string& id) {
  const Reply reply = TRY(session.client.send(
      {.method = "POST", .path = session.path({"workflows", id, verb}), .timeout = {}}));
  session.output.item(reply.body, "id");
  return ExitCode::kOk;
}

Ended control_function(Session& session, const std::string& verb, const std::string& service) {
  const Reply reply = TRY(
      session.client.send({.method = "POST", .path = session.path({"functions", service, verb})}));
  session.output.item(reply.body, "name");
  return ExitCode::kOk;
}

}  // namespace millrace
