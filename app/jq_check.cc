#include "app/jq_check.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "expressions/workers/launcher.h"
#include "expressions/workers/pool.h"
#include "orchestrator/definition/lint.h"

namespace millrace {
namespace {

using Texts = std::span<const std::string>;

/// Starts the jq workers. All of them may run checks at the same time, because the commands that
/// use them evaluate nothing meanwhile.
Result<std::unique_ptr<JqPool>> start_workers() {
  JqLauncher launcher = TRY(JqLauncher::start());
  const size_t workers = std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
  return JqPool::start(std::move(launcher), {.workers = workers, .checks_at_once = workers});
}

}  // namespace

Result<JqPool*> own_jq_workers() {
  static const Result<std::unique_ptr<JqPool>> pool = start_workers();
  if (!pool) return tl::unexpected(pool.error());
  return pool->get();
}

Loaded lint_definition(std::string_view text) {
  const Result<JqPool*> workers = own_jq_workers();
  const auto without_workers = [&](Texts texts) {
    return std::vector<std::optional<Error>>(texts.size(), workers.error());
  };
  const auto check = [&](Texts programs) {
    return workers ? (*workers)->check(programs) : without_workers(programs);
  };
  const auto check_schemas = [&](Texts schemas) {
    return workers ? (*workers)->check_schemas(schemas) : without_workers(schemas);
  };
  const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  return load_and_lint(text, check, check_schemas, {.now = now});
}

}  // namespace millrace
