// A server that deletes ended instances, by the rules of its namespace and by a request, is killed
// at random moments, until the deletion is done. Then exactly the other instances are left, with
// all their rows. MILLRACE_KILLS and MILLRACE_SEED: see kill_series.h.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/integration/filled_store.h"
#include "tests/integration/kill_series.h"
#include "tests/support/archive_lines.h"

namespace millrace {
namespace {

/// What deletes instances of the filled store, and which.
struct Deletion {
  std::string name;
  /// The settings that the namespace has before the deletion; null: none.
  Json settings_before;
  Json settings;   ///< the settings that delete instances; null: they are not set
  Json selection;  ///< the body of the request; null: there is no request
  std::set<std::string> deleted;
  bool is_archived = false;
};

/// The ids after the first `kept`; the newest come first.
std::set<std::string> all_but_newest(const std::vector<std::string>& ids, size_t kept) {
  return {ids.begin() + static_cast<ptrdiff_t>(kept), ids.end()};
}

/// The rules delete the oldest instances of `done` and `fail`, and none of `audit`. The deleted
/// instances are archived.
Deletion by_rules(const FilledStore& store) {
  Deletion deletion{.name = "rules", .settings = Json::parse(R"({
    "retention": {
      "ended": {"count": 500},
      "failed": {"count": 100},
      "workflows": {"audit": {"ended": {}}},
      "archive": true
    }
  })")};
  deletion.is_archived = true;
  deletion.deleted = all_but_newest(store.ids_of("done"), 500);
  deletion.deleted.merge(all_but_newest(store.ids_of("fail"), 100));
  return deletion;
}

/// The request deletes the instances of `done` that ended before one of them. They are archived.
Deletion by_request(const FilledStore& store) {
  std::vector<Json> done = store.instances();
  std::erase_if(done, [](const Json& one) { return one.at("workflow") != "done"; });
  const std::string before = done.at(done.size() / 4).at("endedAt");
  const auto time = [](const std::string& text) { return parse_rfc3339(text).value(); };
  Deletion deletion{
      .name = "request",
      .settings_before = Json::parse(R"({"retention": {"archive": true}})"),
      .selection = {{"workflow", "done"}, {"status", {"complete"}}, {"before", before}},
      .is_archived = true};
  for (const Json& one : done) {
    if (time(one.at("endedAt")) < time(before)) {
      deletion.deleted.insert(one.at("id").get<std::string>());
    }
  }
  EXPECT_FALSE(deletion.deleted.empty());
  return deletion;
}

/// The rules delete instances of `fail`, the request all instances of `done`.
Deletion by_both(const FilledStore& store) {
  Deletion deletion{.name = "rules and request",
                    .settings = Json::parse(R"({"retention": {"failed": {"count": 100}}})"),
                    .selection = {{"workflow", "done"}, {"status", {"complete"}}}};
  deletion.deleted = all_but_newest(store.ids_of("done"), 0);
  deletion.deleted.merge(all_but_newest(store.ids_of("fail"), 100));
  return deletion;
}

/// A request to the server, which is repeated until it has an answer.
struct DeletionRequest {
  std::string method;
  std::string path;
  std::string body;
  std::unique_ptr<RawClient> client = nullptr;  ///< waits for the answer
  bool is_answered = false;
};

/// A server on a copy of the store that deletes instances.
class DeletionRun {
 public:
  DeletionRun(const NatsServer& nats, const FilledStore& store, const Deletion& deletion)
      : store_(store), deletion_(deletion), server_(nats.url()) {
    if (!deletion.settings.is_null()) {
      requests_.push_back(
          {.method = "PUT", .path = "/v1/ns/default", .body = dump_json(deletion.settings)});
    }
    if (!deletion.selection.is_null()) {
      requests_.push_back({.method = "POST",
                           .path = "/v1/ns/default/instances/delete",
                           .body = dump_json(deletion.selection)});
    }
    delete_streams(*nats.client());
    store_.copy_to(server_.data());
    start_time_ = time_of_operation([&] { server_.start_ready(); });
    if (!deletion.settings_before.is_null()) {
      const HttpReply reply =
          server_.ask("PUT", "/v1/ns/default", dump_json(deletion.settings_before));
      EXPECT_EQ(reply.status, 200) << reply.body;
    }
  }

  /// Whether the server has answered all requests, so that it must carry them out.
  bool is_answered() const {
    return std::all_of(requests_.begin(), requests_.end(),
                       [](const DeletionRequest& one) { return one.is_answered; });
  }
  /// The time that a start of the server takes.
  Duration start_time() const { return start_time_; }

  /// Begins or continues the deletion: sends the requests that have no answer. If all have one,
  /// only starts the server, and does not wait for the start.
  void begin() {
    if (is_answered()) return server_.launch();
    if (!server_.is_running()) server_.start_ready();
    for (DeletionRequest& one : requests_) {
      if (one.is_answered) continue;
      one.client = std::make_unique<RawClient>(server_.port());
      one.client->send(request_text(server_.port(), one.method, one.path, {}, one.body));
    }
  }

  /// Waits until that moment and kills the server. Returns where the kill came, by the number of
  /// ended instances.
  KillPlace kill(Duration moment) {
    server_.kill_after(moment);
    read_answers();
    const uint64_t left = usage_in(server_.data()).ended;
    EXPECT_GE(left, ended_at_last());
    if (left == store_.ended()) return KillPlace::kBefore;
    return left <= ended_at_last() ? KillPlace::kAfter : KillPlace::kDuring;
  }

  /// Deletes without a kill; returns the time that the deletion takes.
  Duration run() {
    const Duration taken = time_of_operation([&] {
      begin();
      EXPECT_TRUE(server_.has_usage(store_.live(), ended_at_last()));
    });
    finish();
    return taken;
  }

  /// Lets the server finish the deletion, stops it, and compares what is left.
  void finish() {
    read_answers();
    if (!is_answered()) {
      begin();
      read_answers();
    }
    EXPECT_TRUE(is_answered()) << "the server does not answer";
    if (!server_.is_running()) server_.start_ready();
    EXPECT_TRUE(server_.has_usage(store_.live(), ended_at_last()))
        << server_.get("/v1/info").at("store");
    expect_listed();
    stop_without_purges();
    const RowsByKey left = instance_rows_of(rows_in_folder(server_.data()));
    EXPECT_TRUE(left == store_.instance_rows_without(deletion_.deleted))
        << "the instances that stay have other rows than before";
    expect_archived();
  }

 private:
  uint64_t ended_at_last() const { return store_.ended() - deletion_.deleted.size(); }

  /// Reads the answers to the requests that were sent. A killed server may have given none.
  void read_answers() {
    for (DeletionRequest& one : requests_) {
      const std::unique_ptr<RawClient> client = std::move(one.client);
      if (!client) continue;
      const auto reply = client->read_reply();
      if (!reply) continue;
      EXPECT_EQ(reply->status, 200) << one.path << ": " << reply->body;
      one.is_answered = true;
    }
  }

  /// Expects that the server lists exactly the instances that stay, as before, and shows their
  /// histories.
  void expect_listed() const {
    std::vector<Json> expected = store_.instances();
    std::erase_if(expected, [&](const Json& one) {
      return deletion_.deleted.contains(one.at("id").get<std::string>());
    });
    const std::vector<Json> listed = server_.instances("");
    EXPECT_EQ(listed.size(), expected.size());
    EXPECT_TRUE(listed == expected) << "the list of instances differs";
    constexpr size_t kEach = 50;
    for (size_t i = 0; i < listed.size(); i += kEach) {
      EXPECT_FALSE(server_.history(listed[i].at("id")).empty()) << listed[i];
    }
    EXPECT_EQ(server_.ask("GET", "instances/" + *deletion_.deleted.begin()).status, 404);
  }

  /// Expects one complete line for each deleted instance in the archive, with the variable that
  /// each instance of `done` has set.
  void expect_archived() const {
    if (!deletion_.is_archived) return;
    std::multiset<std::string> ids;
    for (const Json& line :
         archive_lines_of(server_.data() / "archive" / "default.1" / "000001.jsonl")) {
      ids.insert(line.at("id").get<std::string>());
      EXPECT_EQ(line.at("variables").size(), line.at("workflow") == "done" ? 1U : 0U) << line;
    }
    EXPECT_TRUE(ids == std::multiset(deletion_.deleted.begin(), deletion_.deleted.end()))
        << "the archive has " << ids.size() << " lines for " << deletion_.deleted.size()
        << " instances";
  }

  /// Stops the server when the store has no row of a purge. The last step of a purge may come after
  /// its last instance, and after the stop, so another start may have to make that step.
  void stop_without_purges() {
    constexpr int kMostStarts = 5;
    for (int starts = 0; starts < kMostStarts; ++starts) {
      if (starts > 0) server_.start_ready();
      server_.stop();
      if (!has_purges()) return;
    }
    ADD_FAILURE() << "the purge does not end";
  }
  bool has_purges() const {
    constexpr std::string_view kPurges = "purge/";
    const RowsByKey rows = rows_in_folder(server_.data());
    const auto first = rows.lower_bound({Table::kMeta, std::string(kPurges)});
    return first != rows.end() && first->first.first == Table::kMeta &&
           first->first.second.starts_with(kPurges);
  }

  const FilledStore& store_;
  const Deletion& deletion_;
  MillraceServer server_;
  Duration start_time_{};
  std::vector<DeletionRequest> requests_;
};

class DeletionKills : public testing::Test {
 protected:
  NatsServer nats_;
  FilledStore store_{nats_, {.done = 3'000, .audited = 300, .failed = 1'000, .waiting = 100}};
};

TEST_F(DeletionKills, LeaveExactlyTheInstancesThatRulesAndRequestsKeep) {
  KillSeries series("deletion", "exactly the kept instances, with all their rows; no purge");
  const Deletion deletions[] = {by_rules(store_), by_request(store_), by_both(store_)};
  std::vector<Duration> wholes;
  for (const Deletion& one : deletions) {
    wholes.push_back(DeletionRun(nats_, store_, one).run());
  }
  for (size_t turn = 0; series.goes_on(); ++turn) {
    const size_t which = turn % std::size(deletions);
    const Deletion& deletion = deletions[which];
    DeletionRun run(nats_, store_, deletion);
    for (KillPlace place{}; place != KillPlace::kAfter && series.goes_on();) {
      // After the answers, the deletion continues while the server starts.
      const Duration start = run.is_answered() ? run.start_time() : Duration(0);
      place = series.run(deletion.name, wholes[which] + start, [&](Duration moment) {
        run.begin();
        return run.kill(moment);
      });
    }
    run.finish();
  }
}

}  // namespace
}  // namespace millrace
