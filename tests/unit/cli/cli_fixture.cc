#include "tests/unit/cli/cli_fixture.h"

#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "cli/app.h"
#include "gateway/http_server.h"
#include "gateway/routes.h"
#include "tests/support/answer_check.h"
#include "tests/support/answer_forwarder.h"
#include "tests/unit/gateway/fake_service.h"
#include "tests/unit/gateway/patient_limits.h"

namespace millrace {
namespace {

/// Holds an answer against the OpenAPI document. Only one forwarder calls this at a time.
std::string fault_of_seen_answer(std::string_view method, std::string_view target,
                                 const HttpReply& reply) {
  static AnswerCheck check(api_document());
  return check.fault_of(method, target, reply);
}

Loaded load(std::string_view text) { return FakeService().load_definition(text, ""); }

}  // namespace

const char* const CliTest::kId = FakeService::kInstance;

CliTest::CliTest() : owned_service_(std::make_unique<FakeService>()), service_(*owned_service_) {}
CliTest::~CliTest() = default;

int CliTest::serve(const ServeOptions& options) {
  served_ = options;
  return 0;
}

int CliTest::dev(const DevOptions& options) {
  developed_ = options;
  return 1;
}

Ended CliTest::test(Console&, const TestOptions& options) {
  tested_ = options;
  return ExitCode::kInstanceFailed;
}

Ended CliTest::verify(Session& session, const VerifyOptions& options) {
  verified_ = options;
  session.output.item(TRY(session.client.send({.path = "/v1/verify"})).body, "sound");
  return ExitCode::kFailed;
}

Ended CliTest::backup(Session& session, const BackupOptions& options) {
  backed_up_ = options;
  session.output.item({{"backup", options.destination}}, "backup");
  return ExitCode::kOk;
}

Ended CliTest::restore(Console&, Output& output, const RestoreOptions& options) {
  restored_ = options;
  output.item({{"data", options.data}}, "data");
  return ExitCode::kOk;
}

Ended CliTest::store_info(Session& session, const StoreInfoOptions& options) {
  measured_ = options;
  session.output.item({{"usedBytes", 8192}}, "usedBytes");
  return ExitCode::kOk;
}

Ended CliTest::compact(Console&, Output& output, const CompactOptions& options) {
  compacted_ = options;
  output.item({{"data", options.data}}, "data");
  return ExitCode::kOk;
}

Ended CliTest::leave(Console&, Output& output, const LeaveOptions& options) {
  left_ = options;
  output.item({{"data", options.data}}, "data");
  return ExitCode::kOk;
}

void CliTest::SetUp() {
  auto started = HttpServer::start(
      {.listen = fmt::format("127.0.0.1:{}", port_.port()), .transport = patient_limits()},
      service_);
  ASSERT_TRUE(started) << started.error().message;
  server_ = std::move(*started);
  use_server();
  std::string folder = (std::filesystem::temp_directory_path() / "millrace-cli-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  folder_ = folder;
}

void CliTest::TearDown() {
  forwarder_.reset();
  std::filesystem::remove_all(folder_);
}

void CliTest::use_server() {
  forwarder_.reset();
  forwarder_ = std::make_unique<AnswerForwarder>(server_->port(), fault_of_seen_answer);
  env_["MILLRACE_URL"] = forwarder_->url();
}

CommandOutput CliTest::run(std::vector<std::string> arguments, const std::string& input) {
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
                  .now = now_,
                  .err_is_terminal = err_terminal_,
                  .pause = pause_};
  const ProgramVerbs program{.load = load,
                             .api = api_document,
                             .serve = serve,
                             .dev = dev,
                             .test = test,
                             .verify = verify,
                             .backup = backup,
                             .restore = restore,
                             .store_info = store_info,
                             .compact = compact,
                             .leave = leave};
  const int code = run_app(std::move(arguments), console, program);
  return {code, out.str(), err.str()};
}

void CliTest::expect_outputs(const std::vector<ExpectedOutput>& rows) {
  for (const ExpectedOutput& row : rows) {
    const std::string line = fmt::format("{}", fmt::join(row.arguments, " "));
    const CommandOutput printed = run(row.arguments);
    EXPECT_EQ(printed.code, 0) << line << ": " << printed.err;
    EXPECT_EQ(printed.out, row.out) << line;
  }
}

std::string CliTest::file(const std::string& name, const std::string& text) {
  const std::filesystem::path path = folder_ / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
  return path.string();
}

void CliTest::apply_order() {
  ASSERT_EQ(run({"workflow", "apply", file("order.yaml", "id: order\n")}).code, 0);
}

void CliTest::ask_for_token(const std::string& token) {
  server_ = *HttpServer::start(
      {.listen = "127.0.0.1:0", .token = BearerToken(token), .transport = patient_limits()},
      service_);
  use_server();
}

void CliTest::stop_gateway() { server_.reset(); }

}  // namespace millrace
