// `millrace verify`: of a folder that no server has, and of one that a server has open.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "orchestrator/store/tables.h"
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

  static Json report_of(const ProcessEnd& end) {
    EXPECT_TRUE(is_json(end.output)) << end.output << end.errors;
    return is_json(end.output) ? Json::parse(end.output) : Json::object();
  }
};

TEST_F(Verify, AsksTheServerThatHasTheFolderAndReadsOneThatNoServerHas) {
  millrace_.apply(kWait);
  millrace_.start_instance("wait", {{"n", 1}});
  const ProcessEnd running = verify();
  EXPECT_EQ(running.code, 0) << running.errors;
  EXPECT_EQ(report_of(running)["sound"], true);
  EXPECT_EQ(report_of(running)["rows"]["live"], 2);
  EXPECT_EQ(millrace_.cli({"verify", "-o", "json"}).code, 0) << "without a folder, too";

  millrace_.stop();
  const ProcessEnd stopped = verify();
  EXPECT_EQ(stopped.code, 0) << stopped.errors;
  EXPECT_EQ(report_of(stopped)["rows"]["live"], 2);
  EXPECT_THAT(stopped.errors, HasSubstr("rows checked, 0 findings"));
}

TEST_F(Verify, EndsWithOneWhereSomethingDoesNotFit) {
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
    const auto one = read_living(tx, NamespaceNumber(1), *parse_instance_id(id)).value();
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

// As releases did that erased no rows: the names of a namespace and of a workflow go, nothing else.
TEST_F(Verify, EndsWithZeroOnceTheDeletionsOfAnEarlierReleaseAreFinished) {
  constexpr const char* kDone = "id: done\nstates: [{id: a, type: noop}]\n";
  ASSERT_EQ(millrace_.cli({"namespace", "create", "a"}).code, 0);
  for (const char* const space : {"default", "a"}) {
    millrace_.apply(kDone, space);
    ASSERT_EQ(millrace_.cli({"-n", space, "run", "done", "--wait"}).code, 0);
  }
  millrace_.stop();
  {
    const auto environment = Environment::open(millrace_.data()).value();
    Transaction tx(*environment);
    erase_namespace(tx, "a");
    for (const uint32_t space : {1, 2}) erase_workflow(tx, NamespaceNumber(space), "done");
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
  EXPECT_EQ(millrace_.cli({"workflow", "delete", "1", "--leftovers"}).code, 3) << "done already";
  EXPECT_EQ(millrace_.cli({"namespace", "delete", "1", "--leftovers"}).code, 3) << "`default`";
  EXPECT_TRUE(eventually([&] { return verify().code == 0; }));
  EXPECT_EQ(millrace_.items("instances").size(), 1U);
  millrace_.stop();
  EXPECT_EQ(verify().code, 0);
}

/// LMDB trusts its pages: some damage ends the process that reads them.
TEST_F(Verify, EndsWithAFindingWhateverPageIsDamaged) {
  millrace_.apply(kWait);
  for (int i = 0; i < 40; ++i) millrace_.start_instance("wait", {{"n", std::string(500, 'x')}});
  millrace_.stop();
  ASSERT_TRUE(Environment::open(millrace_.data()).value()->checkpoint());
  constexpr std::streamoff kPage = 4'096;
  constexpr std::streamoff kFlags = 10;  // of a page's head
  const std::filesystem::path file = millrace_.data() / "data.mdb";
  const auto pages = static_cast<std::streamoff>(std::filesystem::file_size(file)) / kPage;
  size_t damaged = 0;
  for (std::streamoff page = 2; page < pages; ++page) {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(page * kPage + kFlags);
    const int before = bytes.get();
    const auto write = [&](int flags) {
      bytes.seekp(page * kPage + kFlags).put(static_cast<char>(flags)).flush();
    };
    write(before ^ 0x03);  // a leaf for a branch
    const ProcessEnd end = verify();
    EXPECT_TRUE(end.code == 0 || end.code == 1) << page << ": " << end.code << end.errors;
    EXPECT_EQ(report_of(end)["sound"], end.code == 0) << page;
    damaged += report_of(end)["codes"].contains("store.damaged") ? 1U : 0U;
    write(before);
  }
  EXPECT_GT(damaged, 0U);
  EXPECT_EQ(verify().code, 0);
}

TEST_F(Verify, NamesTheFolderWhereThereIsNoStore) {
  const TemporaryFolder folder;
  const ProcessEnd end = millrace_.cli({"verify", "--data", folder.path().string()});
  EXPECT_EQ(end.code, 3) << end.errors;
  EXPECT_THAT(end.errors, HasSubstr(folder.path().string()));
}

TEST_F(Verify, SaysSoonThatTheServerWhichHasTheFolderDoesNotAnswer) {
  millrace_.process().signal(SIGSTOP);
  const ProcessEnd end = verify();
  millrace_.process().signal(SIGCONT);
  EXPECT_EQ(end.code, 5) << end.errors;
  EXPECT_THAT(end.errors, HasSubstr("its server is asked for the check"));
  EXPECT_THAT(end.errors, HasSubstr("did not answer within 5 s"));
  EXPECT_THAT(end.errors, HasSubstr("kill -CONT"));
  millrace_.stop();
}

TEST_F(Verify, DoesNotTakeTheWordOfAServerThatHasAnotherFolder) {
  const NatsServer others_nats;
  MillraceServer other(others_nats.url());
  other.start();
  const ProcessEnd end =
      run_process({.command = {millrace_program(), "verify", "--data", millrace_.data().string()},
                   .environment = {{"MILLRACE_URL", other.url()}}});
  EXPECT_EQ(end.code, 6) << end.errors;
  EXPECT_THAT(end.errors, HasSubstr(other.data().string()));
  other.stop();
}

}  // namespace
}  // namespace millrace
