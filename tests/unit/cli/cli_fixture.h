// CliTest: runs command lines against a gateway whose service is in memory (FakeService), and
// returns their output and exit codes. Each answer of the gateway is held against the OpenAPI
// document. Functions that record their options replace the verbs
// `serve`, `dev`, `test`, `verify`, `backup`, `restore`, `store info`, `store compact` and
// `cluster leave`.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/time.h"
#include "cli/program_verbs.h"
#include "tests/support/held_port.h"

namespace millrace {

class AnswerForwarder;
class FakeService;
class HttpServer;

struct CommandOutput {
  int code = 0;
  std::string out;
  std::string err;
};

class CliTest : public testing::Test {
 protected:
  /// The same id as FakeService::kInstance.
  static const char* const kId;

  CliTest();
  ~CliTest() override;
  void SetUp() override;
  void TearDown() override;

  CommandOutput run(std::vector<std::string> arguments, const std::string& input = "");

  struct ExpectedOutput {
    std::vector<std::string> arguments;
    std::string out;
  };
  /// Runs the command lines in order. Expects that each command line succeeds with the output in
  /// its row.
  void expect_outputs(const std::vector<ExpectedOutput>& rows);

  /// Creates a file in the folder of the test, and returns its path.
  std::string file(const std::string& name, const std::string& text);

  void apply_order();

  /// Replaces the gateway by one that requires this token.
  void ask_for_token(const std::string& token);
  void stop_gateway();

  const std::unique_ptr<FakeService> owned_service_;
  FakeService& service_;
  HeldPort port_;  ///< of the gateway; after stop_gateway() no other process listens on it
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<AnswerForwarder> forwarder_;  ///< to server_, for the command line
  std::filesystem::path folder_;
  std::map<std::string, std::string> env_;
  bool terminal_ = true;
  bool err_terminal_ = false;                                  ///< Console::err_is_terminal
  TimePoint time_ = from_millis(1630497600000 + 300'000);      ///< 2021-09-01T12:05:00Z
  std::function<TimePoint()> now_ = [this] { return time_; };  ///< Console::now
  int pauses_ = 0;  ///< after how many pauses of a verb the user presses Ctrl-C
  std::function<bool(Duration)> pause_ = [this](Duration) {  ///< Console::pause
    return pauses_-- > 0;
  };

  // The options with which each verb of the program was last called.
  static inline ServeOptions served_;
  static inline DevOptions developed_;
  static inline TestOptions tested_;
  static inline VerifyOptions verified_;
  static inline BackupOptions backed_up_;
  static inline RestoreOptions restored_;
  static inline StoreInfoOptions measured_;
  static inline CompactOptions compacted_;
  static inline LeaveOptions left_;

 private:
  /// Connects the command line to server_.
  void use_server();

  static int serve(const ServeOptions& options);
  static int dev(const DevOptions& options);
  static Ended test(Console& console, const TestOptions& options);
  static Ended verify(Session& session, const VerifyOptions& options);
  static Ended backup(Session& session, const BackupOptions& options);
  static Ended restore(Console& console, Output& output, const RestoreOptions& options);
  static Ended store_info(Session& session, const StoreInfoOptions& options);
  static Ended compact(Console& console, Output& output, const CompactOptions& options);
  static Ended leave(Console& console, Output& output, const LeaveOptions& options);
};

}  // namespace millrace
