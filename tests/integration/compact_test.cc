// `millrace store info` and `millrace store compact`: the size of a store, and a server that starts
// again on a compacted folder.
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kEnds = "id: ends\nstates: [{id: done, type: noop}]\n";
constexpr const char* kAwaitsGo =
    "id: awaits\nstates: [{id: wait, type: consumeEvent, event: {type: go}}]\n";

class StoreVerbs : public MillraceTest {
 protected:
  std::string data() const { return millrace_.data().string(); }

  /// Runs a verb of `millrace store` on the data folder; returns its JSON.
  Json store(const std::string& verb) const {
    const ProcessEnd end = millrace_.cli({"store", verb, "--data", data(), "-o", "json"});
    EXPECT_EQ(end.code, 0) << end.errors;
    return is_json(end.output) ? Json::parse(end.output) : Json::object();
  }
  /// Starts instances that end at once; returns their ids.
  std::vector<std::string> start_ended(size_t count) {
    std::vector<std::string> ids;
    for (size_t i = 0; i < count; ++i) {
      ids.push_back(millrace_.start_instance("ends", {{"text", std::string(8'000, 'x')}}));
    }
    EXPECT_TRUE(millrace_.has_instances("workflow=ends&status=complete", count));
    return ids;
  }
};

TEST_F(StoreVerbs, CompactTheFolderOfAStoppedServerThatThenStartsAgain) {
  millrace_.apply(kEnds);
  millrace_.apply(kAwaitsGo);
  const std::string waiting = millrace_.start_instance("awaits", {{"n", 1}});
  const std::vector<std::string> ended = start_ended(150);
  millrace_.stop();  // after that, data.mdb has all rows
  millrace_.start_ready();
  for (size_t i = 1; i < ended.size(); ++i) {
    EXPECT_EQ(millrace_.ask("DELETE", "instances/" + ended[i]).status, 200);
  }
  millrace_.kill();  // the deletions are in the journal only

  const Json before = store("info");
  EXPECT_GT(before.at("waitingRows"), 0);
  EXPECT_GT(before.at("usedBytes"), 1'000'000);
  const Json compacted = store("compact");
  EXPECT_EQ(compacted.at("bytesBefore"),
            before.at("dataBytes").get<uint64_t>() + before.at("journalBytes").get<uint64_t>());
  EXPECT_LT(compacted.at("bytesAfter"), 500'000);
  const Json after = store("info");
  EXPECT_EQ(after.at("waitingRows"), 0);
  EXPECT_LT(after.at("usedBytes"), 400'000);
  EXPECT_LT(after.at("freeBytes"), 100'000);
  EXPECT_EQ(after.at("namespaces").at(0).at("live"), 1);
  EXPECT_EQ(after.at("namespaces").at(0).at("ended"), 1);
  EXPECT_FALSE(std::filesystem::exists(millrace_.data() / "compact"));
  EXPECT_EQ(millrace_.cli({"verify", "--data", data()}).code, 0);

  millrace_.start_ready();
  EXPECT_THAT(millrace_.items("instances"), SizeIs(2));
  EXPECT_EQ(millrace_.instance(waiting)["status"], "waiting");
  EXPECT_FALSE(millrace_.history(ended[0]).empty());
  EXPECT_EQ(
      millrace_.ask("POST", "events", R"({"specversion":"1.0","id":"1","type":"go","source":"/t"})")
          .status,
      202);
  millrace_.instance_once(waiting, "complete");
  millrace_.instance_once(millrace_.start_instance("ends", {{"n", 2}}), "complete");
  millrace_.stop();
}

TEST_F(StoreVerbs, ShowTheSizeOfARunningAndOfAStoppedServer) {
  millrace_.apply(kEnds);
  const std::string id = start_ended(3).front();
  const std::string started = millrace_.instance(id)["startedAt"];
  const ProcessEnd running = millrace_.cli({"store", "info", "--data", data(), "-o", "json"});
  EXPECT_EQ(running.code, 0) << running.errors;
  EXPECT_THAT(running.errors, HasSubstr("is asked for the size of the store"));
  EXPECT_EQ(Json::parse(running.output).at("data"), data());
  EXPECT_EQ(Json::parse(running.output).at("oldestEnded"), started);
  EXPECT_EQ(Json::parse(running.output).at("retention").at("instances").at("running"), false);
  EXPECT_EQ(millrace_.cli({"store", "info"}).code, 0) << "without a folder";
  EXPECT_EQ(millrace_.get("/v1/info").at("store").at("namespaces").at(0).at("ended"), 3);
  EXPECT_THAT(millrace_.ask("GET", "/metrics").body,
              HasSubstr("\nmillrace_namespace_ended_instances{namespace=\"default\"} 3\n"));
  millrace_.stop();
  const Json stopped = store("info");
  EXPECT_EQ(stopped.at("oldestEnded"), started);
  EXPECT_FALSE(stopped.contains("retention")) << "only a running server has passes";
  EXPECT_EQ(stopped.at("namespaces").at(0).at("ended"), 3);
  EXPECT_GT(stopped.at("usedBytes"), 0);
}

TEST_F(StoreVerbs, RefuseAStoreOfALaterReleaseOrThatLacksRowsAsBackupAndVerifyDo) {
  millrace_.apply(kEnds);
  millrace_.stop();
  const auto change = [&](const auto& write) {
    const auto environment = Environment::open(millrace_.data()).value();
    Transaction tx(*environment);
    write(tx);
    ASSERT_TRUE(tx.commit());
  };
  const struct {
    const char* key;
    std::string value;
    std::string message;
  } cases[] = {{"minor", rows::key_of(kStoreMinor + 1),
                fmt::format("has format {}.{}", kStoreFormat, kStoreMinor + 1)},
               {"loading", "any", "was loading a snapshot"}};
  const Folder folder;
  const std::string backup = (folder.path() / "backup").string();
  for (const auto& one : cases) {
    change([&](Transaction& tx) { tx.put(Table::kMeta, one.key, one.value); });
    for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
             {"store", "info"}, {"store", "compact"}, {"backup", backup}, {"verify"}}) {
      std::vector<std::string> arguments = verb;
      arguments.insert(arguments.end(), {"--data", data()});
      const ProcessEnd end = millrace_.cli(arguments);
      EXPECT_EQ(end.code, 1) << verb.back();
      EXPECT_THAT(end.errors, HasSubstr(one.message)) << verb.back();
    }
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "backup" / "manifest.json"));
    change([&](Transaction& tx) { tx.erase(Table::kMeta, one.key); });
  }
  EXPECT_EQ(store("info").at("namespaces").size(), 1U);
}

TEST_F(StoreVerbs, RefuseToCompactAStoreInUseAndAFolderWithoutAStore) {
  const ProcessEnd in_use = millrace_.cli({"store", "compact", "--data", data()});
  EXPECT_EQ(in_use.code, 6) << in_use.errors;
  EXPECT_THAT(in_use.errors, HasSubstr("is in use"));
  const Folder empty;
  const ProcessEnd missing = millrace_.cli({"store", "compact", "--data", empty.path().string()});
  EXPECT_EQ(missing.code, 3) << missing.errors;
  EXPECT_TRUE(std::filesystem::is_empty(empty.path()));
  millrace_.stop();
}

}  // namespace
}  // namespace millrace
