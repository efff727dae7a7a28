// The command line against a gateway whose service is in memory: what it prints and how it ends.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "cli/app.h"
#include "cli/definition_files.h"
#include "cli/token_file.h"
#include "gateway/http_server.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

constexpr const char* kId = FakeService::kInstance;

Loaded fake_load(std::string_view text) { return FakeService().load_definition(text, ""); }

ServeOptions g_served;
DevOptions g_developed;

int fake_serve(const ServeOptions& options) {
  g_served = options;
  return 0;
}
int fake_dev(const DevOptions& options) {
  g_developed = options;
  return 1;
}

TestOptions g_tested;
Ended fake_test(Console&, const TestOptions& options) {
  g_tested = options;
  return ExitCode::kInstanceFailed;
}

VerifyOptions g_verified;
Ended fake_verify(Session& session, const VerifyOptions& options) {
  g_verified = options;
  session.output.item(TRY(session.client.send({.path = "/v1/verify"})).body, "sound");
  return ExitCode::kFailed;
}

struct Printed {
  int code = 0;
  std::string out;
  std::string err;
};

class Cli : public testing::Test {
 protected:
  void SetUp() override {
    auto started = HttpServer::start({.listen = "127.0.0.1:0"}, service_);
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
    env_["MILLRACE_URL"] = fmt::format("http://127.0.0.1:{}", server_->port());
    std::string folder = (std::filesystem::temp_directory_path() / "millrace-cli-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Printed run(std::vector<std::string> arguments, const std::string& input = "") {
    std::istringstream in(input);
    std::ostringstream out;
    std::ostringstream err;
    Console console{.in = in,
                    .out = out,
                    .err = err,
                    .out_is_terminal = terminal_,
                    .env = [this](const std::string& name) -> std::optional<std::string> {
                      const auto found = env_.find(name);
                      return found == env_.end() ? std::nullopt : std::optional(found->second);
                    },
                    .now = [] { return from_millis(1630497600000 + 300'000); }};
    const ProgramVerbs hooks{.load = fake_load,
                             .serve = fake_serve,
                             .dev = fake_dev,
                             .test = fake_test,
                             .verify = fake_verify};
    const int code = run_app(std::move(arguments), console, hooks);
    return {code, out.str(), err.str()};
  }

  std::string file(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }

  void apply_order() {
    ASSERT_EQ(run({"workflow", "apply", file("order.yaml", "id: order\n")}).code, 0);
  }

  FakeService service_;
  std::unique_ptr<HttpServer> server_;
  std::filesystem::path folder_;
  std::map<std::string, std::string> env_;
  bool terminal_ = true;
};

TEST_F(Cli, VerifiesAFolderOrAsksTheServer) {
  const Printed printed = run({"verify", "--data", "d", "--secret-key-file", "k", "-o", "json"});
  EXPECT_EQ(printed.code, 1);
  EXPECT_EQ(Json::parse(printed.out), service_.store_report);
  EXPECT_EQ(g_verified.data, "d");
  EXPECT_EQ(g_verified.secret_key_file, "k");
  env_["MILLRACE_DATA"] = "e";
  env_["MILLRACE_SECRET_KEY_FILE"] = "l";
  run({"verify"});
  EXPECT_EQ(g_verified.data, "e");
  EXPECT_EQ(g_verified.secret_key_file, "l");
}

TEST_F(Cli, ExplainsTheLanguage) {
  struct Row {
    const char* key;
    const char* out;
  };
  const Row rows[] = {
      {"states.action.retries.delay",
       "delay: a duration such as \"PT1H\" or \"1h 30m\"\n"
       "  The wait before the second attempt.\n"
       "  default: PT0S\n"
       "  in: RetryDefinition, SteepRetryPolicy\n"},
      {"actions.Retry",
       "retries: RetryPolicy, or a text such as \"fixed(3, 1s)\": three attempts, with a second "
       "before each further one\n"
       "  Tries the call again when it has failed.\n"
       "  also written: retry\n"
       "  in: ActionDefinition\n"},
      {"exponentialBackoff",
       "exponentialBackoff: a number above 0\n"
       "  By how much each wait is longer than the one before; more than zero.\n"
       "  default: 1\n"
       "  in: SteepRetryPolicy\n"
       "  not in document 003\n"},
      {"stevora",
       "StevoraRetryPolicy (vocabulary: stevora)\n"
       "  Stevora's: every error is tried again, before `catch` is asked.\n"
       "    maxAttempts        How many attempts in all.\n"
       "    backoffMs          The wait before the second attempt, in milliseconds; up to a "
       "quarter "
       "less by lot.\n"
       "    backoffMultiplier  By how much each wait is longer than the one before.\n"
       "    maxBackoffMs       The longest wait, in milliseconds.\n"
       "    vocabulary         Whose policy it is, where its keys leave that open.\n"
       "  document 002: The RetryPolicy Interface\n"},
      {"consumeEvent.event.capture",
       "capture: one of\n"
       "  What of the event is put into the data, under its type.\n"
       "    payload            the event's data\n"
       "    event              the whole CloudEvent in its JSON form\n"
       "  default: payload\n"
       "  in: ConsumeEventDefinition\n"
       "  not in document 003\n"},
      {"max_attempts",
       "max_attempts: a whole number from 0 to 1000000\n"
       "  How often it is tried again after the first attempt.\n"
       "  required\n"
       "  in: RetryDefinition\n"},
      {"errordefinition",
       "ErrorDefinition\n"
       "  What follows an error; the first entry that matches its code decides.\n"
       "    error              Which error codes this entry catches. Required.\n"
       "    transition         The state that goes on from the error; without one the instance "
       "ends, complete.\n"
       "  document 003: ErrorDefinition\n"},
  };
  for (const Row& row : rows) {
    const Printed printed = run({"explain", row.key});
    EXPECT_EQ(printed.code, 0) << row.key;
    EXPECT_EQ(printed.out, row.out) << row.key;
  }
  // `delay` is a key of two mappings and a type of state.
  const Printed all = run({"explain", "delay"});
  EXPECT_NE(all.out.find("DelayState (type: delay)\n"), std::string::npos) << all.out;
  EXPECT_NE(all.out.find("in: RetryDefinition, SteepRetryPolicy\n"), std::string::npos) << all.out;
  EXPECT_NE(all.out.find("in: GenerateEventState\n"), std::string::npos) << all.out;

  const Printed near = run({"explain", "transiton"});
  EXPECT_EQ(near.code, 3);
  EXPECT_EQ(near.err, "millrace: the language has no transiton; did you mean \"transition\"?\n");
  EXPECT_EQ(run({"explain", "states.action.colour"}).code, 3);
  EXPECT_EQ(run({"explain", "schemas.delay"}).code, 3);
  EXPECT_EQ(run({"explain", "noop."}).code, 3);
  EXPECT_EQ(run({"explain", ""}).code, 3);
}

TEST_F(Cli, PrintsASchemaForEditors) {
  const Printed printed = run({"schema"});
  EXPECT_EQ(printed.code, 0);
  EXPECT_EQ(Json::parse(printed.out).at("$schema"), "http://json-schema.org/draft-07/schema#");
}

TEST_F(Cli, ShowsAListInEveryFormat) {
  struct Row {
    const char* format;
    const char* out;
  };
  const std::string id = kId;
  const std::string json = R"({
  "items": [
    {
      "id": "0190b5a4-7c1e-7f2a-8000-0123456789ab",
      "input": {},
      "revision": 1,
      "startedAt": "2021-09-01T12:00:00.000Z",
      "state": "wait",
      "status": "waiting",
      "workflow": "order"
    }
  ],
  "next": null
}
)";
  const Row rows[] = {
      {"table",
       "INSTANCE                              WORKFLOW  STATUS   STATE  STARTED  ENDED\n"
       "0190b5a4-7c1e-7f2a-8000-0123456789ab  order     waiting  wait   5m       -\n"},
      {"json", json.c_str()},
      {"jsonl", R"({"id":"0190b5a4-7c1e-7f2a-8000-0123456789ab","input":{},"revision":1,)"
                R"("startedAt":"2021-09-01T12:00:00.000Z","state":"wait","status":"waiting",)"
                R"("workflow":"order"})"
                "\n"},
      {"yaml",
       "items:\n"
       "  - id: \"0190b5a4-7c1e-7f2a-8000-0123456789ab\"\n"
       "    input: {}\n"
       "    revision: 1\n"
       "    startedAt: \"2021-09-01T12:00:00.000Z\"\n"
       "    state: wait\n"
       "    status: waiting\n"
       "    workflow: order\n"
       "next: null\n"},
      {"name", "0190b5a4-7c1e-7f2a-8000-0123456789ab\n"},
  };
  for (const Row& row : rows) {
    const Printed printed = run({"instance", "list", "-o", row.format});
    EXPECT_EQ(printed.code, 0) << row.format;
    EXPECT_EQ(printed.out, row.out) << row.format;
    EXPECT_EQ(printed.err, "") << row.format;
  }
  EXPECT_EQ(run({"instance", "list"}).out, rows[0].out) << "a terminal gets a table";
  terminal_ = false;
  EXPECT_EQ(run({"instance", "list"}).out, rows[1].out) << "a program gets JSON";
  EXPECT_EQ(run({"-o", "name", "instance", "list"}).out, rows[4].out) << "flags may stand before";
  EXPECT_EQ(run({"instance", "list", "-o", "xml"}).code, 2);
}

TEST_F(Cli, ColoursStatusesOnATerminalUnlessToldNotTo) {
  const Json list = {{"items", {{{"status", "failed"}, {"id", "a"}}}}};
  std::istringstream in;
  for (const bool terminal : {true, false}) {
    for (const char* no_color : {"", "1"}) {
      std::ostringstream out;
      Console console{in,
                      out,
                      out,
                      terminal,
                      [&](const std::string&) { return std::optional<std::string>(no_color); },
                      [] { return TimePoint(); }};
      Output(console, Format::kTable).list(list, {field("STATUS", "status")}, "id");
      const bool coloured = out.str().find("\x1b[31mfailed\x1b[0m") != std::string::npos;
      EXPECT_EQ(coloured, terminal && std::string(no_color).empty());
    }
  }
}

TEST_F(Cli, KeepsControlCharactersFromTheTerminal) {
  std::istringstream in;
  std::ostringstream out;
  Console console{in,
                  out,
                  out,
                  false,
                  [](const std::string&) { return std::optional<std::string>(); },
                  [] { return TimePoint(); }};
  Output(console, Format::kTable)
      .list({{"items", {{{"a", "x\x1b[31m"}, {"b", "\xc3\xa4"}}, {{"a", "y"}, {"b", 1}}}}},
            {field("B", "b"), field("A", "a")}, "a");
  EXPECT_EQ(out.str(), "B  A\n\xc3\xa4  x [31m\n1  y\n");
}

TEST_F(Cli, WritesYamlThatReadsBackAsTheValue) {
  struct Row {
    const char* json;
    const char* yaml;
  };
  const Row rows[] = {
      {"null", "null\n"},
      {"[]", "[]\n"},
      {R"({"a":{},"b":[]})", "a: {}\nb: []\n"},
      {R"(["true","1","no","a: b","","plain"])",
       "- \"true\"\n- \"1\"\n- \"no\"\n- \"a: b\"\n- \"\"\n- plain\n"},
      {R"([[1,2],{"a":1,"b":{"c":[true]}}])", "- - 1\n  - 2\n- a: 1\n  b:\n    c:\n      - true\n"},
      {R"({"text":"a\n\n  b\n"})", "text: |\n  a\n\n    b\n"},
      {R"({"text":"a\nb","y":"\u0007\n"})", "text: \"a\\nb\"\n\"y\": \"\\u0007\\n\"\n"},
  };
  for (const Row& row : rows) EXPECT_EQ(to_yaml(Json::parse(row.json)), row.yaml) << row.json;
}

TEST_F(Cli, AppliesFilesAndSaysWhatCameOfThem) {
  const std::string order = file("order.yaml", "id: order\n");
  EXPECT_EQ(run({"workflow", "apply", order, "--dry-run"}).out,
            "WORKFLOW  REVISION  OUTCOME\norder     -         would change\n");
  EXPECT_FALSE(service_.has_workflow("order"));
  EXPECT_EQ(run({"workflow", "apply", order}).out,
            "WORKFLOW  REVISION  OUTCOME\norder     1         created\n");
  EXPECT_EQ(run({"workflow", "apply", order}).out,
            "WORKFLOW  REVISION  OUTCOME\norder     1         unchanged\n");
  EXPECT_EQ(run({"workflow", "apply", "-", "-o", "name"}, "id: order\n# new\n").out, "order\n");
  EXPECT_EQ(run({"workflow", "list"}).out,
            "WORKFLOW  REVISION  START    PAUSED  UPDATED\n"
            "order     2         default  -       5m\n");
  EXPECT_EQ(run({"workflow", "get", "order"}).out,
            "id        order\npaused    false\nrevision  2\nstart     default\n"
            "states    [\"wait\"]\n\n"
            "definition:\nid: order\n# new\n");
  EXPECT_EQ(run({"workflow", "delete", "order"}).out, "cancelled  0\nid         order\n");
  EXPECT_EQ(run({"workflow", "get", "order"}).code, 3);
}

TEST_F(Cli, ShowsThatAWorkflowIsPaused) {
  apply_order();
  EXPECT_EQ(run({"workflow", "pause", "order"}).code, 0);
  EXPECT_EQ(run({"workflow", "list"}).out,
            "WORKFLOW  REVISION  START    PAUSED  UPDATED\n"
            "order     1         default  yes     5m\n");
  EXPECT_EQ(Json::parse(run({"workflow", "get", "order", "-o", "json"}).out)["paused"], true);
  EXPECT_EQ(run({"workflow", "resume", "order"}).code, 0);
  EXPECT_EQ(Json::parse(run({"workflow", "get", "order", "-o", "json"}).out)["paused"], false);
}

TEST_F(Cli, TakesTheDefinitionsOfAFolder) {
  file("a.yaml", "id: a\nstates: []\n");
  file("sub/b.yaml", "id: b\nstates: []\n");
  const std::string broken = file("broken.yml", "id: broken\nstate: [\n");
  file("a.test.yaml", "scenarios: []\n");
  file("notes.txt", "states");
  file(".hidden/c.yaml", "id: c\nstates: []\n");
  const std::string payload = file("payload.json", R"({"id": 7, "amount": 3})");
  const std::string empty = file("empty.yaml", "");
  const std::string why = ": skipped: it is not a workflow, which has an \"id\" and \"states\"\n";
  const std::string passed = empty + why + payload + why;

  const Printed lint = run({"lint", folder_.string()});
  EXPECT_EQ(lint.code, 7);
  EXPECT_TRUE(lint.out.starts_with(broken + ":2:7: error: ")) << lint.out;
  EXPECT_EQ(lint.err, passed);

  const Printed applied = run({"workflow", "apply", folder_.string(), "-o", "name"});
  EXPECT_EQ(applied.code, 7);
  EXPECT_EQ(applied.out, "a\nb\n");
  EXPECT_EQ(applied.err.substr(0, passed.size()), passed);
  EXPECT_NE(applied.err.find(broken + ":2:7: error: "), std::string::npos) << applied.err;

  const Printed nothing = run({"lint", (folder_ / ".hidden" / "..").string() + "/none"});
  EXPECT_EQ(nothing.code, 2);
  std::filesystem::create_directory(folder_ / "void");
  const Printed none = run({"workflow", "apply", (folder_ / "void").string()});
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("no definition was found in " + (folder_ / "void").string()),
            std::string::npos)
      << none.err;
}

TEST_F(Cli, KnowsADefinitionByItsKeysAndTakesBrokenYamlForOne) {
  for (const char* text : {"id: a\nstate: []\n", "id: a\nsates: []\n", "states: []\n",
                           "id: a\nstate: [\n", R"({"states": 1})", R"({"state": )"}) {
    for (const char* name : {"a.yaml", "a.yml", "a.json"}) {
      EXPECT_TRUE(looks_like_definition(name, text)) << name << "\n" << text;
    }
  }
  for (const char* text : {"", "# nothing\n", "services: {nats: {}}\n", "[1, 2]", "7",
                           "status: done\n", R"({"stats": {}})"}) {
    for (const char* name : {"a.yaml", "a.yml", "a.json"}) {
      EXPECT_FALSE(looks_like_definition(name, text)) << name << "\n" << text;
    }
  }
  for (const char* text : {"a: [\n", "id: order\n", "\t", "a: b: c\n", R"({"id": 7, "a": 3})"}) {
    EXPECT_TRUE(looks_like_definition("a.yaml", text)) << text;
    EXPECT_FALSE(looks_like_definition("a.json", text)) << text;
  }
}

TEST_F(Cli, ReportsYamlOfAFolderThatDoesNotParse) {
  file("a.yaml", "id: a\nstates: []\n");
  const std::string broken = file("broken.yaml", "# broken\nitems: [\n");
  for (const char* command : {"lint", "apply"}) {
    const Printed printed = std::string_view(command) == "lint"
                                ? run({"lint", folder_.string()})
                                : run({"workflow", "apply", folder_.string()});
    EXPECT_EQ(printed.code, 7) << command;
    EXPECT_NE((printed.out + printed.err).find(broken + ":2:7: error: "), std::string::npos)
        << printed.out << printed.err;
  }
}

TEST_F(Cli, PassesOverScenariosThatAGlobNames) {
  const std::string order = file("order.yaml", "id: order\nstates: []\n");
  const std::string scenarios = file("order.test.yaml", "scenarios: []\n");
  const std::string told =
      scenarios + ": passed over: it holds scenarios, which `millrace test` plays\n";
  const Printed lint = run({"lint", scenarios, order});
  EXPECT_EQ(lint.code, 0);
  EXPECT_EQ(lint.err, told);
  const Printed applied = run({"workflow", "apply", scenarios, order, "-o", "name"});
  EXPECT_EQ(applied.code, 0);
  EXPECT_EQ(applied.out, "order\n");
  EXPECT_EQ(applied.err, told);
  EXPECT_EQ(run({"lint", scenarios}).code, 2) << "nothing is left";
  EXPECT_EQ(run({"graph", scenarios}).code, 2);
}

TEST_F(Cli, SaysWhichFileItCannotRead) {
  apply_order();
  const std::string folder = folder_.string();
  const std::string link = (folder_ / "link.yaml").string();
  std::filesystem::create_symlink("nowhere", link);
  const std::vector<std::pair<std::string, std::string>> files = {
      {folder, folder + ": this is a directory; expected a file"},
      {folder + "/", folder + "/: this is a directory; expected a file"},
      {link, link + ": No such file or directory"},
      {"/dev/zero", "/dev/zero: expected at most 67108864 bytes"},
      {file("plain", "x") + "/below", "Not a directory"},
  };
  for (const auto& [name, reason] : files) {
    std::vector<std::vector<std::string>> verbs = {
        {"graph", name},
        {"event", "send", "-f", name},
        {"event", "send", "--type", "t", "--source", "s", "--data", "@" + name},
        {"run", "order", "--input", "@" + name},
        {"variable", "set", "a", "@" + name},
        {"namespace", "create", "shop", "--settings", "@" + name},
    };
    if (!name.starts_with(folder) || name == link) {
      verbs.push_back({"lint", name});
      verbs.push_back({"workflow", "apply", name});
    }
    if (name == "/dev/zero") verbs.resize(2);  // which takes its time
    for (const auto& verb : verbs) {
      const Printed printed = run(verb);
      EXPECT_EQ(printed.code, 2) << verb[0] << ' ' << name;
      EXPECT_NE(printed.err.find(reason), std::string::npos) << verb[0] << ": " << printed.err;
      EXPECT_EQ(printed.out, "") << verb[0] << ' ' << name;
    }
  }
  const Printed in_folder = run({"lint", folder});
  EXPECT_EQ(in_folder.code, 2);
  EXPECT_NE(in_folder.err.find(link + ": No such file"), std::string::npos) << in_folder.err;
}

TEST_F(Cli, WarnsOfSettingsThatDoNotDoWhatTheySeemTo) {
  const std::string settings = R"({"services": {"a": {"maxRuntime": "30"}}})";
  const Printed table = run({"-o", "table", "namespace", "create", "shop", "--settings", settings});
  EXPECT_EQ(table.code, 0);
  EXPECT_EQ(table.err, "warning: services.a.maxRuntime: write 30s\n");
  EXPECT_EQ(table.out, "created  true\nname     shop\n");
  const Printed json = run({"-o", "json", "namespace", "create", "shop", "--settings", settings});
  EXPECT_EQ(json.err, table.err);
  EXPECT_EQ(Json::parse(json.out)["warnings"][0]["path"], "services.a.maxRuntime");
}

TEST_F(Cli, ReadsPipesAndEmptyFilesToTheirEnd) {
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << "id: order\nbroken: 1\n"; });
  const Printed lint = run({"lint", pipe});
  writer.join();
  EXPECT_EQ(lint.code, 7);
  EXPECT_TRUE(lint.out.starts_with(pipe + ":2:7: error: ")) << lint.out;
  apply_order();
  EXPECT_EQ(run({"run", "order", "--input", "@" + file("empty", "")}).code, 0);
  EXPECT_EQ(service_.starts().back().input, Json::object());
}

TEST_F(Cli, RendersFindingsWithFileLineAndColumnAndGoesOn) {
  const std::string bad = file("bad.yaml", "id: bad\nbroken: 1\n");
  const std::string nameless = file("nameless.yaml", "broken: 1\n");
  const Printed printed =
      run({"workflow", "apply", bad, nameless, file("good.yaml", "id: good\n"), "-o", "name"});
  EXPECT_EQ(printed.code, 7);
  EXPECT_EQ(printed.out, "good\n");
  const std::string tail =
      ":2:7: error: states[0].broken: there is no such key [definition.unknown_key]\n";
  EXPECT_EQ(printed.err, bad + tail + nameless + tail);
  EXPECT_EQ(run({"workflow", "apply", file("empty.yaml", "name: x\n")}).code, 7);
}

TEST_F(Cli, LintsWithoutAServer) {
  env_["MILLRACE_URL"] = "http://127.0.0.1:1";
  const std::string good = file("good.yaml", "id: good\n");
  const std::string bad = file("bad.yaml", "broken: 1\n");
  EXPECT_EQ(run({"lint", good}).code, 0);
  const Printed text = run({"lint", good, bad});
  EXPECT_EQ(text.code, 7);
  EXPECT_EQ(text.out,
            bad + ":2:7: error: states[0].broken: there is no such key [definition.unknown_key]\n");
  const Printed json = run({"lint", good, bad, "-o", "json"});
  EXPECT_EQ(json.code, 7);
  const Json report = Json::parse(json.out);
  EXPECT_EQ(report["files"][0], (Json{{"file", good}, {"errors", Json::array()}}));
  EXPECT_EQ(report["files"][1]["errors"][0]["line"], 2);
  EXPECT_EQ(run({"lint", "-o", "yaml", good}).code, 2);
  EXPECT_EQ(run({"lint", "-", "-o", "text"}, "broken").code, 7);

  const Printed doubtful = run({"lint", "-"}, "id: a\ndoubtful: 1\n");
  EXPECT_EQ(doubtful.code, 0);
  EXPECT_EQ(doubtful.out,
            "-:2:7: warning: states[0]: hardly; mend it [lint.doubt]\n"
            "-:2:8: note: states[0]: by the way; keep it [lint.note]\n");
  EXPECT_EQ(run({"lint", "--strict", "-"}, "id: a\ndoubtful: 1\n").code, 7);
  EXPECT_EQ(run({"lint", "--strict", good}).code, 0);
}

TEST_F(Cli, DrawsADefinitionWithoutAServer) {
  env_["MILLRACE_URL"] = "http://127.0.0.1:1";
  const Printed graph = run({"graph", "-"}, "id: a\nstates: [{id: one, type: noop}]\n");
  EXPECT_EQ(graph.code, 0);
  EXPECT_EQ(graph.out,
            "flowchart TD\n  start_((start))\n  start_ --> s0\n"
            "  s0[\"one<br/><i>noop</i>\"]\n  s0 --> end_\n  end_(((end)))\n");
  const Printed broken = run({"graph", "-"}, "broken: 1\n");
  EXPECT_EQ(broken.code, 7);
  EXPECT_EQ(broken.out, "");
  EXPECT_EQ(broken.err,
            "-:2:7: error: states[0].broken: there is no such key [definition.unknown_key]\n");
  EXPECT_EQ(run({"graph", "/nowhere/at/all"}).code, 2);
}

TEST_F(Cli, TellsTheWarningsOfWhatItApplies) {
  const std::string path = file("order.yaml", "id: order\ndoubtful: 1\n");
  for (const bool dry : {true, false}) {
    std::vector<std::string> arguments = {"workflow", "apply", path, "-o", "name"};
    if (dry) arguments.emplace_back("--dry-run");
    const Printed printed = run(arguments);
    EXPECT_EQ(printed.code, 0);
    EXPECT_EQ(printed.out, "order\n");
    EXPECT_EQ(printed.err, path + ":2:7: warning: states[0]: hardly; mend it [lint.doubt]\n");
  }
}

TEST_F(Cli, ShowsInstancesHistoriesListenersAndDeadLetters) {
  struct Row {
    std::vector<std::string> arguments;
    std::string out;
  };
  const Row rows[] = {
      {{"instance", "get", kId},
       "id         0190b5a4-7c1e-7f2a-8000-0123456789ab\nrevision   1\n"
       "startedAt  2021-09-01T12:00:00.000Z\nstate      wait\nstatus     waiting\n"
       "workflow   order\n\ninput:\n{}\n"},
      {{"instance", "history", kId},
       "TIME                      KIND     STATE  DETAIL\n"
       "2021-09-01T12:00:00.000Z  started  -      {\"by\":\"call\",\"revision\":1}\n"},
      {{"instance", "cancel", kId}, "cancelled  true\nid         " + std::string(kId) + "\n"},
      {{"instance", "rerun", kId, "--from", "pay"},
       "from  pay\nid    " + std::string(kId) + "\nrun   2\n"},
      {{"instance", "retry", "--workflow", "order"}, "done     1\nrefused  0\n"},
      {{"instance", "delete", kId}, "deleted  true\nid       " + std::string(kId) + "\n"},
      {{"listener", "list", "--limit", "3"},
       "KIND   WORKFLOW  INSTANCE  STATE  TYPE          CONTEXT\n"
       "start  order     -         -      order.placed  {\"source\":\"shop\"}\n"},
      {{"group", "list", "--limit", "3"},
       "WORKFLOW  CORRELATE        WAITING           EXPIRES\n"
       "ship      {\"order\":\"o-1\"}  paid 1, packed 0  2021-09-01T12:00:00.000Z\n"},
      {{"schedule", "list"},
       "WORKFLOW  CRON                             ZONE           NEXT                      "
       "LAST  PAUSED\n"
       "report    CRON_TZ=Europe/Vienna 0 7 * * *  Europe/Vienna  2021-09-01T05:00:00.000Z  "
       "-     -\n"},
      {{"schedule", "next", "report"},
       "TICK\n2021-09-01T05:00:00.000Z\n2021-09-02T05:00:00.000Z\n"},
      {{"schedule", "trigger", "report"}, "id  " + std::string(kId) + "\n"},
      {{"schedule", "trigger", "report", "-o", "name"}, std::string(kId) + "\n"},
      {{"dlq", "list"},
       "ID  AGE  REASON      SUBJECT                    SIZE  DETAIL\n"
       "12  5m   event.time  millrace.events.default.x  3     no time\n"},
      {{"namespace", "list"}, "NAMESPACE\ndefault\n"},
      {{"namespace", "create", "shop"}, "created  true\nname     shop\n"},
      {{"namespace", "list", "-o", "name"}, "default\nshop\n"},
      {{"namespace", "delete", "shop", "-o", "name"}, "shop\n"},
      {{"version"}, "millrace 0.1.0\n"},
      {{"version", "-o", "json"}, "{\n  \"version\": \"0.1.0\"\n}\n"},
      {{"version", "-o", "name"}, "0.1.0\n"},
  };
  for (const Row& row : rows) {
    const Printed printed = run(row.arguments);
    EXPECT_EQ(printed.code, 0) << row.arguments[0] << ": " << printed.err;
    EXPECT_EQ(printed.out, row.out) << row.arguments[0];
  }
}

TEST_F(Cli, AsksForTheInstancesThatAreWanted) {
  EXPECT_EQ(run({"instance", "list", "--workflow", "order", "--status", "failed", "--since", "5m",
                 "--limit", "7", "--cursor", "a+b"})
                .code,
            0);
  EXPECT_EQ(service_.last_filter().workflow, "order");
  EXPECT_EQ(service_.last_filter().statuses, std::vector{InstanceStatus::kFailed});
  EXPECT_EQ(service_.last_filter().since, from_millis(1630497600000));
  EXPECT_EQ(service_.last_filter().limit, 7);
  EXPECT_EQ(service_.last_filter().cursor, "a+b");
  EXPECT_EQ(run({"instance", "list", "--since", "yesterday"}).code, 2);
}

TEST_F(Cli, ListsAllToProgramsAndSaysWhatATableLeavesOut) {
  service_.instance_count = 620;
  const Printed names = run({"instance", "list", "-o", "name"});
  EXPECT_EQ(std::count(names.out.begin(), names.out.end(), '\n'), 620);
  EXPECT_TRUE(names.out.ends_with("\n618\n619\n"));
  EXPECT_EQ(names.err, "");
  const Printed lines = run({"instance", "list", "-o", "jsonl"});
  EXPECT_EQ(std::count(lines.out.begin(), lines.out.end(), '\n'), 620);
  const Json json = Json::parse(run({"instance", "list", "-o", "json"}).out);
  EXPECT_EQ(json["items"].size(), 620);
  EXPECT_EQ(json["items"][619]["id"], "619");
  EXPECT_EQ(json["next"], nullptr);
  EXPECT_EQ(
      Json::parse(run({"instance", "list", "-o", "json", "--cursor", "600"}).out)["items"].size(),
      20);

  service_.group_count = 620;
  const Printed groups = run({"group", "list", "-o", "name"});
  EXPECT_EQ(std::count(groups.out.begin(), groups.out.end(), '\n'), 620);
  EXPECT_EQ(groups.err, "");

  const Printed table = run({"instance", "list"});
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 51);
  EXPECT_EQ(table.err, "there are more: --cursor 50\n");
  for (const char* format : {"name", "jsonl", "json", "yaml", "table"}) {
    EXPECT_EQ(run({"instance", "list", "--limit", "7", "-o", format}).err,
              "there are more: --cursor 7\n")
        << format;
  }
}

TEST_F(Cli, DoesABatchPageByPage) {
  const Printed one = run({"instance", "cancel", "--all"});
  EXPECT_EQ(one.code, 0);
  EXPECT_EQ(one.out, "done     1\nrefused  0\n");
  EXPECT_EQ(one.err, "");
}

TEST_F(Cli, SendsEvents) {
  const Printed printed = run({"event", "send", "--type", "order.placed", "--source", "shop",
                               "--id", "7", "--subject", "a", "--data", R"([1,{"a":2}])", "--attr",
                               "region=eu", "--attr", "time=2021-09-01T12:00:00Z"});
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_EQ(printed.out, "accepted    1\nduplicates  0\nid          7\n");
  ASSERT_EQ(service_.published().size(), 1);
  const Event event = service_.published()[0];
  EXPECT_EQ(event.type, "order.placed");
  EXPECT_EQ(event.source, "shop");
  EXPECT_EQ(event.id, "7");
  EXPECT_EQ(event.subject, "a");
  EXPECT_EQ(event.time, "2021-09-01T12:00:00Z");
  EXPECT_EQ(payload(event), Json::parse(R"([1,{"a":2}])"));
  EXPECT_EQ(event.extensions.at("region"), AttributeValue("eu"));

  EXPECT_EQ(run({"event", "send", "--type", "t", "--source", "s", "--data", "-"}, "\xff\x01").code,
            0);
  EXPECT_EQ(service_.published()[1].data, "\xff\x01");
  EXPECT_TRUE(parse_instance_id(service_.published()[1].id)) << "a fresh UUID";

  const std::string whole = R"({"specversion":"1.0","id":"8","source":"s","type":"t"})";
  EXPECT_EQ(run({"event", "send", "-f", file("event.json", whole)}).code, 0);
  EXPECT_EQ(run({"event", "send", "-f", "-"}, "[" + whole + "," + whole + "]").out,
            "accepted    2\nduplicates  2\n");
  EXPECT_EQ(service_.published().size(), 5);
}

TEST_F(Cli, RefusesEventsThatAreNone) {
  const std::vector<std::string> base = {"event", "send", "--type", "t", "--source", "s"};
  const std::vector<std::vector<std::string>> rows = {
      {"--data", "hello"}, {"--data", "@/does/not/exist"}, {"--attr", "x"}, {"--attr", "Region=eu"},
      {"--attr", "id=7"},  {"--attr", "time=now"},         {"-f", "-"},
  };
  for (const auto& row : rows) {
    std::vector<std::string> arguments = base;
    arguments.insert(arguments.end(), row.begin(), row.end());
    EXPECT_EQ(run(arguments).code, 2) << row[1];
  }
  EXPECT_EQ(run({"event", "send", "--type", "t"}).code, 2);
  const Printed bad = run({"event", "send", "-f", "-"}, "{}");
  EXPECT_EQ(bad.code, 1);
  EXPECT_NE(bad.err.find("specversion"), std::string::npos) << bad.err;
  EXPECT_TRUE(service_.published().empty());
}

TEST_F(Cli, RunsAWorkflow) {
  apply_order();
  EXPECT_EQ(run({"run", "order"}).out, "id  " + std::string(kId) + "\n");
  EXPECT_EQ(run({"run", "order", "--input", "[1]", "-o", "name"}).out, std::string(kId) + "\n");
  EXPECT_EQ(service_.starts().back().input, Json::array({1}));
  EXPECT_EQ(run({"run", "order", "--input", "@" + file("in", "no json")}).code, 0);
  EXPECT_EQ(service_.starts().back().input, "bm8ganNvbg==");
  EXPECT_EQ(run({"run", "order", "--input", "-"}, R"({"a":1})").code, 0);
  EXPECT_EQ(service_.starts().back().input, (Json{{"a", 1}}));
  EXPECT_EQ(run({"run", "order", "--input", "{", "--wait"}).code, 2);
  EXPECT_EQ(run({"run"}).code, 2);
  EXPECT_EQ(run({"run", "none"}).code, 3);

  EXPECT_EQ(run({"run", "order", "--id", "k", "--input", "1"}).code, 0);
  EXPECT_EQ(run({"run", "order", "--id", "k", "--input", "1"}).code, 0);
  EXPECT_EQ(run({"run", "order", "--id", "k", "--input", "2"}).code, 6);
}

TEST_F(Cli, WaitsForTheEndOfWhatItRuns) {
  apply_order();
  service_.end_at_once("complete");
  const std::vector<std::vector<std::string>> spellings = {
      {"run", "order", "--wait"},        {"run", "--wait", "order"},
      {"run", "order", "--wait", "10s"}, {"run", "--wait", "PT10S", "order"},
      {"run", "--wait=10s", "order"},    {"run", "--wait", "order", "--input", "{}"},
  };
  for (const auto& arguments : spellings) {
    const Printed printed = run(arguments);
    EXPECT_EQ(printed.code, 0) << printed.err;
    EXPECT_EQ(printed.out, "{\n  \"total\": 7\n}\n");
  }
  EXPECT_EQ(run({"run", "order", "--wait", "-o", "yaml"}).out, "total: 7\n");
  EXPECT_EQ(run({"run", "order", "--wait", "-o", "name"}).out, std::string(kId) + "\n");
  EXPECT_EQ(run({"run", "order", "--wait", "soon"}).code, 2);

  service_.end_at_once("failed");
  const Printed failed = run({"run", "order", "--wait"});
  EXPECT_EQ(failed.code, 9);
  EXPECT_EQ(failed.out, "");
  EXPECT_EQ(failed.err,
            fmt::format("millrace: instance {} ended failed: order.lost: it is lost\n", kId));

  service_.wait_outcome = fail("wait.timeout", "it has not ended");
  const Printed late = run({"run", "order", "--wait", "1ms"});
  EXPECT_EQ(late.code, 8);
  EXPECT_NE(late.err.find(kId), std::string::npos) << late.err;
}

TEST_F(Cli, EndsWithTheExitCodeOfWhatWentWrong) {
  apply_order();
  struct Row {
    std::vector<std::string> arguments;
    int code;
  };
  ASSERT_EQ(run({"run", "order"}).code, 0);
  const Row rows[] = {
      {{"instance", "get", "0190b5a4-7c1e-7f2a-8000-000000000000"}, 3},
      {{"workflow", "list", "-n", "none"}, 3},
      {{"workflow", "delete", "order"}, 6},
      {{"namespace", "delete", "default"}, 6},
      {{"namespace", "create", "a b"}, 1},
      {{"workflow", "list", "--url", "http://127.0.0.1:1"}, 5},
      {{"workflow", "list", "--url", "ftp://127.0.0.1"}, 2},
      {{"instance", "list", "--limit", "many"}, 1},
      {{"workflow", "apply", "/does/not/exist"}, 2},
      {{}, 2},
      {{"nothing"}, 2},
      {{"workflow"}, 2},
      {{"workflow", "get"}, 2},
      {{"workflow", "get", "a", "b"}, 2},
      {{"workflow", "list", "--wrong"}, 2},
  };
  for (const Row& row : rows) {
    const Printed printed = run(row.arguments);
    const std::string what = row.arguments.empty() ? "" : row.arguments.back();
    EXPECT_EQ(printed.code, row.code) << what << ": " << printed.err;
    EXPECT_EQ(printed.out, "") << what;
    EXPECT_TRUE(printed.err.starts_with("millrace: ")) << what;
  }
  env_["MILLRACE_NAMESPACE"] = "none";
  EXPECT_EQ(run({"workflow", "list"}).code, 3);
  EXPECT_EQ(run({"workflow", "list", "-n", "default"}).code, 0) << "a flag beats a variable";
}

TEST_F(Cli, SaysWhetherTheServerIsReady) {
  EXPECT_EQ(run({"status", "-o", "name"}).out, "ready\n");
  service_.ready_status = fail("broker.unreachable", "NATS is away");
  const Printed printed = run({"status"});
  EXPECT_EQ(printed.code, 1);
  EXPECT_EQ(printed.err, "millrace: NATS is away\n");
  server_.reset();
  EXPECT_EQ(run({"status"}).code, 5);
}

TEST_F(Cli, ShowsTheTokenThatItIsGiven) {
  constexpr const char* kToken = "correct-horse-battery-staple";
  server_ = *HttpServer::start({.listen = "127.0.0.1:0", .token = BearerToken(kToken)}, service_);
  env_["MILLRACE_URL"] = fmt::format("http://127.0.0.1:{}", server_->port());
  const std::string right = file("right", std::string(kToken) + "\n");
  const std::string wrong = file("wrong", "somebody-else's-token\n");
  const std::string broken = file("broken", "two words and-too-many\n");

  const Printed without = run({"namespace", "list"});
  EXPECT_EQ(without.code, 4);
  EXPECT_NE(without.err.find("--token-file"), std::string::npos) << without.err;
  EXPECT_EQ(run({"namespace", "list", "--token-file", wrong}).code, 4);
  EXPECT_EQ(run({"namespace", "list", "--token-file", right}).code, 0);
  EXPECT_EQ(run({"--token-file", right, "namespace", "list"}).code, 0);
  EXPECT_EQ(run({"status"}).code, 0) << "which asks for none";

  env_["MILLRACE_TOKEN_FILE"] = right;
  EXPECT_EQ(run({"namespace", "list"}).code, 0);
  env_["MILLRACE_TOKEN"] = "somebody-else's-token";
  EXPECT_EQ(run({"namespace", "list"}).code, 4) << "which comes before the file";
  EXPECT_EQ(run({"namespace", "list", "--token-file", right}).code, 0);
  env_["MILLRACE_TOKEN"] = "a\r\nHost: elsewhere.example";
  EXPECT_EQ(run({"namespace", "list"}).code, 2);

  for (const std::string& bad : {broken, right + "-none", folder_.string()}) {
    const Printed printed = run({"namespace", "list", "--token-file", bad});
    EXPECT_EQ(printed.code, 2) << bad;
    EXPECT_NE(printed.err.find(bad), std::string::npos) << printed.err;
    EXPECT_EQ(printed.err.find("two words"), std::string::npos) << printed.err;
  }
}

TEST_F(Cli, ReadsTokensOfAHeadersSize) {
  struct Row {
    std::string text;
    std::string token;  ///< empty: it is none
  };
  const std::string shortest(16, 'x');
  const std::string longest(4096, 'x');
  const Row rows[] = {
      {shortest, shortest},
      {shortest + "\n", shortest},
      {shortest + "\r\n", shortest},
      {longest + "\r\n", longest},
      {"", ""},
      {"\n", ""},
      {shortest.substr(1), ""},
      {shortest.substr(1) + "\n", ""},
      {longest + "x", ""},
      {longest + longest, ""},
      {shortest + "\n\n", ""},
      {shortest + " x", ""},
      {shortest + "\x7f", ""},
      {shortest + "\xc3\xa4", ""},
  };
  for (const Row& row : rows) {
    const Result<std::string> token = read_token_file(file("token", row.text));
    EXPECT_EQ(token ? *token : "", row.token) << row.text;
    EXPECT_TRUE(token || token.error().code == "token.malformed") << row.text;
  }
}

TEST_F(Cli, HasHelpWithAnExampleForEveryVerb) {
  const std::vector<std::vector<std::string>> verbs = {
      {"serve"},
      {"dev"},
      {"lint"},
      {"graph"},
      {"explain"},
      {"schema"},
      {"test"},
      {"run"},
      {"status"},
      {"version"},
      {"workflow", "apply"},
      {"workflow", "list"},
      {"workflow", "get"},
      {"workflow", "delete"},
      {"instance", "list"},
      {"instance", "get"},
      {"instance", "history"},
      {"instance", "cancel"},
      {"instance", "delete"},
      {"event", "send"},
      {"schedule", "list"},
      {"schedule", "next"},
      {"schedule", "trigger"},
      {"listener", "list"},
      {"group", "list"},
      {"dlq", "list"},
      {"namespace", "list"},
      {"namespace", "create"},
      {"namespace", "delete"},
  };
  for (std::vector<std::string> verb : verbs) {
    const std::string name = fmt::format("{}", fmt::join(verb, " "));
    verb.emplace_back("--help");
    const Printed printed = run(verb);
    EXPECT_EQ(printed.code, 0) << name;
    EXPECT_NE(printed.out.find("Example:\n  millrace " + name), std::string::npos) << printed.out;
  }
  EXPECT_EQ(run({"--version"}).out, "millrace 0.1.0\n");
}

TEST_F(Cli, TakesTheSettingsOfTheStreamsFromFlagsThenVariables) {
  env_["MILLRACE_DATA"] = "d";
  EXPECT_EQ(run({"serve"}).code, 0);
  EXPECT_EQ(g_served.streams.prefix, "millrace");
  EXPECT_EQ(g_served.streams.replicas, 1);
  EXPECT_EQ(g_served.streams.events, StreamLimits());
  env_["MILLRACE_STREAM_PREFIX"] = "orders";
  env_["MILLRACE_STREAM_REPLICAS"] = "3";
  env_["MILLRACE_STREAM_TAGS"] = "ssd,east";
  env_["MILLRACE_JS_DOMAIN"] = "hub";
  env_["MILLRACE_EVENTS_MAX_AGE"] = "2d";
  env_["MILLRACE_TASKS_MAX_BYTES"] = "1GiB";
  EXPECT_EQ(run({"serve", "--stream-cluster", "c1", "--results-max-age", "1h"}).code, 0);
  EXPECT_EQ(g_served.streams.prefix, "orders");
  EXPECT_EQ(g_served.streams.replicas, 3);
  EXPECT_EQ(g_served.streams.cluster, "c1");
  EXPECT_EQ(g_served.streams.tags, (std::vector<std::string>{"ssd", "east"}));
  EXPECT_EQ(g_served.js_domain, "hub");
  EXPECT_EQ(g_served.streams.events.max_age, Duration(std::chrono::hours(48)));
  EXPECT_EQ(g_served.streams.tasks.max_bytes, uint64_t{1} << 30);
  EXPECT_EQ(g_served.streams.results.max_age, Duration(std::chrono::hours(1)));
  EXPECT_EQ(run({"serve", "--events-max-age", "30m"}).code, 0);
  EXPECT_EQ(g_served.streams.events.max_age, Duration(std::chrono::minutes(30)));
  const Printed wrong = run({"serve", "--dlq-max-bytes", "much"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("--dlq-max-bytes"), std::string::npos) << wrong.err;
}

TEST_F(Cli, TakesThePortOfTheBrokerOfDev) {
  run({"dev"});
  EXPECT_EQ(g_developed.nats_port, 0);
  run({"dev", "--nats-port", "5222"});
  EXPECT_EQ(g_developed.nats_port, 5222);
  for (const char* const bad : {"0", "70000", "x"}) {
    const Printed wrong = run({"dev", "--nats-port", bad});
    EXPECT_EQ(wrong.code, 2) << bad;
    EXPECT_NE(wrong.err.find("--nats-port"), std::string::npos) << wrong.err;
  }
}

TEST_F(Cli, NamesTheWordThatIsNotACommand) {
  struct Row {
    std::vector<std::string> arguments;
    std::string begin;
  };
  const Row rows[] = {
      {{"bogus"}, "millrace: \"bogus\" is not a command of `millrace`; there are serve, dev, "},
      {{"bogus", "--help"}, "millrace: \"bogus\" is not a command of `millrace`; there are "},
      {{"--help", "bogus"}, "millrace: \"bogus\" is not a command of `millrace`; there are "},
      {{"-n", "shop", "bogus"}, "millrace: \"bogus\" is not a command of `millrace`; there are "},
      {{"workflows"},
       "millrace: \"workflows\" is not a command of `millrace`; did you mean "
       "\"workflow\"?; there are "},
      {{"instance", "lst", "--help"},
       "millrace: \"lst\" is not a command of `millrace instance`; did you mean \"list\"?; there "
       "are list, get, "},
      {{"instance"}, "millrace: `millrace instance` needs a command; there are list, get, "},
      {{}, "millrace: `millrace` needs a command; there are serve, "},
  };
  for (const Row& row : rows) {
    const Printed printed = run(row.arguments);
    EXPECT_EQ(printed.code, 2) << row.begin;
    EXPECT_EQ(printed.out, "") << row.begin;
    EXPECT_EQ(printed.err.substr(0, row.begin.size()), row.begin);
  }
  for (const std::vector<std::string>& help :
       {std::vector<std::string>{"--help"}, {"instance", "--help"}, {"-n", "shop", "--help"}}) {
    EXPECT_EQ(run(help).code, 0);
  }
}

/// The words of a command line as a shell would split it, up to a redirection.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  for (const char c : line + ' ') {
    if (c == '\'') {
      quoted = !quoted;
    } else if (c != ' ' || quoted) {
      word += c;
    } else if (word == "<" || word == ">") {
      return words;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, ""));
    }
  }
  return words;
}

TEST_F(Cli, HasExamplesThatItTakes) {
  apply_order();
  service_.end_at_once("complete");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  for (const char* name : {"order.yaml", "payment.yaml", "workflows/a.yaml"}) {
    file(name, "id: order\nstates: [{id: one, type: noop}]\n");
  }
  for (const char* name : {"event.json", "shop.json", "logo.png"}) {
    file(name, R"({"specversion": "1.0", "id": "8", "source": "s", "type": "t"})");
  }
  // Every `--help` below every noun.
  std::vector<std::vector<std::string>> paths = {{}};
  size_t examples = 0;
  while (!paths.empty()) {
    const std::vector<std::string> path = paths.back();
    paths.pop_back();
    std::vector<std::string> asked = path;
    asked.emplace_back("--help");
    std::istringstream help(run(asked).out);
    enum { kElsewhere, kCommands, kExamples } part = kElsewhere;
    for (std::string line; std::getline(help, line);) {
      if (line == "Subcommands:") {
        part = kCommands;
      } else if (line == "Example:") {
        part = kExamples;
      } else if (part == kCommands && line.starts_with("  ") && line[2] != ' ') {
        paths.push_back(path);
        paths.back().push_back(line.substr(2, line.find(' ', 2) - 2));
      } else if (part == kExamples && line.starts_with("  millrace ")) {
        const Printed printed = run(words_of(line.substr(11)), "s3cr3t-of-16-characters");
        EXPECT_NE(printed.code, 2) << line << ": " << printed.err;
        ++examples;
      }
    }
  }
  std::filesystem::current_path(before);
  EXPECT_GT(examples, 40U);
}

TEST_F(Cli, TakesTheSettingsOfAServerFromFlagsThenVariables) {
  EXPECT_EQ(run({"serve"}).code, 2) << "no data folder";
  EXPECT_EQ(run({"serve", "--data", "d"}).code, 0);
  EXPECT_EQ(g_served.data, "d");
  EXPECT_EQ(g_served.listen, "127.0.0.1:8780");
  EXPECT_EQ(g_served.nats, "nats://127.0.0.1:4222");
  env_["NATS_URL"] = "nats://a:1";
  EXPECT_EQ(run({"serve", "--data", "d"}).code, 0);
  EXPECT_EQ(g_served.nats, "nats://a:1");
  env_["MILLRACE_NATS"] = "nats://b:1";
  env_["MILLRACE_LISTEN"] = "127.0.0.1:1";
  env_["MILLRACE_DATA"] = "e";
  EXPECT_EQ(run({"serve"}).code, 0);
  EXPECT_EQ(g_served.data, "e");
  EXPECT_EQ(g_served.nats, "nats://b:1");
  EXPECT_EQ(g_served.listen, "127.0.0.1:1");
  EXPECT_EQ(g_served.user, "");
  env_["NATS_USER"] = "ann";
  env_["NATS_CREDS"] = "ann.creds";
  EXPECT_EQ(run({"serve", "--nats", "nats://c:1", "--listen", "[::1]:0"}).code, 0);
  EXPECT_EQ(g_served.nats, "nats://c:1");
  EXPECT_EQ(g_served.user, "ann");
  EXPECT_EQ(g_served.creds, "ann.creds");
  EXPECT_EQ(g_served.listen, "[::1]:0");

  EXPECT_EQ(g_served.task_timeout, Duration(10'000));
  EXPECT_EQ(run({"serve", "--task-timeout", "PT1.5S"}).code, 0);
  EXPECT_EQ(g_served.task_timeout, Duration(1'500));
  EXPECT_EQ(run({"serve", "--task-timeout", "0s"}).code, 2);
  EXPECT_EQ(run({"serve", "--dedupe-window", "1h", "--dedupe-events", "5"}).code, 0);
  EXPECT_EQ(g_served.dedupe_window, std::chrono::hours(1));
  EXPECT_EQ(g_served.dedupe_events, 5U);
  EXPECT_EQ(g_served.store_limit, uint64_t{1} << 40);
  EXPECT_EQ(g_served.checkpoint_bytes, uint64_t{16} << 20);
  env_["MILLRACE_STORE_LIMIT"] = "10GiB";
  EXPECT_EQ(run({"serve"}).code, 0);
  EXPECT_EQ(g_served.store_limit, uint64_t{10} << 30);
  for (const char* bad : {"0", "-1", "GiB", "10GB", "1.5GiB", "99999999999TiB", "10 GiB"}) {
    const auto result = run({"serve", "--store-limit", bad});
    EXPECT_EQ(result.code, 2) << bad;
    EXPECT_NE(result.err.find("--store-limit"), std::string::npos) << bad << result.err;
  }

  EXPECT_EQ(g_served.token_file, "");
  EXPECT_EQ(run({"serve", "--token-file", "here"}).code, 0);
  EXPECT_EQ(g_served.token_file, "here");
  env_["MILLRACE_TOKEN_FILE"] = "there";
  EXPECT_EQ(run({"serve"}).code, 0);
  EXPECT_EQ(g_served.token_file, "there");

  EXPECT_EQ(run({"dev", "examples/", "--keep", "data"}).code, 1) << "its exit code is the verb's";
  EXPECT_EQ(g_developed.folder, "examples/");
  EXPECT_EQ(g_developed.keep, "data");
  EXPECT_EQ(g_developed.listen, "127.0.0.1:1");
  EXPECT_EQ(g_developed.token_file, "there");
}

TEST_F(Cli, TakesWhichScenariosToPlay) {
  EXPECT_EQ(run({"test", "a", "b.test.yaml", "--only", "x", "-o", "junit"}).code, 9);
  EXPECT_EQ(g_tested.paths, (std::vector<std::string>{"a", "b.test.yaml"}));
  EXPECT_EQ(g_tested.only, "x");
  EXPECT_TRUE(g_tested.as_junit);
  EXPECT_EQ(run({"test", "a", "-o", "json"}).code, 2);
  EXPECT_EQ(run({"test"}).code, 2);
}

TEST_F(Cli, SetsAndGetsVariablesAsTheyAre) {
  EXPECT_EQ(run({"variable", "set", "hits", "7"}).code, 0);
  EXPECT_EQ(run({"variable", "get", "hits"}).out, "7") << "not a byte more";
  const std::string bytes("\0\xff\n", 3);
  EXPECT_EQ(run({"variable", "set", "logo", "--workflow", "order"}, bytes).code, 0);
  EXPECT_EQ(run({"variable", "get", "logo", "--workflow", "order"}).out, bytes);
  const std::string page = file("page.html", "<p>");
  EXPECT_EQ(
      run({"variable", "set", "page", "@" + page, "--type", "text/html", "--instance", kId}).code,
      0);
  EXPECT_EQ(run({"variable", "list", "-o", "name"}).out, "hits\n");
  const Printed list = run({"variable", "list", "--instance", kId, "-o", "json"});
  EXPECT_EQ(Json::parse(list.out)["items"],
            (Json::array({{{"key", "page"}, {"size", 3}, {"contentType", "text/html"}}})));
  EXPECT_EQ(run({"variable", "list", "--workflow", "order", "-o", "table"}).out,
            "KEY   SIZE  CONTENT TYPE\nlogo  3     application/octet-stream\n");
  EXPECT_EQ(run({"variable", "delete", "hits"}).code, 0);
  EXPECT_EQ(run({"variable", "get", "hits"}).code, 3);
  EXPECT_EQ(run({"variable", "delete", "hits"}).code, 3);
}

TEST_F(Cli, RefusesVariablesThatAreUnclear) {
  EXPECT_EQ(run({"variable", "set", "a", "text"}).code, 2) << "a text needs quotes";
  EXPECT_EQ(run({"variable", "get"}).code, 2);
  EXPECT_EQ(run({"variable", "get", "a", "--workflow", "w", "--instance", kId}).code, 2);
  EXPECT_EQ(run({"variable", "set", "1st", "1"}).code, 1);
}

TEST_F(Cli, TakesSecretsFromStandardInputOnly) {
  EXPECT_EQ(run({"secret", "set", "token"}, "s3cr3t\n").code, 0);
  EXPECT_EQ(service_.known_secrets().at("token"), "s3cr3t") << "without the line's end";
  EXPECT_EQ(run({"secret", "set", "two"}, "a\nb\n\n").code, 0);
  EXPECT_EQ(service_.known_secrets().at("two"), "a\nb\n");
  EXPECT_EQ(run({"secret", "set", "token", "s3cr3t"}).code, 2) << "others see the command line";
  EXPECT_EQ(run({"secret", "set", "empty"}, "\n").code, 2);
  EXPECT_EQ(run({"secret", "list", "-o", "name"}).out, "token\ntwo\n");
  EXPECT_EQ(run({"secret", "delete", "token"}).code, 0);
  EXPECT_EQ(run({"secret", "delete", "token"}).code, 3);
}

}  // namespace
}  // namespace millrace
