// Functions: the entries of `functions`, and how an action combines the policies of its function
// with its own policies.
#include "orchestrator/definition/functions.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "states/calling_state.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Expiry = Timeout::Expiry;
using Lines = std::vector<std::string>;

class Functions : public testing::Test {
 protected:
  /// Reads an entry of `functions`; null if it has no id.
  std::shared_ptr<const Function> function(const std::string& text) {
    const Node node = parsed(text);
    const Mapping& grammar = *workflow_grammar().find("functions")->object;
    {
      Fields fields(node, "f", findings_, grammar);
      read_function(fields, context_);
    }
    const Member* const id = node.find("id");
    const auto found = context_.functions.find(id == nullptr ? "" : id->value.text);
    return found == context_.functions.end() ? nullptr : found->second;
  }

  /// Reads an action. `retries` is the retry policy of its state, if any.
  ActionPolicy policy(const std::string& action, const std::optional<RetryPolicy>& retries = {}) {
    return read_action(action, retries).policy;
  }
  Action read_action(const std::string& action, const std::optional<RetryPolicy>& retries = {}) {
    const Node node = parsed(action);
    const Mapping& grammar = *state_grammar().kind("action")->find("action")->object;
    Fields fields(node, "a", findings_, grammar);
    StateFields state(fields, context_);
    return Action::load(state, retries);
  }

  /// The findings since the last call, as `line:column path: message [code]`.
  Lines findings() {
    Lines out;
    for (const Finding& one : findings_.sorted()) {
      out.push_back(fmt::format("{}:{} {}: {} [{}]", one.at.line, one.at.column, one.path,
                                one.message, one.code));
    }
    findings_ = {};
    return out;
  }

  LoadContext& context() { return context_; }

 private:
  Node parsed(const std::string& text) {
    std::optional<Node> node = parse_document(text, findings_);
    if (!node) throw std::invalid_argument(text);
    return std::move(*node);
  }

  Findings findings_;
  LoadContext context_{.findings = findings_};
};

RetryPolicy attempts(uint32_t count) { return {.attempts = count}; }

TEST_F(Functions, AreReadWithAllTheirKeys) {
  const auto subflow = function("{id: a, type: subflow, workflow: other}");
  ASSERT_NE(subflow->subflow(), nullptr);
  EXPECT_EQ(subflow->subflow()->workflow, "other");

  const auto global = function("{id: b, type: knative-global, service: mail}");
  EXPECT_EQ(std::get<NamedService>(global->runs).name, "mail");
  EXPECT_TRUE(std::get<NamedService>(global->runs).global);
  const auto local = function("{id: c, type: knative-namespace, service: mail}");
  EXPECT_FALSE(std::get<NamedService>(local->runs).global);

  const auto reusable = function(
      "{id: d, type: reusable, image: 'reg:5000/a/b-c_d:1.2', cmd: run -x, size: large, scale: 2}");
  const Container kept{
      .image = "reg:5000/a/b-c_d:1.2", .cmd = "run -x", .size = ContainerSize::kLarge, .scale = 2};
  EXPECT_EQ(std::get<Container>(reusable->runs), kept);
  const auto isolated = function("{id: e, type: isolated, image: tool, size: medium}");
  const Container once{.isolated = true, .image = "tool", .size = ContainerSize::kMedium};
  EXPECT_EQ(std::get<Container>(isolated->runs), once);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Functions, AcceptEachTypeUnderMillracesNameAndUnderDirektivsName) {
  struct Row {
    const char* plain;
    const char* direktiv;
  };
  const Row rows[] = {
      {"type: service, service: mail", "type: knative-namespace, service: mail"},
      {"type: service, global: false, service: mail", "type: knative-namespace, service: mail"},
      {"type: service, global: true, service: mail", "type: knative-global, service: mail"},
      {"type: container, image: tool", "type: isolated, image: tool"},
      {"type: container-pool, image: tool, scale: 2", "type: reusable, image: tool, scale: 2"},
  };
  for (size_t i = 0; i < std::size(rows); ++i) {
    const auto plain = function(fmt::format("{{id: a{}, {}}}", i, rows[i].plain));
    const auto direktiv = function(fmt::format("{{id: b{}, {}}}", i, rows[i].direktiv));
    ASSERT_EQ(plain->runs.index(), direktiv->runs.index()) << rows[i].plain;
    if (const auto* const service = std::get_if<NamedService>(&plain->runs)) {
      EXPECT_EQ(*service, std::get<NamedService>(direktiv->runs)) << rows[i].plain;
    } else {
      EXPECT_EQ(std::get<Container>(plain->runs), std::get<Container>(direktiv->runs));
    }
  }
  EXPECT_THAT(findings(), IsEmpty());

  function("{id: c, type: knative-namespace, service: mail, global: true}");
  EXPECT_THAT(findings(),
              ElementsAre(AllOf(HasSubstr("f.global"), HasSubstr("[definition.unknown_key]"))));
}

TEST_F(Functions, HaveDefaultsForOptionalKeys) {
  const auto reusable = function("{id: a, type: reusable, image: tool}");
  EXPECT_EQ(std::get<Container>(reusable->runs), Container{.image = "tool"});
  EXPECT_THAT(reusable->files, IsEmpty());
  EXPECT_FALSE(reusable->policy.retries);
  EXPECT_EQ(reusable->policy.timeouts, TimeoutPolicy{});
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Functions, AreReadWithTheirFiles) {
  const auto made = function(R"(
id: a
type: knative-global
service: mail
files:
- key: plain
- {key: text, scope: workflow, as: conf/app.txt, type: base64}
- {key: bundle, scope: namespace, as: conf/more, type: tar}
- {key: packed, scope: instance, type: tar.gz}
)");
  EXPECT_THAT(findings(), IsEmpty());
  ASSERT_EQ(made->files.size(), 4U);
  const auto row = [](const FunctionFile& file) {
    return fmt::format("{} {} {} {}", file.key, to_string(file.scope), file.as,
                       static_cast<int>(file.type));
  };
  EXPECT_EQ(row(made->files[0]), "plain instance plain 0");
  EXPECT_EQ(row(made->files[1]), "text workflow conf/app.txt 1");
  EXPECT_EQ(row(made->files[2]), "bundle namespace conf/more 2");
  EXPECT_EQ(row(made->files[3]), "packed instance packed 3");
}

TEST_F(Functions, AreRefusedWithTheReason) {
  struct Row {
    const char* text;
    const char* finding;
  };
  const char* const kTypes =
      "\"service\", \"container\", \"container-pool\", \"subflow\", \"knative-namespace\", "
      "\"knative-global\", \"isolated\", \"reusable\"";
  EXPECT_NE(function("{id: a, type: subflw, workflow: b}"), nullptr);
  EXPECT_THAT(findings(),
              ElementsAre(fmt::format("1:15 f.type: type is \"subflw\"; write one of {}; did you "
                                      "mean \"subflow\"? [definition.value]",
                                      kTypes)));
  for (const Row& row : std::vector<Row>{
           {"{id: b}", "1:1 f.type: \"type\" is missing [definition.missing]"},
           {"{type: subflow, workflow: b}", "1:1 f.id: \"id\" is missing [definition.missing]"},
           {"{id: c, type: subflow}",
            "1:1 f.workflow: \"workflow\" is missing "
            "[definition.missing]"},
           {"{id: d, type: subflow, workflow: b, files: []}",
            "1:37 f.files: \"files\" is not a known key here [definition.unknown_key]"},
           {"{id: e, type: knative-global}",
            "1:1 f.service: \"service\" is missing [definition.missing]"},
           {"{id: f, type: knative-namespace, service: 'a b'}",
            "1:43 f.service: \"a b\" is not an identifier; write 1 to 128 letters, digits, \".\", "
            "\"-\" or \"_\" [definition.identifier]"},
           {"{id: g, type: reusable}", "1:1 f.image: \"image\" is missing [definition.missing]"},
           {"{id: h, type: isolated, image: ''}",
            "1:32 f.image: image is empty; write a value [definition.empty]"},
           {"{id: i, type: isolated, image: --privileged}",
            "1:32 f.image: \"--privileged\" is not an image name; write one such as "
            "registry.example/team/tool:1.2 [definition.value]"},
           {"{id: j, type: isolated, image: a b}",
            "1:32 f.image: \"a b\" is not an image name; write one such as "
            "registry.example/team/tool:1.2 [definition.value]"},
           {"{id: k, type: isolated, image: a, size: huge}",
            "1:41 f.size: size is \"huge\"; write one of \"small\", \"medium\", \"large\" "
            "[definition.value]"},
           {"{id: l, type: reusable, image: a, scale: -1}",
            "1:42 f.scale: scale is -1; it must be between 0 and 1000 [definition.value]"},
           {"{id: m, type: reusable, image: a, scale: 1001}",
            "1:42 f.scale: scale is 1001; it must be between 0 and 1000 [definition.value]"},
           {"{id: n, type: isolated, image: a, cmd: [run]}",
            "1:40 f.cmd: cmd is a list; write a string [definition.type]"},
           {"{id: o, type: isolated, image: a, retries: {maxAttempts: 3}}",
            "1:44 f.retries: the keys of this policy fit several vocabularies: steep or stevora; "
            "add `vocabulary: steep` or `vocabulary: stevora` [definition.vocabulary]"},
       }) {
    function(row.text);
    EXPECT_THAT(findings(), ElementsAre(row.finding)) << row.text;
  }
  function("{id: twice, type: subflow, workflow: a}");
  function("{id: twice, type: subflow, workflow: b}");
  EXPECT_THAT(findings(), ElementsAre("1:6 f.id: another function has the id \"twice\" already "
                                      "[definition.duplicate_id]"));
}

TEST_F(Functions, RefuseFilesThatAreNotValid) {
  struct Row {
    const char* files;
    const char* finding;
  };
  for (const Row& row : std::vector<Row>{
           {"[{}]", "1:46 f.files[0].key: \"key\" is missing [definition.missing]"},
           {"[{key: 1st}]",
            "1:52 f.files[0].key: \"1st\" cannot name a variable: a letter, then up to 99 letters, "
            "digits, `_`, `-` and `.` [definition.variable_key]"},
           {"[{key: k, scope: thread}]",
            "1:62 f.files[0].scope: scope is \"thread\"; write one of \"instance\", \"workflow\", "
            "\"namespace\" [definition.value]"},
           {"[{key: k, type: zip}]",
            "1:61 f.files[0].type: type is \"zip\"; write one of \"plain\", \"base64\", \"tar\", "
            "\"tar.gz\" [definition.value]"},
           {"[{key: k, as: ../k}]",
            "1:59 f.files[0].as: \"../k\" is not a valid file name: expected a path within the "
            "function's folder and outside its `out` [definition.file_name]"},
           {"[{key: k, as: /k}]",
            "1:59 f.files[0].as: \"/k\" is not a valid file name: expected a path within the "
            "function's folder and outside its `out` [definition.file_name]"},
           {"[{key: k, as: a//k}]",
            "1:59 f.files[0].as: \"a//k\" is not a valid file name: expected a path within the "
            "function's folder and outside its `out` [definition.file_name]"},
           {"[{key: k, as: .}]",
            "1:59 f.files[0].as: \".\" is not a valid file name: expected a path within the "
            "function's folder and outside its `out` [definition.file_name]"},
           {"[{key: k, as: out/instance/k}]",
            "1:59 f.files[0].as: \"out/instance/k\" is not a valid file name: expected a path "
            "within the function's folder and outside its `out` [definition.file_name]"},
           {"[{key: out}]",
            "1:52 f.files[0].key: \"out\" is not a valid file name: expected a path within the "
            "function's folder and outside its `out` [definition.file_name]"},
           {"[{key: k, as: ''}]",
            "1:59 f.files[0].as: \"\" is not a valid file name: expected a path within the "
            "function's folder and outside its `out` [definition.file_name]"},
           {"[{key: k, as: \"a\\tb\"}]",
            "1:59 f.files[0].as: \"a\\x09b\" is not a valid file name: expected a path within the "
            "function's folder and outside its `out` [definition.file_name]"},
           {"[{key: k}, {key: k, scope: workflow}]",
            "1:62 f.files[1].key: another file already has the name \"k\" [definition.file_name]"},
           {"[{key: a}, {key: b, as: a}]",
            "1:69 f.files[1].as: another file already has the name \"a\" [definition.file_name]"},
           {"[{key: a}, {key: b, as: a/b}]",
            "1:69 f.files[1].as: \"a\" and \"a/b\" cannot both be files: one would be inside the "
            "other "
            "[definition.file_name]"},
           {"[{key: a, as: a/b}, {key: b, as: a}]",
            "1:78 f.files[1].as: \"a/b\" and \"a\" cannot both be files: one would be inside the "
            "other "
            "[definition.file_name]"},
       }) {
    function(fmt::format("{{id: a, type: isolated, image: tool, files: {}}}", row.files));
    Lines found = findings();
    // All rows of this table define a function with the same id.
    std::erase_if(found, [](const std::string& one) { return one.ends_with("duplicate_id]"); });
    EXPECT_THAT(found, ElementsAre(row.finding)) << row.files;
  }
}

TEST_F(Functions, PassTheirThrottleToActionsWithoutAThrottle) {
  function(
      "{id: f, type: service, service: s, "
      "throttle: {limit: 50, period: 1s, key: jq(.customer), timeout: PT5M}}");
  function("{id: g, type: service, service: s}");
  const auto throttle = read_action("{function: f}").flow.throttle;
  ASSERT_TRUE(throttle);
  EXPECT_EQ(throttle->rate.limit, 50U);
  EXPECT_EQ(throttle->rate.period.fixed, 1s);
  EXPECT_TRUE(throttle->rate.key);
  ASSERT_TRUE(throttle->timeout);
  EXPECT_EQ(throttle->timeout->fixed, 5min);
  const auto own = read_action("{function: f, throttle: {limit: 2, period: PT1M}}").flow.throttle;
  ASSERT_TRUE(own);
  EXPECT_EQ(own->rate.limit, 2U);
  EXPECT_FALSE(own->rate.key);
  EXPECT_FALSE(own->timeout);
  EXPECT_FALSE(read_action("{function: g}").flow.throttle);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Functions, PassTheirRetryPolicyToActionsWithoutARetryPolicy) {
  function("{id: f, type: subflow, workflow: w, retries: 'fixed(3, 1s)'}");
  function("{id: g, type: subflow, workflow: w}");
  context().default_retries = attempts(9);
  EXPECT_EQ(policy("{function: f, retries: 'fixed(5, 1s)'}", attempts(4)).retries->attempts, 5U);
  EXPECT_EQ(policy("{function: f}", attempts(4)).retries->attempts, 4U);
  EXPECT_EQ(policy("{function: f}").retries->attempts, 3U);
  EXPECT_EQ(policy("{function: g}").retries->attempts, 9U);
  context().default_retries.reset();
  EXPECT_FALSE(policy("{function: g}").retries);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Functions, PassEachTimeoutToActionsThatDoNotSetThisTimeout) {
  function("{id: f, type: subflow, workflow: w, maxInactivity: 1m, timeout: 1h}");
  const TimeoutPolicy timeouts =
      policy("{function: f, maxInactivity: {timeout: 5m, errorOnTimeout: true}}").timeouts;
  EXPECT_EQ(timeouts[TimeoutKind::kHeartbeat], (Timeout{Span{.fixed = 5min}, Expiry::kRetryable}));
  EXPECT_EQ(timeouts[TimeoutKind::kScheduleToClose], (Timeout{Span{.fixed = 1h}, Expiry::kFinal}));
  EXPECT_EQ(timeouts[TimeoutKind::kStartToClose], std::nullopt);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Functions, HaveTemporalsDefaultRetryPolicyIfTheyOrTheActionSetATemporalTimeout) {
  function("{id: f, type: subflow, workflow: w, startToCloseTimeout: 1m}");
  function("{id: g, type: subflow, workflow: w, startToCloseTimeout: 1m, retries: 'fixed(3, 1s)'}");
  function("{id: h, type: subflow, workflow: w}");
  context().default_retries = attempts(9);
  for (const char* action : {"{function: f}", "{function: h, scheduleToCloseTimeout: 1h}"}) {
    const RetryPolicy retries = policy(action).retries.value();
    EXPECT_EQ(retries.attempts, std::nullopt) << action;
    EXPECT_EQ(retries.window, Span{.months = 120}) << action;
  }
  EXPECT_EQ(policy("{function: g}").retries->attempts, 3U);
  EXPECT_EQ(policy("{function: f}", attempts(4)).retries->attempts, 4U);
  EXPECT_EQ(policy("{function: h, maxRuntime: 1m}").retries->attempts, 9U);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Functions, LimitEachAttemptByATemporalScheduleToCloseTimeout) {
  function("{id: f, type: subflow, workflow: w}");
  const TimeoutPolicy temporal = policy("{function: f, scheduleToCloseTimeout: 1h}").timeouts;
  EXPECT_EQ(temporal[TimeoutKind::kStartToClose], (Timeout{Span{.fixed = 1h}, Expiry::kRetryable}));
  for (const char* action :
       {"{function: f, timeout: 1h}", "{function: f, deadline: 1h, heartbeatTimeout: 1m}"}) {
    EXPECT_EQ(policy(action).timeouts[TimeoutKind::kStartToClose], std::nullopt) << action;
  }
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Functions, RequireAStartToCloseOrScheduleToCloseTimeoutBesideAnotherTemporalTimeout) {
  function("{id: f, type: subflow, workflow: w, heartbeatTimeout: 1m}");
  function("{id: g, type: subflow, workflow: w}");
  EXPECT_THAT(findings(), IsEmpty());
  const std::string wanted =
      "the action needs a startToCloseTimeout or a scheduleToCloseTimeout [definition.missing]";
  policy("{function: f}");
  EXPECT_THAT(findings(),
              ElementsAre("1:12 a.function: with a heartbeatTimeout of its function " + wanted));
  policy("{function: g, scheduleToStartTimeout: 5m}");
  EXPECT_THAT(findings(), ElementsAre("1:39 a.scheduleToStartTimeout: with a "
                                      "scheduleToStartTimeout " +
                                      wanted));
  for (const char* bound : {"startToCloseTimeout", "scheduleToCloseTimeout", "maxRuntime"}) {
    policy(fmt::format("{{function: f, {}: 5m}}", bound));
    EXPECT_THAT(findings(), IsEmpty()) << bound;
  }
}

}  // namespace
}  // namespace millrace
