// LiveHubTest: a LiveHub with clients that read everything at once, on a broker in memory. The test
// calls advance(), so no time passes.
#pragma once

#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "broker/memory_stored_events.h"
#include "orchestrator/service/live_hub.h"
#include "orchestrator/store/rows/history_rows.h"
#include "scenarios/virtual_clock.h"
#include "tests/unit/service/fake_stored_letters.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {

/// Answers each question at once. The answers are taken in the next call of advance().
class DirectReads final : public LiveReads {
 public:
  DirectReads(StoredEvents& events, StoredLetters& letters, const Clock& clock)
      : events_(events), letters_(letters), clock_(clock) {}

  void ask(LiveQuestion question) override {
    ++asked;
    if (auto* const one = std::get_if<LiveEventsQuestion>(&question)) {
      answers_.push_back(LiveEventsAnswer{*one, read_live_events(events_, *one)});
    } else {
      const auto& other = std::get<LiveLettersQuestion>(question);
      answers_.push_back(LiveLettersAnswer{other, read_live_letters(letters_, clock_, other)});
    }
  }
  std::vector<LiveAnswer> take() override {
    if (holds) return {};
    return std::exchange(answers_, {});
  }

  bool holds = false;  ///< no answer comes
  size_t asked = 0;

 private:
  StoredEvents& events_;
  StoredLetters& letters_;
  const Clock& clock_;
  std::vector<LiveAnswer> answers_;
};

/// A message of a stream.
struct SentMessage {
  std::string event;
  std::string id;
  Json data;
};

/// A client that reads everything at once.
class RecordingClient final : public LiveSink {
 public:
  bool send(std::shared_ptr<const std::string> text) override {
    if (!open) return false;
    texts.push_back(std::move(text));
    return true;
  }
  void end(std::shared_ptr<const std::string> text) override {
    send(std::move(text));
    open = false;
  }
  bool is_open() const override { return open; }
  size_t queued() const override { return waiting; }

  /// The messages since the last call; all or those with this event.
  std::vector<SentMessage> take(const std::string& event = "") {
    std::vector<SentMessage> messages;
    for (const auto& text : std::exchange(texts, {})) {
      SentMessage message;
      std::istringstream lines(*text);
      for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("event: ")) message.event = line.substr(7);
        if (line.starts_with("id: ")) message.id = line.substr(4);
        if (line.starts_with("data: ")) message.data = Json::parse(line.substr(6));
      }
      if (event.empty() || message.event == event) messages.push_back(std::move(message));
    }
    return messages;
  }

  bool open = true;
  size_t waiting = 0;
  std::vector<std::shared_ptr<const std::string>> texts;
};

class LiveHubTest : public QueryTest {
 protected:
  LiveHubTest() : order(apply("id: order\nstates:\n- {id: wait, type: noop}\n")) {}

  std::shared_ptr<RecordingClient> add(LiveRequest request) {
    request.ns = request.ns.empty() ? "default" : request.ns;
    auto sink = std::make_shared<RecordingClient>();
    hub.add(std::move(request), sink);
    return sink;
  }
  /// Stores an instance and puts it into the ring.
  void change(uint8_t number, InstanceStatus status = InstanceStatus::kWaiting) {
    Instance instance = waiting_instance(order, number);
    if (has_ended(status)) instance = ended(instance, status);
    store(instance);
    const auto live = read_live_head(*tx, ns, instance.id);
    if (has_ended(status) && live && *live) drop(Table::kLive, head_key(instance));
    ring.put({.instance = instance.id, .ns = ns, .workflow = order, .state = 0, .status = status});
  }
  /// Stores an instance with further records, and does not put it into the ring.
  void write_records(Instance& instance, size_t records) {
    std::vector<HistoryRecord> all(records, {.time = now, .kind = HistoryKind::kEntered});
    const uint64_t row = instance.last_history + 1;
    instance.history_count += records;
    instance.history_bytes += write_history(*tx, row,
                                            {.ns = ns,
                                             .instance = instance.id,
                                             .previous = instance.last_history,
                                             .records = std::move(all)});
    instance.last_history = row;
    store(instance);
  }
  void pass(uint64_t tenths) {
    for (uint64_t i = 0; i < tenths; ++i) hub.advance();
  }
  void step() { pass(LiveHub::kTenthsPerStep); }
  static std::vector<std::string> ids(const SentMessage& message) {
    std::vector<std::string> found;
    for (const Json& item : message.data.at("items")) found.push_back(item.at("id"));
    return found;
  }
  static std::string id(uint8_t number) { return to_string(numbered_id(number)); }

  const WorkflowNumber order;
  VirtualClock clock;
  WatchRing ring;
  MemoryBroker broker{clock};
  MemoryStoredEvents stored_events{broker};
  FakeStoredLetters stored_letters;
  DirectReads reads{stored_events, stored_letters, clock};
  Cursor applied;  ///< how far the engine has applied the event stream
  WorkTotals totals;
  DefinitionCache loaded{load_stored};
  Queries queries{loaded, started, clock};
  LiveHub hub{{.environment = *environment,
               .queries = queries,
               .ring = ring,
               .reads = reads,
               .clock = clock,
               .applied = [this] { return applied; },
               .levels =
                   [] {
                     return Json{{"jqWorkers", 2}};
                   },
               .totals = [this] { return totals.sums(); },
               .boot = "b1",
               .version = "1.0"}};
};

}  // namespace millrace
