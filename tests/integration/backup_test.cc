// `millrace backup` and `millrace restore`: a backup while events flow, and a restored store beside
// the same NATS server, whose event stream is ahead of the backup, behind it, empty or another one.
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <tuple>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "os/descriptor.h"
#include "tests/support/file_bytes.h"
#include "tests/support/folder.h"
#include "tests/support/millrace_server.h"
#include "tests/support/queue_worker.h"
#include "tests/unit/http/http_peer.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kCounted = R"(
id: counted
start: {type: event, event: {type: count}}
states:
- {id: done, type: noop}
)";

constexpr const char* kWaits = R"(
id: waits
states:
- {id: wait, type: consumeEvent, event: {type: go}}
)";

constexpr const char* kCharges = R"(
id: charges
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- {id: pay, type: action, action: {function: charge}}
)";

/// A workflow that starts at the begin of each year.
constexpr const char* kYearly = R"(
id: yearly
start: {type: scheduled, cron: '0 0 1 1 *'}
states:
- {id: done, type: noop}
)";

/// A workflow that generates an event which starts an instance of kCounted.
constexpr const char* kGenerates = R"(
id: generates
states:
- {id: send, type: generateEvent, event: {type: count, source: /generates}}
)";

class BackupAndRestore : public MillraceTest {
 protected:
  fs::path backup() const { return folder_.path() / "backup"; }
  std::string key_file() const { return (millrace_.data() / "secret-key").string(); }

  static void publish(RawNatsClient& client, std::string_view type, std::string_view id) {
    const Json ack = client.publish_acked(
        fmt::format("millrace.events.default.{}", type), "",
        fmt::format(R"({{"specversion":"1.0","id":"{}","source":"/t","type":"{}"}})", id, type));
    ASSERT_TRUE(ack.contains("seq")) << ack;
  }
  void publish(std::string_view type, std::string_view id) { publish(*nats_.client(), type, id); }

  static ProcessEnd run(std::vector<std::string> arguments, std::string input = "") {
    arguments.insert(arguments.begin(), millrace_program());
    return run_process({.command = std::move(arguments), .input = std::move(input)});
  }
  /// Makes a backup of the running server in the folder backup(); returns what the command prints.
  Json back_up() {
    const ProcessEnd end = millrace_.cli({"backup", backup().string(), "-o", "json"});
    EXPECT_EQ(end.code, 0) << end.errors;
    return is_json(end.output) ? Json::parse(end.output) : Json::object();
  }
  /// Stops the server of which there is a backup, and starts another one on the restored store.
  void restore_and_start(std::vector<std::string> options = {}) {
    if (millrace_.is_running()) millrace_.stop();
    restore(std::move(options));
    restored_.start_ready();
  }
  void restore(std::vector<std::string> options = {}) {
    options.insert(options.begin(),
                   {"restore", backup().string(), "--data", restored_.data().string(),
                    "--secret-key-file", key_file(), "--copy-key"});
    const ProcessEnd end = run(std::move(options));
    ASSERT_EQ(end.code, 0) << end.errors;
  }
  /// Keeps a copy of the streams as they are now. Afterwards the server is ready again.
  void copy_streams() {
    nats_.process().stop();
    replace_folder(older_streams(), nats_.store());
    ASSERT_TRUE(nats_.process().start_again());
    EXPECT_TRUE(eventually([&] { return millrace_.ask("GET", "/readyz").status == 200; }));
  }
  /// Stops the server, and replaces the streams by the copy.
  void return_to_older_streams() {
    millrace_.stop();
    nats_.process().stop();
    replace_folder(nats_.store(), older_streams());
    ASSERT_TRUE(nats_.process().start_again());
    restored_.set_arguments({"--take-over"});  // the copy names the first server as the owner
  }
  fs::path older_streams() const { return folder_.path() / "store"; }
  /// The number of messages in the event stream.
  uint64_t stored_events() const {
    return nats_.client()->api("STREAM.INFO.MILLRACE_EVENTS").at("state").at("messages");
  }
  bool has_counted(const MillraceServer& server, size_t count) const {
    return server.has_instances("workflow=counted&status=complete", count);
  }
  /// Applies the workflow `counted`, which an event has started once when this returns.
  void count_first_event() {
    millrace_.apply(kCounted);
    publish("count", "c1");
    ASSERT_TRUE(has_counted(millrace_, 1));
  }
  /// The ids of the newest instances that events started.
  static std::vector<std::string> newest_ids(const MillraceServer& server) {
    std::vector<std::string> ids;
    const std::vector<Json> items = server.items("instances?workflow=counted&limit=20");
    for (const Json& one : items) ids.push_back(one.at("id"));
    return ids;
  }
  /// The kinds of the losses that the restored server found in the broker.
  std::vector<std::string> losses() const {
    std::vector<std::string> kinds;
    const Json info = restored_.get("/v1/info");
    for (const Json& loss : info.at("broker").at("losses")) kinds.push_back(loss.at("kind"));
    return kinds;
  }

  Folder folder_;
  MillraceServer restored_{nats_.url()};
};

TEST_F(BackupAndRestore, AppliesTheEventsAfterTheBackupToTheRestoredStore) {
  millrace_.apply(kCounted);
  millrace_.apply(kWaits);
  const std::string id = millrace_.start_instance("waits", {{"n", 1}});
  std::atomic<bool> goes_on = true;
  size_t published = 0;
  std::thread publisher([&, client = nats_.client()] {
    while (goes_on && published < 500) publish(*client, "count", fmt::format("c{}", published++));
  });
  EXPECT_TRUE(eventually([&] { return !millrace_.items("instances?workflow=counted").empty(); }));
  const Json made = back_up();
  goes_on = false;
  publisher.join();
  publish("count", fmt::format("c{}", published++));
  publish("go", "g1");
  ASSERT_TRUE(has_counted(millrace_, published));
  millrace_.instance_once(id, "complete");
  EXPECT_GT(made.at("commit"), 0);
  EXPECT_GT(made.at("rows"), 0);
  EXPECT_GE(made.at("chunks"), 1);
  EXPECT_LE(made.at("cursor").at("sequence"), published);
  const std::vector<std::string> ids = newest_ids(millrace_);

  restore_and_start();
  EXPECT_TRUE(has_counted(restored_, published)) << "each event has started one instance";
  EXPECT_EQ(newest_ids(restored_), ids) << "the instances have the same ids";
  restored_.instance_once(id, "complete");
  EXPECT_TRUE(losses().empty());
  restored_.stop();
}

TEST_F(BackupAndRestore, WorksOnAStoppedServerAndWithATarStream) {
  millrace_.apply(kWaits);
  const std::string id = millrace_.start_instance("waits", {{"n", 1}});
  const std::string secret = "a text that no digest contains";
  EXPECT_EQ(millrace_.ask("PUT", "secrets/card", secret).status, 201);
  millrace_.stop();
  const ProcessEnd made = run({"backup", "-", "--data", millrace_.data().string()});
  ASSERT_EQ(made.code, 0) << made.errors;
  EXPECT_THAT(made.errors, HasSubstr("\"commit\":"));
  EXPECT_EQ(made.output.find(secret), std::string::npos);
  for (const std::string& cut : {std::string(), made.output.substr(0, made.output.size() / 2)}) {
    const ProcessEnd refused =
        run({"restore", "-", "--data", restored_.data().string(), "--secret-key-file", key_file()},
            cut);
    EXPECT_EQ(refused.code, 1) << refused.errors;
    EXPECT_FALSE(fs::exists(restored_.data()));
  }
  const ProcessEnd end = run({"restore", "-", "--data", restored_.data().string(),
                              "--secret-key-file", key_file(), "--copy-key"},
                             made.output);
  ASSERT_EQ(end.code, 0) << end.errors;
  restored_.start_ready();
  EXPECT_EQ(restored_.instance(id).at("status"), "waiting");
  EXPECT_EQ(restored_.get("secrets").at("items"), (Json{{{"name", "card"}}}));
  restored_.stop();
}

TEST_F(BackupAndRestore, AcceptsATarArchiveThatIsMadeFromABackupFolder) {
  millrace_.apply(kWaits);
  back_up();
  millrace_.stop();
  const ProcessEnd tar =
      run_process({.command = {"tar", "--sort=name", "-cf", "-", "-C", backup().string(), "."}});
  ASSERT_EQ(tar.code, 0) << tar.errors;
  const ProcessEnd end =
      run({"restore", "-", "--data", restored_.data().string(), "--secret-key-file", key_file()},
          tar.output);
  EXPECT_EQ(end.code, 0) << end.errors;
}

TEST_F(BackupAndRestore, RefusesABackupOrAKeyThatDoesNotFitAndChangesNothing) {
  millrace_.apply(kWaits);
  back_up();
  millrace_.stop();
  const std::vector<std::string> command = {"restore", backup().string(), "--data",
                                            restored_.data().string()};
  const ProcessEnd no_key = run(command);
  EXPECT_EQ(no_key.code, 1);
  EXPECT_THAT(no_key.errors, HasSubstr("--secret-key-file"));

  std::vector<std::string> with_key = command;
  with_key.insert(with_key.end(), {"--secret-key-file", key_file()});
  const fs::path chunk = backup() / "chunk-000001";
  const std::string bytes = file_bytes(chunk);
  std::ofstream(chunk, std::ios::binary) << bytes << "x";
  const ProcessEnd damaged = run(with_key);
  EXPECT_EQ(damaged.code, 1);
  EXPECT_THAT(damaged.errors, HasSubstr("chunk-000001"));
  EXPECT_FALSE(fs::exists(restored_.data()));
  EXPECT_FALSE(fs::exists(restored_.data().string() + ".partial"));

  std::ofstream(chunk, std::ios::binary) << bytes;
  ASSERT_EQ(run(with_key).code, 0);
  const ProcessEnd again = run(with_key);
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.errors, HasSubstr("is not an empty folder"));
  const ProcessEnd twice = run({"backup", backup().string(), "--data", millrace_.data().string()});
  EXPECT_EQ(twice.code, 1);
  EXPECT_THAT(twice.errors, HasSubstr("is not an empty folder"));
}

TEST_F(BackupAndRestore, SaysWhyAPathOrAStreamIsNotABackup) {
  millrace_.stop();
  fs::create_directory(backup());
  const fs::path file = folder_.path() / "archive.tar";
  std::ofstream(file) << "not an archive";
  const std::tuple<std::string, std::string, std::string> rows[] = {
      {(folder_.path() / "none").string(), "", "it does not exist"},
      {backup().string(), "", "it is an empty folder"},
      {millrace_.data().string(), "", "it has neither the file backup.json"},
      {file.string(), "", "`millrace restore - < " + file.string() + "`"},
      {"-", "", "reading the tar stream: it is empty"},
      {"-", "not an archive", "expected the output of `millrace backup -`"},
  };
  for (const auto& [from, input, text] : rows) {
    const ProcessEnd end = run({"restore", from, "--data", restored_.data().string()}, input);
    EXPECT_EQ(end.code, 1) << text;
    EXPECT_THAT(end.errors, HasSubstr(text));
    EXPECT_FALSE(fs::exists(restored_.data()));
  }
}

TEST_F(BackupAndRestore, MakesOneBackupOfAServerAtATime) {
  RawClient client(millrace_.port());  // while it is connected, its backup continues
  client.send(
      fmt::format("POST /v1/backups HTTP/1.1\r\nHost: localhost:{}\r\n\r\n", millrace_.port()));
  const auto reply = client.read_reply();
  ASSERT_TRUE(reply && reply->status == 201);
  const std::string id = reply->json().at("id");
  const ProcessEnd second = millrace_.cli({"backup", backup().string()});
  EXPECT_EQ(second.code, 1);
  EXPECT_THAT(second.errors, HasSubstr("a backup is running: " + id));
  EXPECT_EQ(millrace_.ask("DELETE", "/v1/backups/" + id).status, 200);
  EXPECT_EQ(millrace_.cli({"backup", backup().string()}).code, 0) << "the folder is still empty";
}

TEST_F(BackupAndRestore, CanBeMadeAfterASignalHasEndedAnotherOne) {
  ASSERT_EQ(millrace_.ask("PUT", "variables/large", std::string(1 << 20, 'v')).status, 200);
  const fs::path pipe = folder_.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    // Nothing is read from the pipe, so the command waits while it writes the first chunk.
    const Descriptor reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    ASSERT_TRUE(reader);
    Process command({.command = {"sh", "-c", "exec \"$0\" backup - > \"$1\"", millrace_program(),
                                 pipe.string()},
                     .environment = {{"MILLRACE_URL", millrace_.url()}}});
    ASSERT_TRUE(eventually([&] {
      int bytes = 0;
      return ::ioctl(reader.fd(), FIONREAD, &bytes) == 0 && bytes > 0;
    })) << command.errors();
    command.signal(signal);
    EXPECT_EQ(command.wait(), 128 + signal);
    const std::string folder = (folder_.path() / fmt::format("backup-{}", signal)).string();
    const ProcessEnd next = millrace_.cli({"backup", folder});
    EXPECT_EQ(next.code, 0) << next.errors;
    const bool has_waited = next.errors.find("waiting:") != std::string::npos;
    EXPECT_TRUE(signal == SIGKILL || !has_waited) << "the command ends its backup at the server";
  }
}

TEST_F(BackupAndRestore, ReadsTheNewStreamIfTheStreamOfTheBackupIsGone) {
  ASSERT_NO_FATAL_FAILURE(count_first_event());
  back_up();
  millrace_.stop();
  nats_.client()->api("STREAM.DELETE.MILLRACE_EVENTS");
  restore_and_start();
  EXPECT_EQ(losses(), std::vector<std::string>{"stream"});
  publish("count", "c2");
  publish("count", "c1");
  publish("count", "c3");
  EXPECT_TRUE(has_counted(restored_, 3)) << "c1 is a duplicate, as the restored store knows";
  EXPECT_TRUE(restored_.process().error_line("the event stream was created again"));
  restored_.stop();
}

TEST_F(BackupAndRestore, ReportsTheEventsThatAnEmptiedStreamHasLost) {
  ASSERT_NO_FATAL_FAILURE(count_first_event());
  back_up();
  millrace_.stop();
  publish("count", "c2");
  nats_.client()->api("STREAM.PURGE.MILLRACE_EVENTS");
  restore_and_start();
  EXPECT_EQ(losses(), std::vector<std::string>{"dropped"});
  publish("count", "c3");
  EXPECT_TRUE(has_counted(restored_, 2));
  restored_.stop();
}

TEST_F(BackupAndRestore, ReadsNewEventsOfAStreamThatIsBehindTheBackup) {
  ASSERT_NO_FATAL_FAILURE(count_first_event());
  copy_streams();
  publish("count", "c2");
  publish("count", "c3");
  ASSERT_TRUE(has_counted(millrace_, 3));
  back_up();
  return_to_older_streams();
  restore_and_start();
  EXPECT_EQ(losses(), std::vector<std::string>{"tail"});
  publish("count", "c4");
  EXPECT_TRUE(has_counted(restored_, 4));
  restored_.stop();
}

TEST_F(BackupAndRestore, AppliesTheOtherEventsThatAStreamHasAtTheCursorAndBehindIt) {
  ASSERT_NO_FATAL_FAILURE(count_first_event());
  copy_streams();
  publish("count", "c2");
  publish("count", "c3");
  ASSERT_TRUE(has_counted(millrace_, 3));
  EXPECT_EQ(back_up().at("cursor").at("sequence"), 3);
  return_to_older_streams();
  for (const char* const id : {"d2", "d3", "d4"}) publish("count", id);
  EXPECT_EQ(stored_events(), 4U) << "the cursor is that of d3";
  restore_and_start();
  EXPECT_EQ(losses(), std::vector<std::string>{"tail"});
  publish("count", "c5");
  EXPECT_TRUE(has_counted(restored_, 7));
  restored_.stop();
}

TEST_F(BackupAndRestore, SendsItsOwnEventsAgainThatAStreamBehindTheBackupHasLost) {
  ASSERT_NO_FATAL_FAILURE(count_first_event());
  millrace_.apply(kGenerates);
  copy_streams();
  millrace_.start_instance("generates", {{"n", 1}});
  ASSERT_TRUE(has_counted(millrace_, 2));
  back_up();
  return_to_older_streams();
  EXPECT_EQ(stored_events(), 1U);
  restore_and_start();
  EXPECT_EQ(losses(), std::vector<std::string>{"tail"});
  EXPECT_TRUE(eventually([&] { return stored_events() == 2; }));
  publish("count", "c2");
  EXPECT_TRUE(has_counted(restored_, 3)) << "the event that is sent again is a duplicate";
  EXPECT_EQ(stored_events(), 3U);
  restored_.stop();
}

TEST_F(BackupAndRestore, FiresOneTickInPlaceOfThoseSinceTheBackup) {
  millrace_.apply(kYearly);
  back_up();
  millrace_.stop();
  restore();
  {  // as if the backup were some years old
    const auto environment = Environment::open(restored_.data()).value();
    Transaction tx(*environment);
    constexpr WorkflowNumber yearly{1};
    ASSERT_TRUE(read_schedule(tx, yearly).value());
    write_schedule(tx, yearly, {.from = parse_rfc3339("2020-06-01T00:00:00Z").value()});
    ASSERT_TRUE(tx.commit());
  }
  restored_.start_ready();
  EXPECT_TRUE(restored_.has_instances("workflow=yearly&status=complete", 1));
  const Json schedule = restored_.get("schedules/yearly");
  EXPECT_EQ(schedule.at("lastTick"), "2021-01-01T00:00:00.000Z");
  EXPECT_GT(parse_rfc3339(schedule.at("nextTick").get<std::string>()).value(),
            parse_rfc3339("2022-06-01T00:00:00Z").value())
      << "the ticks of the years between are left out";
  restored_.stop();
}

TEST_F(BackupAndRestore, SendsToAWebhookAgainUnderTheSameId) {
  HttpPeer webhook(take_as_webhook);
  const Json settings = {
      {"webhooks", {{{"url", webhook.url()}, {"types", {"millrace.instance.completed"}}}}}};
  ASSERT_EQ(millrace_.ask("PUT", "/v1/ns/default", dump_json(settings)).status, 200);
  const auto received = [&] {
    std::vector<std::string> ids;
    for (const HttpPeer::Request& request : webhook.requests(0)) {
      if (request.method == "POST") ids.push_back(request.header("ce-id"));
    }
    return ids;
  };
  millrace_.apply(kWaits);
  const std::string id = millrace_.start_instance("waits", {{"n", 1}});
  millrace_.instance_once(id, "waiting");
  back_up();
  publish("go", "g1");
  ASSERT_TRUE(eventually([&] { return received().size() == 1; }));
  restore_and_start();
  ASSERT_TRUE(eventually([&] { return received().size() == 2; }));
  EXPECT_EQ(received()[0], received()[1]);
  restored_.stop();
}

TEST_F(BackupAndRestore, DeliversATaskAgainWhoseAnswerOnlyTheOriginalServerHas) {
  millrace_.apply(kCharges);
  const std::string id = millrace_.start_instance("charges", {{"n", 1}});
  millrace_.instance_once(id, "waiting");
  QueueWorker worker(nats_.client(), "millrace", "default+charge");
  back_up();
  const auto first = worker.do_one("1");
  ASSERT_TRUE(first);
  millrace_.instance_once(id, "complete");

  restore_and_start();
  const auto again = worker.do_one("2");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->data, first->data);
  EXPECT_EQ(QueueWorker::reply_of(*again), QueueWorker::reply_of(*first));
  restored_.instance_once(id, "complete");
  restored_.stop();
}

TEST_F(BackupAndRestore, KeepsTheIdOfTheStoreOnlyIfItTakesOver) {
  const auto owner = [&] {
    const Json found =
        nats_.client()->api("STREAM.MSG.GET.MILLRACE_OWNER", {{"last_by_subj", "millrace.owner"}});
    const auto data = base64_decode(found.at("message").at("data").get<std::string>());
    return Json::parse(data.value()).at("store").get<std::string>();
  };
  const std::string original = owner();
  EXPECT_EQ(back_up().at("store"), original);
  restore_and_start({"--take-over"});
  EXPECT_EQ(owner(), original);
  restored_.stop();
  fs::remove_all(restored_.data());
  restore_and_start();
  EXPECT_NE(owner(), original);
  restored_.stop();
}

}  // namespace
}  // namespace millrace
