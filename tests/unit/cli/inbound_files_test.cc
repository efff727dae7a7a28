// Inbound files as arguments of `workflow apply` and `lint`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cli/cli_fixture.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kOrders = "sources:\n  orders:\n    stream: ORDERS\n";
constexpr const char* kOrdersAndPay =
    "sources:\n  orders:\n    stream: ORDERS\n    rate: 10\nhooks:\n  pay:\n"
    "    verify: {form: stripe, secrets: [stripe]}\n    mapping: {type: payment.made}\n";

class InboundFiles : public CliTest {
 protected:
  std::string folder() const { return folder_.string(); }
};

TEST_F(InboundFiles, AreAppliedBehindTheWorkflowsOfTheirFolder) {
  file("inbound.yaml", kOrders);
  file("order.yaml", "id: order\nstates: []\n");
  const CommandOutput first = run({"workflow", "apply", folder()});
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.err, "");
  EXPECT_EQ(first.out,
            "KIND      NAME    REVISION  OUTCOME\n"
            "workflow  order   1         created\n"
            "source    orders  -         created\n");
  file("inbound.yaml", kOrdersAndPay);
  const CommandOutput second = run({"workflow", "apply", folder()});
  EXPECT_EQ(second.out,
            "KIND      NAME    REVISION  OUTCOME\n"
            "workflow  order   1         unchanged\n"
            "source    orders  -         changed\n"
            "webhook   pay     -         created\n")
      << second.err;
  EXPECT_EQ(run({"workflow", "apply", folder(), "-o", "name"}).out, "order\norders\npay\n");
  EXPECT_THAT(run({"workflow", "apply", folder()}).out, HasSubstr("pay     -         unchanged"));
}

TEST_F(InboundFiles, MakeTypesThatTheWorkflowsOfTheirFolderMayWaitFor) {
  file("order.yaml", "id: order\nstart: {type: event, event: {type: unmade.order}}\nstates: []\n");
  file("inbound.yaml", kOrders);
  EXPECT_THAT(run({"workflow", "apply", folder(), "--dry-run"}).err,
              HasSubstr("start.event.type: unmade; mend it [lint.event_unknown]"));
  file("inbound.yaml",
       "sources:\n  orders: {stream: ORDERS, mapping: {type: 'unmade.jq(.data.kind)'}}\n");
  const CommandOutput applied = run({"workflow", "apply", folder(), "-o", "json"});
  EXPECT_EQ(applied.err, "");
  EXPECT_THAT(applied.out, Not(HasSubstr("warnings")));
}

TEST_F(InboundFiles, LeaveWarningsAboutLimitsToTheFilesThatAreAppliedTogether) {
  const auto calling = [](const std::string& id, const std::string& limit) {
    return "id: " + id + "\nfunctions: [{id: f, type: service, service: bank" + limit +
           "}]\nstates: [{id: a, type: action, action: {function: f}, timeout: 1h}]\n";
  };
  const std::string pay = file("pay.yaml", calling("pay", ""));
  file("settle.yaml", calling("settle", ", concurrency: {limit: 2}"));
  const CommandOutput applied = run({"workflow", "apply", folder()});
  EXPECT_EQ(applied.code, 0) << applied.err;
  EXPECT_EQ(applied.err,
            pay +
                ":2:45: warning: functions[0].service: workflow \"settle\" lets 2 calls of the "
                "service \"bank\" run at once, and calls of this function have no `concurrency`, "
                "so they neither count nor wait; write `concurrency: {limit: 2}` in the function, "
                "unless its calls may exceed the limit [lint.limit_not_kept]\n");
  file("pay.yaml", calling("pay", ", concurrency: {limit: 2}"));
  EXPECT_EQ(run({"workflow", "apply", folder()}).err, "");
}

TEST_F(InboundFiles, AddTheirInboundWebhooksToTheOtherSettings) {
  ASSERT_EQ(run({"namespace", "create", "default", "--settings",
                 R"({"lifecycle": true, "hooks": {"git": {"verify": {"form": "github",
                     "secrets": ["git"]}, "mapping": {"type": "push"}}}})"})
                .code,
            0);
  const CommandOutput applied = run({"workflow", "apply", file("inbound.yaml", kOrdersAndPay)});
  EXPECT_EQ(applied.code, 0) << applied.err;
  const Json settings =
      Json::parse(run({"namespace", "get", "default", "-o", "json"}).out)["settings"];
  EXPECT_EQ(settings["lifecycle"], true);
  EXPECT_TRUE(settings["hooks"].contains("git"));
  EXPECT_EQ(settings["hooks"]["pay"]["verify"]["form"], "stripe");
}

TEST_F(InboundFiles, LeaveAnInboundWebhookPausedUnlessTheySayOtherwise) {
  const std::string path = file("inbound.yaml", kOrdersAndPay);
  const auto is_paused = [&] {
    const Json shown = Json::parse(run({"namespace", "get", "default", "-o", "json"}).out);
    return shown["settings"]["hooks"]["pay"].value("paused", false);
  };
  const struct {
    const char* added;  ///< to the inbound webhook in the file
    bool is_paused;     ///< afterwards; before, it is paused
    const char* outcome;
  } rows[] = {{"", true, "unchanged"},
              {"    paused: true\n", true, "unchanged"},
              {"    paused: false\n", false, "changed"}};
  ASSERT_EQ(run({"workflow", "apply", path}).code, 0);
  for (const auto& row : rows) {
    ASSERT_EQ(run({"webhook", "pause", "pay"}).code, 0);
    file("inbound.yaml", std::string(kOrdersAndPay) + row.added);
    EXPECT_THAT(run({"workflow", "apply", path}).out,
                HasSubstr(std::string("pay     -         ") + row.outcome))
        << row.added;
    EXPECT_EQ(is_paused(), row.is_paused) << row.added;
  }
}

TEST_F(InboundFiles, ReportWhatIsNotInThemAndKeepIt) {
  const std::string path = file("inbound.yaml", kOrdersAndPay);
  ASSERT_EQ(run({"workflow", "apply", path}).code, 0);
  file("inbound.yaml", "sources:\n  others:\n    stream: OTHERS\n");
  const CommandOutput applied = run({"workflow", "apply", path});
  EXPECT_EQ(applied.code, 0);
  EXPECT_EQ(applied.err,
            "source \"orders\" is in none of the files, and stays; `millrace source delete orders` "
            "deletes it\n"
            "inbound webhook \"pay\" is in none of the files, and stays; `millrace webhook delete "
            "pay` deletes it\n");
  EXPECT_EQ(run({"source", "list", "-o", "name"}).out, "orders\nothers\n");
}

TEST_F(InboundFiles, ChangeNothingInADryRun) {
  const std::string path = file("inbound.yaml", kOrdersAndPay);
  EXPECT_EQ(run({"workflow", "apply", path, "--base-revision", "1"}).code, 2)
      << "it is of a definition";
  const CommandOutput dry = run({"workflow", "apply", path, "--dry-run"});
  EXPECT_THAT(dry.out, HasSubstr("source   orders  -         would change")) << dry.err;
  EXPECT_EQ(run({"source", "list", "-o", "name"}).out, "");
}

TEST_F(InboundFiles, NameThePositionOfTheirMistakesAndOfThoseThatTheServerFinds) {
  const std::string wrong = file("wrong.inbound.yaml", "sources:\n  orders:\n    strem: ORDERS\n");
  const std::string none = file("none.inbound.yaml",
                                "sources:\n  more: {stream: MORE}\n  none: {stream: NONE}\nhooks:\n"
                                "  pay:\n    verify: {form: stripe, secrets: [none]}\n"
                                "    mapping: {type: payment.made}\n");
  const CommandOutput applied = run({"workflow", "apply", folder(), "-o", "name"});
  EXPECT_EQ(applied.code, 7);
  EXPECT_EQ(applied.out, "more\n") << "the other entries are applied";
  EXPECT_THAT(applied.err,
              HasSubstr(wrong + ":3:12: error: sources.orders.strem: unknown setting"));
  EXPECT_THAT(applied.err, HasSubstr(none + ":3:18: error: sources.none.stream: the broker has no "
                                            "such stream [source.no_stream]\n"));
  EXPECT_THAT(applied.err, HasSubstr(none + ":6:38: error: hooks.pay.verify.secrets[0]: no such "
                                            "secret [settings.invalid]\n"));

  const CommandOutput lint = run({"lint", folder()});
  EXPECT_EQ(lint.code, 7);
  EXPECT_THAT(lint.out, HasSubstr(wrong + ":3:12: error: "));
  EXPECT_EQ(lint.out.find(none), std::string::npos) << "lint asks no server";
  EXPECT_EQ(run({"lint", none}).code, 0);
}

TEST_F(InboundFiles, AreLintedTogetherWithTheWorkflowsOfTheirFolder) {
  const std::string order = file("order.yaml",
                                 "id: order\nstart: {type: event, event: {type: order.placed}}\n"
                                 "states: [{id: a, type: noop}]\n");
  const auto inbound_file = [&](const std::string& type) {
    return file("inbound.yaml",
                "sources:\n  orders:\n    stream: ORDERS\n    mapping: {type: " + type + "}\n");
  };
  const std::string inbound = inbound_file("order.placed");
  EXPECT_EQ(run({"lint", "--strict", folder()}).out, "");
  inbound_file("order.placd");
  const CommandOutput lint = run({"lint", folder()});
  EXPECT_EQ(lint.code, 0) << lint.err;
  EXPECT_EQ(lint.out,
            order +
                ":2:36: warning: start.event.type: no source, inbound webhook or workflow of these "
                "files makes events of the type \"order.placed\"; correct the type, unless other "
                "programs publish these events [lint.event_unknown]\n" +
                inbound +
                ":4:21: warning: sources.orders.mapping.type: no workflow of these files starts on "
                "the type \"order.placd\", or waits for such events; correct the type, or add the "
                "workflow [lint.event_unawaited]\n");
  EXPECT_EQ(run({"lint", "--strict", inbound, order}).code, 7);
  EXPECT_EQ(run({"lint", "--strict", order}).code, 0) << "nothing is known of other files";
  EXPECT_EQ(run({"lint", "--strict", inbound}).code, 0);
  const Json report = Json::parse(run({"lint", folder(), "-o", "json"}).out);
  EXPECT_EQ(report["files"][1]["file"], inbound);
  EXPECT_EQ(report["files"][1]["errors"][0]["code"], "lint.event_unawaited");
  EXPECT_EQ(report["files"][1]["errors"][0]["line"], 4);
}

TEST_F(InboundFiles, AreNotAppliedToANamespaceThatDoesNotExist) {
  const CommandOutput applied =
      run({"-n", "nowhere", "workflow", "apply", file("inbound.yaml", kOrders)});
  EXPECT_EQ(applied.code, 3);
  EXPECT_THAT(applied.err, HasSubstr("there is no namespace \"nowhere\""));
}

}  // namespace
}  // namespace millrace
