// The process dies when it passes a crash point (os/crash_point.h) while it archives instances.
// After the restart each deleted instance is in the archive once, and no line is incomplete.
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/archive_lines.h"
#include "tests/support/campaign.h"
#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

constexpr int kKilledWhileArchiving = 128 + SIGKILL;
constexpr size_t kArchived = 30;
constexpr int kMostPassings = 3;

class ArchiveCrash : public testing::Test {
 protected:
  ArchiveCrash() {
    MillraceServer server("nats://127.0.0.1:1");  // no server listens there
    server.start();
    const Json settings = {{"retention", {{"archive", true}}}};
    EXPECT_EQ(server.ask("PUT", "/v1/ns/default", dump_json(settings)).status, 200);
    server.apply("id: ends\nstates: [{id: a, type: noop}]\n");
    server.apply("id: waits\nstates: [{id: a, type: consumeEvent, event: {type: go}}]\n");
    for (size_t n = 0; n < kArchived; ++n) {
      ids_.insert(server.start_instance("ends", {{"n", n}}));
    }
    server.start_instance("waits", {{"n", 1}});
    EXPECT_TRUE(server.has_instances("status=complete", kArchived));
    server.stop();
    std::filesystem::copy(server.data(), prepared());
  }

  std::filesystem::path prepared() const { return folder_.path() / "prepared"; }

  /// Deletes all ended instances in a process with these faults, then restarts it without them.
  /// Returns how the first process ended; nullopt: it did not.
  std::optional<int> delete_all(const std::map<std::string, std::string>& faults) {
    MillraceServer server("nats://127.0.0.1:1", {}, MILLRACE_FAULTS_PROGRAM);
    std::filesystem::copy(prepared(), server.data());
    server.launch(faults);
    server.listens();  // it may die before
    const auto request = [&] {
      server.ask("POST", "instances/delete", R"({"status": ["complete"]})");
    };
    request();
    std::optional<int> code;
    EXPECT_TRUE(eventually([&] {
      if (!server.is_running()) {
        code = server.end().code;
        server.start();
        request();
      }
      const HttpReply left = server.ask("GET", "instances");
      return left.status == 200 && left.json().at("items").size() == 1;
    })) << server.process().errors();
    server.stop();
    EXPECT_EQ(archived_ids(server.data() / "archive" / "default.1" / "000001.jsonl"),
              std::multiset<std::string>(ids_.begin(), ids_.end()));
    return code;
  }

  Folder folder_;
  std::set<std::string> ids_;
};

TEST_F(ArchiveCrash, LosesAndRepeatsNoInstance) {
  Campaign campaign("crash points: archive", "each deleted instance once in the archive");
  for (const char* const point :
       {"line-archived", "page-archived", "gathered", "finished", "written", "committed"}) {
    int hits = 0;
    for (int passing = 1; passing <= kMostPassings; ++passing) {
      campaign.run(fmt::format("{}:{}", point, passing), [&] {
        const auto code = delete_all({{"MILLRACE_CRASH", fmt::format("{}:{}", point, passing)}});
        EXPECT_EQ(code.value_or(kKilledWhileArchiving), kKilledWhileArchiving);
        if (code) ++hits;
      });
    }
    EXPECT_GT(hits, 0) << "the point is never passed: " << point;
  }
}

}  // namespace
}  // namespace millrace
