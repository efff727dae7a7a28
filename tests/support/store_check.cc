#include "tests/support/store_check.h"

#include <map>
#include <memory>
#include <mutex>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/has_code.h"
#include "orchestrator/service/store_check_options.h"

namespace millrace {
namespace {

/// The maximum number of loaded definitions; no test needs more.
constexpr size_t kMostLoaded = 512;

Result<std::shared_ptr<const Workflow>> load_once(std::string_view text) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Workflow>, std::less<>> loaded;
  const std::lock_guard lock(mutex);
  if (const auto found = loaded.find(text); found != loaded.end()) return found->second;
  if (loaded.size() >= kMostLoaded) loaded.clear();
  auto workflow = TRY(store_check_options().load(text));
  return loaded.emplace(text, std::move(workflow)).first->second;
}

void expect_sound(const Result<StoreReport>& report, std::string_view when) {
  if (!report) {
    ADD_FAILURE() << "the store cannot be checked " << when << ": " << report.error().message;
    return;
  }
  if (report->sound()) return;
  std::string lines;
  for (const StoreFinding& finding : report->findings) lines += "\n  " + to_string(finding);
  ADD_FAILURE() << report->count() << " findings of the store check " << when << ":" << lines;
}

}  // namespace

StoreCheckOptions test_check_options() {
  StoreCheckOptions options = store_check_options();
  options.load = load_once;
  options.most_findings = 20;
  return options;
}

void expect_sound(const View& view, std::string_view when) {
  expect_sound(check_store(view, test_check_options()), when);
}

void expect_sound_folder(const std::filesystem::path& folder, std::string_view when) {
  const auto report = check_folder(folder, {}, test_check_options());
  if (!report && has_code(report.error(), {"store.not_found", "store.joining"})) return;
  expect_sound(report, when);
}

}  // namespace millrace
