// `millrace verify`: of a folder that no server has, and of one that a server has open.
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
