// `millrace verify`, with and without a server that has the data folder open.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "orchestrator/store/disk/page_check.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

using testing::HasSubstr;

constexpr const char* kWait = R"(
id: wait
states:
- {id: a, type: consumeEvent, event: {type: go}}
)";

class Verify : public MillraceTest {
 protected:
  ProcessEnd verify(const std::string& format = "json") const {
    return millrace_.cli({"verify", "--data", millrace_.data().string(), "-o", format});
  }

  /// The end of a command that asks a running server. On a busy machine the server may not answer
  /// within 5 s; then the command is run again.
  static ProcessEnd once_answered(const std::function<ProcessEnd()>& ask) {
    constexpr int kNoAnswer = 5;
    ProcessEnd end;
    EXPECT_TRUE(eventually([&] { return (end = ask()).code != kNoAnswer; })) << end.errors;
    return end;
  }

  static Json report_of(const ProcessEnd& end) {
    EXPECT_TRUE(is_json(end.output)) << end.output << end.errors;
    return is_json(end.output) ? Json::parse(end.output) : Json::object();
  }
};

TEST_F(Verify, ChecksTheFolderOfARunningAndOfAStoppedServer) {
  millrace_.apply(kWait);
  millrace_.instance_once(millrace_.start_instance("wait", {{"n", 1}}), "waiting");
  const ProcessEnd running = once_answered([&] { return verify(); });
  EXPECT_EQ(running.code, 0) << running.errors;
  EXPECT_EQ(report_of(running)["sound"], true);
  EXPECT_EQ(report_of(running)["rows"]["live"], 2);
  EXPECT_EQ(millrace_.cli({"verify", "-o", "json"}).code, 0) << "without --data";

  millrace_.stop();
  const ProcessEnd stopped = verify();
  EXPECT_EQ(stopped.code, 0) << stopped.errors;
  EXPECT_EQ(report_of(stopped)["rows"]["live"], 2);
  EXPECT_THAT(stopped.errors, HasSubstr("rows checked, 0 findings"));
}

TEST_F(Verify, ExitsWithOneOnAFinding) {
  millrace_.apply(kWait);
  const std::string id = millrace_.start_instance("wait", Json::object());
  millrace_.stop();
  const auto change = [&](const auto& write) {
    const auto environment = Environment::open(millrace_.data()).value();
    Transaction tx(*environment);
    write(tx);
    ASSERT_TRUE(tx.commit());
  };
  change([&](Transaction& tx) {
    const auto one = read_live(tx, NamespaceNumber(1), *parse_instance_id(id)).value();
    Instance stuck = *one;
    stuck.listeners.clear();
    write_instance(tx, stuck, {});
  });

  const ProcessEnd found = verify();
  EXPECT_EQ(found.code, 1) << found.errors;
  const Json report = report_of(found);
  EXPECT_EQ(report["sound"], false);
  EXPECT_EQ(report["codes"], (Json{{"instance.stuck", 1}}));
  EXPECT_EQ(report["items"][0]["instance"], id);
  const ProcessEnd table = verify("table");
  EXPECT_EQ(table.code, 1);
  EXPECT_THAT(table.output, HasSubstr("instance.stuck"));
  EXPECT_THAT(table.output, HasSubstr(id));
  EXPECT_THAT(table.errors, HasSubstr("1 finding\n"));
}

// Earlier releases did not erase rows: a deletion removed only the name of a namespace or workflow.
TEST_F(Verify, ExitsWithZeroAfterTheLeftoversOfAnEarlierReleaseAreDeleted) {
  constexpr const char* kDone = "id: done\nstates: [{id: a, type: noop}]\n";
  ASSERT_EQ(millrace_.cli({"namespace", "create", "a"}).code, 0);
  for (const char* const ns : {"default", "a"}) {
    millrace_.apply(kDone, ns);
    ASSERT_EQ(millrace_.cli({"-n", ns, "run", "done", "--wait"}).code, 0);
  }
  millrace_.stop();
  {
    const auto environment = Environment::open(millrace_.data()).value();
    Transaction tx(*environment);
    erase_namespace(tx, "a");
    for (const uint32_t ns : {1, 2}) erase_workflow(tx, NamespaceNumber(ns), "done");
    ASSERT_TRUE(tx.commit());
  }
  const ProcessEnd before = verify();
  EXPECT_EQ(before.code, 1);
  EXPECT_EQ(report_of(before)["codes"], (Json{{"namespace.missing", 1}, {"workflow.missing", 2}}));
  EXPECT_THAT(before.output, HasSubstr("millrace namespace delete NUMBER --leftovers"));

  millrace_.start_ready();
  const ProcessEnd erased = millrace_.cli({"namespace", "delete", "2", "--leftovers"});
  EXPECT_EQ(erased.code, 0) << erased.errors;
  const ProcessEnd kept = millrace_.cli({"workflow", "delete", "1", "--leftovers"});
  EXPECT_EQ(kept.code, 0) << kept.errors;
  EXPECT_EQ(millrace_.cli({"workflow", "delete", "1", "--leftovers"}).code, 3) << "already deleted";
  EXPECT_EQ(millrace_.cli({"namespace", "delete", "1", "--leftovers"}).code, 3)
      << "the namespace default exists";
  EXPECT_TRUE(eventually([&] { return verify().code == 0; }));
  EXPECT_EQ(millrace_.items("instances").size(), 1U);
  millrace_.stop();
  EXPECT_EQ(verify().code, 0);
}

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The pages of data.mdb that were written at some time: they begin with their number.
std::vector<size_t> written_pages(const std::filesystem::path& file) {
  constexpr size_t kPage = 4'096;
  const std::string bytes = bytes_of(file);
  std::vector<size_t> pages;
  for (size_t page = 0; (page + 1) * kPage <= bytes.size(); ++page) {
    uint64_t number = 0;
    std::memcpy(&number, bytes.data() + page * kPage, sizeof number);
    if (number == page) pages.push_back(page);
  }
  return pages;
}

/// Damages a page of data.mdb in one of several ways; the destructor restores the page.
class DamagedPage {
 public:
  static constexpr size_t kBytes = 4'096;
  static constexpr size_t kWays = 4;

  DamagedPage(std::filesystem::path file, size_t page)
      : file_(std::move(file)), at_(page * kBytes), whole_(bytes_of(file_).substr(at_, kBytes)) {}
  ~DamagedPage() { write(whole_); }
  DamagedPage(const DamagedPage&) = delete;
  DamagedPage& operator=(const DamagedPage&) = delete;

  void damage(size_t way) const {
    constexpr size_t kFlags = 10;
    constexpr size_t kLower = 12;
    constexpr size_t kFirstOffset = 16;
    std::string page = whole_;
    if (way == 0) page[kFlags] = static_cast<char>(page[kFlags] ^ 0x03);  // a leaf for a branch
    if (way == 1) page[kLower] = static_cast<char>(page[kLower] ^ 0x06);
    if (way == 2) page[kFirstOffset] = static_cast<char>(page[kFirstOffset] ^ 0x40);
    if (way == 3) page.assign(kBytes, '\0');
    write(page);
  }

 private:
  void write(const std::string& bytes) const {
    std::fstream out(file_, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(at_));
    out << bytes;
  }

  const std::filesystem::path file_;
  const size_t at_;
  const std::string whole_;
};

TEST_F(Verify, FindsDamagedPagesAndMillraceRefusesToStartWithThem) {
  millrace_.apply(kWait);
  for (int i = 0; i < 40; ++i) millrace_.start_instance("wait", {{"n", std::string(500, 'x')}});
  millrace_.stop();  // after that, data.mdb has all rows
  const std::filesystem::path file = millrace_.data() / "data.mdb";
  size_t found = 0;
  for (const size_t page : written_pages(file)) {
    const DamagedPage damaged(file, page);
    for (size_t way = 0; way < DamagedPage::kWays; ++way) {
      SCOPED_TRACE(fmt::format("page {}, way {}", page, way));
      damaged.damage(way);
      if (PageCheck::open(file)->run().count == 0)
        continue;  // the check does not read the damaged byte
      const ProcessEnd end = verify();
      const Json report = report_of(end);
      EXPECT_EQ(end.code, 1) << end.errors;
      EXPECT_EQ(report["sound"], false) << end.errors;
      EXPECT_EQ(report["codes"].begin().key(), "store.damaged") << report;
      EXPECT_THAT(report["items"][0]["key"].get<std::string>(), testing::StartsWith("page "));
      if (found++ % 10 != 0) continue;
      const ProcessEnd refused = run_process({.command = millrace_.command()});
      EXPECT_EQ(refused.code, 1) << refused.errors;
      EXPECT_THAT(refused.errors, HasSubstr("store.corrupt"));
      EXPECT_THAT(refused.errors, HasSubstr("millrace verify --data"));
    }
  }
  EXPECT_GT(found, 60U);
  EXPECT_EQ(verify().code, 0);
  millrace_.start();
  millrace_.stop();
}

TEST_F(Verify, FindsADamagedPageWhileTheServerRuns) {
  millrace_.apply(kWait);
  for (int i = 0; i < 40; ++i) millrace_.start_instance("wait", {{"n", std::string(500, 'x')}});
  millrace_.stop();
  millrace_.start_ready();
  const std::filesystem::path file = millrace_.data() / "data.mdb";
  size_t found = 0;
  for (const size_t page : written_pages(file)) {
    if (page < 2) continue;  // with a damaged meta page the next commit would be wrong
    const DamagedPage damaged(file, page);
    damaged.damage(page % DamagedPage::kWays);
    if (PageCheck::open(file)->run().count == 0) continue;
    const Json report = millrace_.get("/v1/verify");
    ++found;
    EXPECT_EQ(report["sound"], false) << page;
    EXPECT_EQ(report["codes"].begin().key(), "store.damaged") << report;
  }
  EXPECT_GT(found, 15U);
  EXPECT_EQ(millrace_.get("/v1/verify")["sound"], true);
  millrace_.stop();
}

TEST_F(Verify, ReportsAFolderThatHasNoStore) {
  const Folder folder;
  const ProcessEnd end = millrace_.cli({"verify", "--data", folder.path().string()});
  EXPECT_EQ(end.code, 3) << end.errors;
  EXPECT_THAT(end.errors, HasSubstr(folder.path().string()));
}

TEST_F(Verify, ReportsAServerThatDoesNotAnswer) {
  millrace_.process().signal(SIGSTOP);
  const ProcessEnd end = verify();
  millrace_.process().signal(SIGCONT);
  EXPECT_EQ(end.code, 5) << end.errors;
  EXPECT_THAT(end.errors, HasSubstr("the server that uses it is asked for the check"));
  EXPECT_THAT(end.errors, HasSubstr("did not answer within 5 s"));
  EXPECT_THAT(end.errors, HasSubstr("kill -CONT"));
  millrace_.stop();
}

TEST_F(Verify, RejectsTheReportOfAServerWithAnotherFolder) {
  const NatsServer others_nats;
  MillraceServer other(others_nats.url());
  other.start();
  const ProcessEnd end = once_answered([&] {
    return run_process(
        {.command = {millrace_program(), "verify", "--data", millrace_.data().string()},
         .environment = {{"MILLRACE_URL", other.checked_url()}}});
  });
  EXPECT_EQ(end.code, 6) << end.errors;
  EXPECT_THAT(end.errors, HasSubstr(other.data().string()));
  other.stop();
}

}  // namespace
}  // namespace millrace
