#include "orchestrator/store/rows/effect_rows.h"
#include "orchestrator/store/rows/index_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kWaitsForGo = R"(
id: waits
start: {type: event, event: {type: begin}}
states:
- id: a
  type: consumeEvent
  event: {type: go}
)";

class CheckIndexTest : public CheckTest {
 protected:
  CheckIndexTest() {
    define(kWaitsForGo);
    publish(event("begin"));
    publish(event("begin"));
    waits_ = stored_live().back().id;
    publish(event("other"));
  }

  static Event event(const std::string& type) {
    static int count = 0;
    return {.id = std::to_string(++count), .source = "/test", .type = type};
  }
  Instance head() const { return *read_live_head(*tx, ns, waits_).value(); }
  /// The findings after a change of the index alone, which is then dropped.
  std::vector<std::string> found_in_index_after(const Change& change) {
    change(*tx);
    std::vector<std::string> lines = found();
    tx->drop();
    return lines;
  }

  InstanceId waits_;
};

TEST_F(CheckIndexTest, FindsNothingInAnUndamagedStore) { expect_sound(); }

TEST_F(CheckIndexTest, FindsAnInstanceThatIsNotUnderItsStatus) {
  const CountPlace place = indexed(head()).place;
  EXPECT_THAT(found_in_index_after([&](Transaction& in) {
                in.erase(Table::kByStatus, by_status_key(place, waits_));
              }),
              ElementsAre(HasSubstr("`by_status` does not have the instance with the status "
                                    "waiting")));
}

TEST_F(CheckIndexTest, FindsARowOfAnInstanceThatDoesNotExistOrHasAnotherStatus) {
  CountPlace place = indexed(head()).place;
  EXPECT_THAT(found_in_index_after([&](Transaction& in) {
                in.put(Table::kByStatus, by_status_key(place, numbered_id(77)), "");
              }),
              ElementsAre(HasSubstr("does not exist with this workflow and status")));
  place.status = InstanceStatus::kRunning;
  EXPECT_THAT(found_in_index_after([&](Transaction& in) {
                in.put(Table::kByStatus, by_status_key(place, waits_), "");
              }),
              ElementsAre(HasSubstr("does not exist with this workflow and status")));
}

TEST_F(CheckIndexTest, FindsAWrongMissingOrAdditionalCount) {
  const CountPlace place = indexed(head()).place;
  const auto put = [](const CountPlace& at, uint64_t count) {
    return [=](Transaction& in) { in.put(Table::kCounts, count_key(at), encode_count(count)); };
  };
  EXPECT_THAT(found_in_index_after(put(place, 3)),
              ElementsAre(HasSubstr("the row counts 3 instances, but 2 exist")));
  EXPECT_THAT(found_in_index_after(put(place, 1)),
              ElementsAre(HasSubstr("the row counts 1 instances, but 2 exist")));
  EXPECT_THAT(
      found_in_index_after([&](Transaction& in) { in.erase(Table::kCounts, count_key(place)); }),
      ElementsAre(HasSubstr("the row is missing, and 2 instances exist")));
  CountPlace other = place;
  other.state = 9;
  EXPECT_THAT(found_in_index_after(put(other, 1)),
              ElementsAre(HasSubstr("the row counts 1 instances, but 0 exist")));
}

TEST_F(CheckIndexTest, FindsARowThatCountsNoInstance) {
  CountPlace other = indexed(head()).place;
  other.state = 9;
  EXPECT_THAT(found_in_index_after([&](Transaction& in) {
                in.put(Table::kCounts, count_key(other), encode_count(0));
              }),
              ElementsAre(HasSubstr("index.count counts/default/")));
  run_command(CreateNamespace{.name = "shop"});
  expect_sound();
  const NamespaceNumber shop = *catalog.find_namespace("shop");
  for (const Usage& usage : {Usage(), Usage{.starts = {.late_by = Duration(1)}}}) {
    EXPECT_THAT(found_in_index_after([&](Transaction& in) {
                  in.put(Table::kUsage, rows::ns_prefix(shop), encode(usage));
                }),
                ElementsAre(HasSubstr("index.usage usage/shop: the row has no instance")));
  }
}

TEST_F(CheckIndexTest, FindsBoundsOfTheStartsThatDoNotHoldForAnInstance) {
  start("waits");  // the id has a time long before the start
  expect_sound();
  const auto put = [&](const StartBounds& starts) {
    return [=, this](Transaction& in) {
      Usage usage = read_usage(in, ns).value();
      usage.starts = starts;
      in.put(Table::kUsage, rows::ns_prefix(ns), encode(usage));
    };
  };
  StartBounds wider = read_usage(*tx, ns)->starts;
  wider.late_by += std::chrono::hours(1);
  EXPECT_THAT(found_in_index_after(put(wider)), IsEmpty()) << "an instance was deleted";
  EXPECT_THAT(found_in_index_after(put({})), ElementsAre(HasSubstr("bounds -0 ms, +0 ms until")));
}

TEST_F(CheckIndexTest, FindsWrongSizes) {
  EXPECT_THAT(found_in_index_after([&](Transaction& in) {
                Usage usage = read_usage(in, ns).value();
                ++usage.row_bytes;
                in.put(Table::kUsage, rows::ns_prefix(ns), encode(usage));
              }),
              ElementsAre(HasSubstr("index.usage usage/default")));
  EXPECT_THAT(
      found_in_index_after([&](Transaction& in) { in.erase(Table::kUsage, rows::ns_prefix(ns)); }),
      ElementsAre(HasSubstr("the row is missing, and there are 2 live and 0 ended instances")));
  EXPECT_THAT(found_in_index_after([&](Transaction& in) {
                Instance changed = head();
                ++changed.history_bytes;
                in.put(Table::kLive, part(waits_, Part::kHead), encode_head(changed));
              }),
              testing::Contains(HasSubstr("bytes for the history, but the rows have")));
  EXPECT_THAT(found_in_index_after([&](Transaction& in) {
                Instance changed = head();
                ++changed.part_bytes[static_cast<size_t>(Part::kInput)];
                in.put(Table::kLive, part(waits_, Part::kHead), encode_head(changed));
              }),
              testing::Contains(HasSubstr("bytes for the input, but the rows have")));
}

TEST_F(CheckIndexTest, FindsAWrongSizeOfTheCountedRows) {
  run_command(PutVariable{.place = {.ns = "default"}, .key = "k", .value = {.bytes = "one"}});
  run_command(PutSecret{.ns = "default", .name = "card", .value = "4711"});
  expect_sound();
  const auto change_by = [&](int64_t by) {
    return [=, this](Transaction& in) {
      Usage usage = read_usage(in, ns).value();
      usage.counted_bytes += static_cast<uint64_t>(by);
      in.put(Table::kUsage, rows::ns_prefix(ns), encode(usage));
    };
  };
  for (const int64_t by : {1, -1}) {
    EXPECT_THAT(found_in_index_after(change_by(by)),
                ElementsAre(HasSubstr("index.usage usage/default: the row has 2 live")));
  }
  EXPECT_THAT(
      found_in_index_after([&](Transaction& in) { in.erase(Table::kUsage, rows::ns_prefix(ns)); }),
      ElementsAre(HasSubstr("and other rows with")));
}

TEST_F(CheckIndexTest, FindsCountedRowsThatTheIndexDoesNotHave) {
  run_command(CreateNamespace{.name = "shop"});
  const NamespaceNumber shop = *catalog.find_namespace("shop");
  const VariableName name{{.scope = VariableScope::kNamespace, .ns = shop}, "k"};
  EXPECT_THAT(
      found_in_index_after([&](Transaction& in) { write_variable(in, name, {.bytes = "one"}); }),
      ElementsAre(HasSubstr("index.usage usage/shop: the row is missing")));
  run_command(PutVariable{.place = {.ns = "shop"}, .key = "k", .value = {.bytes = "one"}});
  EXPECT_THAT(found_in_index_after([&](Transaction& in) { erase_variable(in, name); }),
              ElementsAre(HasSubstr("index.usage usage/shop: the row has 0 live")));
}

TEST_F(CheckIndexTest, LeavesOutCountedRowsThatHaveAFinding) {
  run_command(PutVariable{.place = {.ns = "default"}, .key = "k", .value = {.bytes = "one"}});
  EXPECT_THAT(found_in_index_after([&](Transaction& in) {
                in.put(Table::kVariables, std::string("\0\0\0\1\2k", 6), "x");
              }),
              ElementsAre(HasSubstr("row.record variables/default/k")));
}

TEST_F(CheckIndexTest, ReportsEachFailedReadAloneAlsoOfTheOwnersOfCountedRows) {
  EXPECT_GT(expect_each_failed_read_alone(), 10U);
}

TEST_F(CheckIndexTest, DoesNotCompareTheSizesOfCountedRowsBeforeTheyAreComputed) {
  run_command(PutVariable{.place = {.ns = "default"}, .key = "k", .value = {.bytes = "one"}});
  EXPECT_THAT(found_in_index_after([&](Transaction& in) {
                in.put(Table::kMeta, "minor", rows::key_of(kMinorOfCountedRows - 1));
                Usage usage = read_usage(in, ns).value();
                usage.counted_bytes = 0;
                in.put(Table::kUsage, rows::ns_prefix(ns), encode(usage));
              }),
              ElementsAre(HasSubstr("meta/minor: the minor number is 1, but the store has sizes")));
}

TEST_F(CheckIndexTest, IsNotComparedWhileItIsBuilt) {
  EXPECT_THAT(found_in_index_after([&](Transaction& in) {
                in.erase(Table::kUsage, rows::ns_prefix(ns));
                request_index_build(in);
              }),
              IsEmpty());
}

TEST_F(CheckIndexTest, ReportsABuildThatWouldBeginAtARowThatDoesNotExist) {
  EXPECT_THAT(found_in_index_after([&](Transaction& in) {
                in.put(Table::kMeta, "index",
                       encode(IndexBuild{.stage = IndexBuild::Stage::kEnded,
                                         .from = std::string(21, '\xff')}));
              }),
              ElementsAre(HasSubstr("the next step would begin at a row that does not exist")));
}

TEST_F(CheckIndexTest, ChecksTheStreamsOfPositionsInTheHistory) {
  const Instance one = head();
  expect_only(
      "row.value history/" + std::to_string(one.last_history) + ": the row names event stream 8",
      [&](Transaction&) {
        edit_history(one.last_history,
                     [](HistoryRow& row) { row.records.back().event.stream = 8; });
      });
}

TEST_F(CheckIndexTest, ChecksTheKeysAndRecordsOfTheIndex) {
  EXPECT_THAT(found_in_index_after([&](Transaction& in) {
                in.put(Table::kByStatus, "short", "");
                in.put(Table::kCounts, "short", "");
                in.put(Table::kUsage, "short", "");
                in.put(Table::kEffects, "short", "");
              }),
              ElementsAre(HasSubstr("row.key by_status"), HasSubstr("row.key counts"),
                          HasSubstr("row.key usage"), HasSubstr("row.key effects")));
}

TEST_F(CheckIndexTest, ChecksEffectsAndTheStreamsOfPositions) {
  EXPECT_THAT(found_in_index_after([&](Transaction& in) {
                write_effects(in, {.at = {1, 1}, .number = 99, .effects = {{{1, 1}, {}}}});
              }),
              ElementsAre(HasSubstr("number 99 was assigned, but the counter `j`")));
  EXPECT_THAT(found_in_index_after([&](Transaction& in) {
                write_counter(in, Counter::kEffects, 99);
                write_effects(in, {.at = {8, 1}, .number = 99, .effects = {{{8, 1}, {}}}});
              }),
              ElementsAre(HasSubstr("the row names event stream 8")));
  EXPECT_THAT(found_in_index_after([&](Transaction& in) {
                write_counter(in, Counter::kEffects, 99);
                write_effects(in, {.at = {1, 1}, .number = 99});
              }),
              ElementsAre(HasSubstr("the row has no effect")));
  EXPECT_THAT(found_in_index_after([&](Transaction& in) {
                write_effects(in, {.at = {1, 50}, .number = 1, .effects = {{{1, 50}, {}}}});
              }),
              ElementsAre(HasSubstr("another row has the number 1")));
  const EventEffect starts{.instance = numbered_id(7)};
  const EventEffect wakes{.kind = EventEffect::Kind::kWoken, .instance = numbered_id(7)};
  const struct {
    EffectRow row;
    const char* found;  ///< empty: nothing is found
  } table[] = {
      {{.at = {0, 1}, .effects = {{{0, 1}, starts}}}, "has stream 0 or sequence 0"},
      {{.at = {1, 0}, .effects = {{{1, 0}, starts}}}, "has stream 0 or sequence 0"},
      {{.at = {1, 2}, .effects = {{{1, 0}, starts}}}, "has stream 0 or sequence 0"},
      {{.at = {1, 2}, .effects = {{{1, 2}, {.kind = EventEffect::Kind::kSkipped}}}},
       "an effect has the workflow 0, expected 1 or more"},
      {{.at = {1, 2}, .effects = {{{1, 1}, starts}, {{1, 2}, starts}}},
       "two events of the row started instance"},
      {{.at = {1, 2}, .effects = {{{1, 1}, starts}, {{1, 1}, wakes}, {{1, 1}, wakes}}}, ""},
  };
  for (const auto& [row, line] : table) {
    const auto lines = found_in_index_after([&, one = row](Transaction& in) mutable {
      one.number = 99;
      write_counter(in, Counter::kEffects, 99);
      write_effects(in, one);
    });
    if (std::string_view(line).empty()) {
      EXPECT_THAT(lines, IsEmpty());
    } else {
      EXPECT_THAT(lines, ElementsAre(HasSubstr(line)));
    }
  }
  const auto start_again = [&](uint64_t sequence) {
    return found_in_index_after([&](Transaction& in) {
      write_counter(in, Counter::kEffects, 99);
      write_effects(
          in,
          {.at = {1, sequence}, .number = 99, .effects = {{{1, sequence}, {.instance = waits_}}}});
    });
  };
  EXPECT_THAT(start_again(9), ElementsAre(HasSubstr("the event with sequence 9 started instance " +
                                                    to_string(waits_) + ", but so did the event")));
  EXPECT_THAT(start_again(2), IsEmpty()) << "the second event is applied again";
  expect_only("row.value live/default/" + to_string(waits_) + " head: the row names event stream 8",
              [&](Transaction& in) {
                Instance changed = head();
                changed.listen_from.event = {8, 1};
                in.put(Table::kLive, part(waits_, Part::kHead), encode_head(changed));
              });
  expect_among(
      "row.value live/default/" + to_string(waits_) + " head: the row names event stream 8",
      [&](Transaction& in) {
        Instance changed = head();
        changed.consumed.add({8, 1}, fingerprint({"taken"}));
        in.put(Table::kLive, part(waits_, Part::kHead), encode_head(changed));
      });
  expect_among("meta.missing meta/cursor: the stream of the cursor, created at 1, has no row",
               [](Transaction& in) { in.erase(Table::kMeta, std::string("stream/\0\0\0\1", 11)); });
}

TEST_F(CheckIndexTest, SaysWhetherTheIndexWasCompared) {
  EXPECT_TRUE(check_store(*tx, options)->index_compared);
  request_index_build(*tx);
  const StoreReport report = check_store(*tx, options).value();
  EXPECT_FALSE(report.index_compared);
  EXPECT_TRUE(report.sound()) << "an index that is being computed is no finding";
  tx->drop();
}

}  // namespace
}  // namespace millrace
