// The process dies while it stores the files of an answer in pieces
// (orchestrator/loop/answer_stager.h): the next process erases them, calls the service again, and
// the values come whole from that answer.
#include <atomic>
#include <csignal>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/integration/files_of_call.h"
#include "tests/support/millrace_server.h"
#include "tests/unit/http/http_peer.h"

namespace millrace {
namespace {

constexpr int kKilledWhileStoring = 128 + SIGKILL;
/// Each of two values has so many bytes, so the pieces of both are in 24 reports.
constexpr size_t kBytesOfFile = size_t{3} << 20;
constexpr int kReportsWithPieces = 24;

constexpr const char* kDraws = R"(
id: draws
functions:
- {id: paint, type: knative-namespace, service: paint, files: [{key: text, scope: workflow}]}
states:
- {id: call, type: action, action: {function: paint}}
)";

/// The content of a file, which each call of the service has differently.
std::string picture(int call, char name) {
  std::string bytes(kBytesOfFile, name);
  bytes += fmt::format(" {}", call);
  return bytes;
}

class StoredFilesAfterCrashes : public testing::TestWithParam<const char*> {
 protected:
  std::string variable(const char* name) {
    return server.ask("GET", fmt::format("workflows/draws/variables/{}", name)).body;
  }

  NatsServer nats;
  MillraceServer server{nats.url(), {}, MILLRACE_FAULTS_PROGRAM};
  std::atomic<int> calls = 0;
};

TEST_P(StoredFilesAfterCrashes, AreWholeAndOfOneAnswer) {
  for (const int hit : {1, 2, kReportsWithPieces / 2, kReportsWithPieces, kReportsWithPieces + 1}) {
    SCOPED_TRACE(hit);
    HttpPeer peer([&](const HttpPeer::Request& request, HttpPeer::Connection& connection) {
      if (request.method != "POST") return connection.answer(200);
      const int call = ++calls;
      const FilesOfCall files(request.header("Millrace-Files"), request.header("Millrace-Key"));
      // The process may die at a report that comes before the answer.
      const bool is_there = files.put("out/workflow/one", picture(call, 'a')).status == 204 &&
                            files.put("out/workflow/two", picture(call, 'b')).status == 204;
      return is_there && connection.answer(200, R"("done")");
    });
    server.launch({{"MILLRACE_CRASH", fmt::format("{}:{}", GetParam(), hit)}});
    server.wait_until_it_listens();
    const Json settings = {{"services", {{"paint", {{"url", peer.url("/")}}}}}};
    ASSERT_EQ(server.ask("PUT", "/v1/ns/default", settings.dump()).status, 200);
    server.apply(kDraws);
    const int before = calls;
    const std::string id = server.start_instance("draws", Json::object());
    EXPECT_EQ(server.end().code, kKilledWhileStoring);
    server.start_ready();
    EXPECT_EQ(server.instance_once(id, "complete")["output"]["return"], "done");
    const int counted = calls;
    EXPECT_LE(counted, before + 2);
    EXPECT_TRUE(variable("one") == picture(counted, 'a'));
    EXPECT_TRUE(variable("two") == picture(counted, 'b'));
    server.stop();  // checks the store: no piece is left that no variable has
  }
}

INSTANTIATE_TEST_SUITE_P(CrashPoints, StoredFilesAfterCrashes,
                         testing::Values("result-applied", "report-stored"), [](const auto& point) {
                           std::string name = point.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace millrace
