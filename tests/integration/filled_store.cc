#include "tests/integration/filled_store.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include <fmt/format.h>

#include "base/check.h"
#include "base/codec.h"
#include "orchestrator/store/rows/history_rows.h"

namespace millrace {
namespace {

/// The tables with the rows of instances.
constexpr Table kInstanceTables[] = {Table::kLive, Table::kEnded, Table::kHistory,
                                     Table::kVariables};

/// How many events are published before their instances are awaited.
constexpr size_t kPublishedAtOnce = 1'000;

/// A workflow whose instances set a variable and complete.
std::string completing(std::string_view id) {
  return fmt::format(R"(
id: {0}
start: {{type: event, event: {{type: {0}}}}}
states:
- id: note
  type: setter
  variables: [{{key: seen, scope: instance, value: 'jq(.{0}.key)'}}]
)",
                     id);
}

constexpr const char* kFailing = R"(
id: fail
start: {type: event, event: {type: fail}}
states:
- {id: stop, type: error, error: no.use, message: gone}
)";

constexpr const char* kWaiting = R"(
id: wait
start: {type: event, event: {type: wait}}
states:
- id: wait
  type: consumeEvent
  event: {type: go, context: {key: 'jq(.wait.key)'}}
  timeout: PT10H
)";

/// The instance that a row of kInstanceTables belongs to. The variables are those of instances.
InstanceId owner_of(Table table, std::string_view key, std::string_view value) {
  if (table == Table::kHistory) return decode_history(value).value().instance;
  Reader reader(key);
  reader.u32();                                 // the namespace
  if (table == Table::kVariables) reader.u8();  // the scope
  return InstanceId{reader.id()};
}

}  // namespace

std::string keyed_event(std::string_view type, std::string_view key) {
  return fmt::format(R"({{"specversion":"1.0","id":"{0}-{1}","source":"/filled","type":"{0}",)"
                     R"("key":"{1}","data":{{"key":"{1}","text":"{2}"}}}})",
                     type, key, std::string(400, 'x'));
}

std::string event_subject(std::string_view type) {
  return fmt::format("millrace.events.default.{}", type);
}

FilledStore::FilledStore(const NatsServer& nats, const Filling& filling)
    : server_(nats.url()), folder_(server_.data()) {
  server_.start_ready();
  server_.apply(completing("done"));
  server_.apply(completing("audit"));
  server_.apply(kFailing);
  server_.apply(kWaiting);
  const std::unique_ptr<RawNatsClient> client = nats.client();
  fill(*client, "done", filling.done, ended_);
  fill(*client, "audit", filling.audited, ended_);
  fill(*client, "fail", filling.failed, ended_);
  fill(*client, "wait", filling.waiting, live_);
  // An instance counts as live when it starts; its first state may need a result of a jq worker.
  for (const std::string_view status : {"pending", "running"}) {
    CHECK(server_.has_instances(fmt::format("status={}", status), 0), "an instance is {}", status);
  }
  instances_ = server_.instances("");
  server_.stop();
  rows_ = rows_in_folder(folder_);
}

/// Publishes events that each start an instance, and waits until the instances have started and,
/// unless they wait, ended. `started` counts them.
void FilledStore::fill(RawNatsClient& client, std::string_view type, size_t count,
                       size_t& started) {
  for (size_t n = 1; n <= count; ++n) {
    const std::string event = keyed_event(type, std::to_string(n));
    ++started;
    if (n % kPublishedAtOnce != 0 && n != count) {
      client.publish(event_subject(type), event);
      continue;
    }
    const Json ack = client.publish_acked(event_subject(type), "", event);
    CHECK(ack.contains("seq"), "{}", ack.dump());
    CHECK(server_.has_usage(live_, ended_), "not all instances of {} have started", type);
  }
}

void FilledStore::copy_to(const std::filesystem::path& folder) const {
  std::filesystem::copy(folder_, folder, std::filesystem::copy_options::recursive);
}

std::vector<std::string> FilledStore::ids_of(std::string_view workflow) const {
  std::vector<std::string> ids;
  for (const Json& one : instances_) {
    if (one.at("workflow") == workflow) ids.push_back(one.at("id"));
  }
  return ids;
}

RowsByKey FilledStore::instance_rows_without(const std::set<std::string>& ids) const {
  RowsByKey left = instance_rows_of(rows_);
  std::erase_if(left, [&](const auto& row) {
    const auto& [place, value] = row;
    return ids.contains(to_string(owner_of(place.first, place.second, value)));
  });
  return left;
}

void FilledStore::expect_kept_in(const std::filesystem::path& folder) const {
  const RowsByKey kept = instance_rows_of(rows_);
  const RowsByKey found = rows_in_folder(folder);
  const bool has_all = std::includes(found.begin(), found.end(), kept.begin(), kept.end());
  EXPECT_TRUE(has_all) << "rows of instances are missing or changed";
}

RowsByKey instance_rows_of(const RowsByKey& rows) {
  RowsByKey found;
  std::copy_if(rows.begin(), rows.end(), std::inserter(found, found.end()), [](const auto& row) {
    return std::find(std::begin(kInstanceTables), std::end(kInstanceTables), row.first.first) !=
           std::end(kInstanceTables);
  });
  return found;
}

Usage usage_in(const std::filesystem::path& folder) {
  const auto environment = Environment::open(folder, {.read_only = true});
  CHECK(environment.has_value(), "{}", environment.error().message);
  const auto view = Snapshot::take(**environment);
  CHECK(view.has_value(), "{}", view.error().message);
  return read_usage(*view, NamespaceNumber(1)).value();
}

}  // namespace millrace
