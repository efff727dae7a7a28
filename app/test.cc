#include "app/test.h"

#include <future>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "app/jq_check.h"
#include "app/log.h"
#include "app/signals.h"
#include "expressions/workers/pool.h"
#include "scenarios/play.h"
#include "scenarios/report.h"
#include "scenarios/suite.h"

namespace millrace {
namespace {

/// How long to wait for the result of an evaluation; longer than a jq worker may take for one
/// evaluation.
constexpr std::chrono::seconds kEvaluationTime(60);

/// An Evaluator that returns only when it has the result, so that the scenario's clock does not
/// advance meanwhile and a scenario always has the same result.
Evaluator waiting_for(JqPool& worker) {
  return [&worker](const Evaluation& evaluation, const auto& done) {
    const auto answer = std::make_shared<std::promise<EvaluationResult>>();
    std::future<EvaluationResult> result = answer->get_future();
    worker.submit(0, evaluation, [answer](uint64_t, std::vector<QueryResult> results) {
      answer->set_value(std::move(results));
    });
    if (result.wait_for(kEvaluationTime) == std::future_status::ready) {
      done(result.get());
    } else {
      done({fail(std::string(kTaskTimeout), "no jq worker answered within 60 s")});
    }
  };
}

Fallible<std::vector<std::filesystem::path>> files_in(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> files;
  for (const std::string& path : paths) {
    const auto found = find_scenario_files(path);
    if (!found) return give_up(ExitCode::kNotFound, found.error().code, found.error().message);
    files.insert(files.end(), found->begin(), found->end());
  }
  return files;
}

}  // namespace

Ended test_workflows(Console& console, const TestOptions& options) {
  // Created before any thread starts, so that all threads inherit the blocked signals.
  const EndSignals signals;
  const Result<JqPool*> worker = own_jq_workers();
  if (!worker) return give_up(ExitCode::kFailed, worker.error().code, worker.error().message);
  log_to_stderr();
  spdlog::set_level(spdlog::level::err);

  const ProgramCheck check = [&](auto programs) { return (*worker)->check(programs); };
  const SchemaCheck check_schemas = [&](auto schemas) { return (*worker)->check_schemas(schemas); };
  const Evaluator evaluate = waiting_for(**worker);
  const PlayLimits limits{.interrupted = [&] { return signals.pending(); }};
  std::vector<SuiteReport> reports;
  ExitCode code = ExitCode::kOk;
  for (const auto& file : TRY(files_in(options.paths))) {
    SuiteReport report{.file = file.string()};
    LoadedSuite suite = load_suite(file, check, check_schemas);
    if (auto* wrong = std::get_if<std::vector<WrongFile>>(&suite)) {
      report.wrong = std::move(*wrong);
      code = ExitCode::kFindings;
    } else {
      const auto& scenarios = std::get<ScenarioFile>(suite);
      for (const Scenario& one : scenarios.scenarios) {
        if (one.name.find(options.only) == std::string::npos) continue;
        report.played.push_back(
            {one.name, one.at, play(one, scenarios.workflows, evaluate, limits)});
        if (signals.pending()) return ExitCode::kInterrupted;
        const bool passed = report.played.back().outcome.passed();
        if (!passed && code == ExitCode::kOk) code = ExitCode::kInstanceFailed;
      }
      if (report.played.empty()) continue;
    }
    if (!options.as_junit) console.out << render_text(report) << std::flush;
    reports.push_back(std::move(report));
  }
  if (reports.empty()) {
    return give_up(ExitCode::kNotFound, "scenario.not_found",
                   "no scenario found; check the paths and --only");
  }
  console.out << (options.as_junit ? render_junit(reports) : render_summary(reports));
  return code;
}

}  // namespace millrace
