// DeadLetterRetention: which dead letters a pass deletes, in which portions, and what follows a
// failure.
#include "orchestrator/service/dead_letter_retention.h"

#include <chrono>
#include <future>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "orchestrator/store/rows/catalog_rows.h"
#include "scenarios/virtual_clock.h"
#include "tests/unit/service/fake_dead_letter_queue.h"
#include "tests/unit/support/faulty_store.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kKeepTwo = R"({"retention": {"deadLetters": {"count": 2}}})";
constexpr const char* kKeepAnHour = R"({"retention": {"deadLetters": {"age": "1h"}}})";

class DeadLetterRetentionTest : public FaultyStoreTest {
 protected:
  /// Stores a namespace with these settings.
  void store(const std::string& name, const std::string& settings) {
    write_namespace(*tx, name,
                    {.number = NamespaceNumber(++last_number_),
                     .created_at = clock.now(),
                     .settings = settings});
    commit();
  }

  /// Adds that many dead letters, stored that long ago.
  void add(const std::string& ns, size_t number, Duration age = Duration(0)) {
    for (size_t i = 0; i < number; ++i) queue.add(ns, clock.now() - age);
  }

  size_t left(std::string_view ns) const { return queue.sequences(ns).size(); }

  /// The requests to delete of one pass.
  std::vector<std::string> deletions_of_pass() {
    queue.requests.clear();
    retention().pass();
    std::vector<std::string> all;
    for (const std::string& request : queue.requests) {
      if (request.starts_with("delete")) all.push_back(request);
    }
    return all;
  }

  /// The unit under test, which is made at the first call.
  DeadLetterRetention& retention() {
    if (!retention_) {
      retention_ =
          std::make_unique<DeadLetterRetention>(*environment, clock, queue, metrics, bounds);
    }
    return *retention_;
  }

  bool has_line(const std::string& line) const {
    return ("\n" + metrics.text()).find("\n" + line + "\n") != std::string::npos;
  }

  VirtualClock clock;
  FakeDeadLetterQueue queue;
  Metrics metrics;
  DeadLetterPassBounds bounds;

 private:
  uint32_t last_number_ = 0;
  std::unique_ptr<DeadLetterRetention> retention_;
};

TEST_F(DeadLetterRetentionTest, KeepsTheNewestDeadLettersOfANamespace) {
  store("shop", kKeepTwo);
  store("other", "");
  add("shop", 2);
  add("other", 3);
  add("shop", 2);
  EXPECT_THAT(deletions_of_pass(), ElementsAre("delete shop"));
  EXPECT_THAT(queue.sequences("shop"), ElementsAre(6, 7));
  EXPECT_EQ(left("other"), 3U);
  EXPECT_TRUE(has_line("millrace_dead_letters_deleted_total{namespace=\"shop\"} 2"));
  EXPECT_TRUE(has_line("millrace_dead_letter_retention_failures_total 0"));
}

TEST_F(DeadLetterRetentionTest, DeletesOldDeadLettersOfANamespace) {
  store("shop", kKeepAnHour);
  add("shop", 3, std::chrono::hours(2));
  add("other", 3, std::chrono::hours(2));
  add("shop", 2, std::chrono::minutes(59));
  EXPECT_THAT(deletions_of_pass(), ElementsAre("delete shop"));
  EXPECT_THAT(queue.sequences("shop"), ElementsAre(7, 8));
  EXPECT_EQ(left("other"), 3U) << "no namespace has that name";
  clock.advance(std::chrono::minutes(1));
  EXPECT_THAT(deletions_of_pass(), ElementsAre("delete shop"));
  EXPECT_EQ(left("shop"), 0U);
  EXPECT_TRUE(has_line("millrace_dead_letters_deleted_total{namespace=\"shop\"} 5"));
}

TEST_F(DeadLetterRetentionTest, DeletesWhatEitherMemberOfARuleDeletes) {
  store("a", R"({"retention": {"deadLetters": {"age": "1h", "count": 2}}})");
  store("b", R"({"retention": {"deadLetters": {"age": "1h", "count": 2}}})");
  add("a", 5);
  add("b", 1, std::chrono::hours(1));
  add("b", 1);
  retention().pass();
  EXPECT_EQ(left("a"), 2U);
  EXPECT_EQ(left("b"), 1U);
}

TEST_F(DeadLetterRetentionTest, MakesNoRequestToDeleteIfNothingIsToBeDeleted) {
  store("a", R"({"retention": {"deadLetters": {"age": "1h", "count": 2}}})");
  store("b", R"({"retention": {"ended": {"age": "1h"}}})");
  add("a", 2);
  add("b", 5, std::chrono::hours(2));
  EXPECT_THAT(deletions_of_pass(), IsEmpty());
  EXPECT_THAT(queue.requests, ElementsAre("count a", "next a"));
}

TEST_F(DeadLetterRetentionTest, DeletesNothingWhileTheSettingsAreUnreadable) {
  store("a", R"({"retention": {"deadLetters": {"count": 2}}, "later": true})");
  store("b", kKeepTwo);
  add("a", 5);
  add("b", 5);
  EXPECT_THAT(deletions_of_pass(), ElementsAre("delete b"));
}

TEST_F(DeadLetterRetentionTest, TakesTheSettingsOfTheLastCommit) {
  store("shop", "");
  add("shop", 5);
  EXPECT_THAT(deletions_of_pass(), IsEmpty());
  store("shop", kKeepTwo);
  EXPECT_THAT(deletions_of_pass(), ElementsAre("delete shop"));
  store("shop", "");
  add("shop", 5);
  EXPECT_THAT(deletions_of_pass(), IsEmpty());
}

TEST_F(DeadLetterRetentionTest, DeletesInPortionsSoThatNoNamespaceDelaysTheOthers) {
  bounds.portion = 10;
  store("a", kKeepTwo);
  store("b", kKeepAnHour);
  store("c", kKeepTwo);
  add("a", 32);
  add("b", 25, std::chrono::hours(1));
  add("c", 3);
  EXPECT_THAT(deletions_of_pass(), ElementsAre("delete a", "delete b", "delete c", "delete a",
                                               "delete b", "delete a", "delete b"));
  EXPECT_EQ(left("a"), 2U);
  EXPECT_EQ(left("b"), 0U);
  EXPECT_EQ(left("c"), 2U);
}

TEST_F(DeadLetterRetentionTest, ContinuesWithTheNextNamespaceIfAPassHasNoMorePortions) {
  bounds = {.portion = 10, .portions = 3};
  for (const char* const ns : {"a", "b", "c", "d"}) {
    store(ns, kKeepTwo);
    add(ns, 22);
  }
  EXPECT_THAT(deletions_of_pass(), ElementsAre("delete a", "delete b", "delete c"));
  EXPECT_THAT(deletions_of_pass(), ElementsAre("delete d", "delete a", "delete b"));
  EXPECT_THAT(deletions_of_pass(), ElementsAre("delete c", "delete d"));
  for (const char* const ns : {"a", "b", "c", "d"}) EXPECT_EQ(left(ns), 2U) << ns;
}

TEST_F(DeadLetterRetentionTest, MakesNoRequestWithoutABroker) {
  store("shop", kKeepTwo);
  add("shop", 5);
  queue.usable = false;
  EXPECT_FALSE(retention().pass());
  EXPECT_THAT(queue.requests, IsEmpty());
  EXPECT_TRUE(has_line("millrace_dead_letter_retention_failures_total 0"));
  queue.usable = true;
  EXPECT_TRUE(retention().pass());
  EXPECT_EQ(left("shop"), 2U);
}

TEST_F(DeadLetterRetentionTest, ShowsWhenThePassesAreInTheMetrics) {
  retention().pass();
  EXPECT_EQ(metrics.retention().dead_letters.next, std::nullopt) << "no namespace has a rule";
  EXPECT_EQ(metrics.retention().dead_letters.last_end, std::nullopt);
  store("shop", kKeepTwo);
  add("shop", 5);
  bool was_running = false;
  queue.on_request = [&] { was_running = metrics.retention().dead_letters.is_running; };
  retention().pass();
  EXPECT_TRUE(was_running);
  PassTimes passes = metrics.retention().dead_letters;
  EXPECT_FALSE(passes.is_running);
  EXPECT_EQ(passes.last_end, clock.now());
  EXPECT_EQ(passes.next, clock.now() + std::chrono::minutes(1));
  EXPECT_EQ(metrics.retention().namespaces.at("shop").dead_letters, 3U);
  const TimePoint end = clock.now();
  clock.advance(std::chrono::minutes(1));
  queue.usable = false;
  retention().pass();
  passes = metrics.retention().dead_letters;
  EXPECT_EQ(passes.last_end, end);
  EXPECT_EQ(passes.next, std::nullopt) << "the pass begins when the broker is back";
}

TEST_F(DeadLetterRetentionTest, ContinuesWithTheOthersIfOneNamespaceIsRefused) {
  store("a", kKeepTwo);
  store("b", kKeepTwo);
  add("a", 5);
  add("b", 5);
  queue.errors["a"] = {"broker.refused", "no"};
  EXPECT_THAT(deletions_of_pass(), ElementsAre("delete b"));
  EXPECT_TRUE(has_line("millrace_dead_letter_retention_failures_total 1"));
  queue.errors.clear();
  EXPECT_THAT(deletions_of_pass(), ElementsAre("delete a"));
  EXPECT_TRUE(has_line("millrace_dead_letter_retention_failures_total 1"));
}

TEST_F(DeadLetterRetentionTest, EndsThePassIfTheBrokerDoesNotAnswer) {
  for (const char* const ns : {"a", "b", "c"}) {
    store(ns, kKeepTwo);
    add(ns, 5);
    queue.errors[ns] = {"broker.timeout", "no answer"};
  }
  EXPECT_THAT(deletions_of_pass(), IsEmpty());
  EXPECT_THAT(queue.requests, ElementsAre("count a"));
  EXPECT_TRUE(has_line("millrace_dead_letter_retention_failures_total 1"));
  queue.errors.clear();
  EXPECT_THAT(deletions_of_pass(), ElementsAre("delete b", "delete c", "delete a"));
}

TEST_F(DeadLetterRetentionTest, TriesAgainInTheNextPassIfTheStoreCannotBeRead) {
  store("shop", kKeepTwo);
  add("shop", 5);
  fail_reads_of(Table::kNamespaces);
  EXPECT_THAT(deletions_of_pass(), IsEmpty());
  EXPECT_TRUE(has_line("millrace_dead_letter_retention_failures_total 1"));
  heal();
  EXPECT_THAT(deletions_of_pass(), ElementsAre("delete shop"));
}

/// Collects the log while it exists.
class LogOfTest {
 public:
  LogOfTest() {
    const auto logger = std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_));
    logger->set_pattern("%l: %v");
    spdlog::set_default_logger(logger);
  }
  ~LogOfTest() { spdlog::set_default_logger(before_); }
  LogOfTest(const LogOfTest&) = delete;
  LogOfTest& operator=(const LogOfTest&) = delete;

  /// The lines since the last call.
  std::vector<std::string> take() {
    std::vector<std::string> lines;
    std::istringstream in(text_.str());
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    text_.str("");
    return lines;
  }

 private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
};

TEST_F(DeadLetterRetentionTest, LogsAFailureAndItsEndOnce) {
  LogOfTest log;
  store("shop", kKeepTwo);
  retention().pass();
  EXPECT_THAT(log.take(), IsEmpty());
  queue.errors["shop"] = {"broker.refused", "no"};
  retention().pass();
  EXPECT_THAT(log.take(),
              ElementsAre(AllOf(HasSubstr("error: "), HasSubstr("no [broker.refused]"))));
  retention().pass();
  EXPECT_THAT(log.take(), IsEmpty());
  queue.errors["shop"] = {"broker.timeout", "no answer"};
  retention().pass();
  EXPECT_THAT(log.take(), Contains(HasSubstr("no answer [broker.timeout]")));
  queue.errors.clear();
  retention().pass();
  EXPECT_THAT(log.take(), ElementsAre(HasSubstr("info: ")));
  retention().pass();
  EXPECT_THAT(log.take(), IsEmpty());
}

TEST_F(DeadLetterRetentionTest, MakesTheFirstPassOfItsThreadAtOnce) {
  store("shop", kKeepTwo);
  add("shop", 5);
  std::promise<void> deleted;
  queue.on_request = [&] {
    if (queue.requests.back() == "delete shop") deleted.set_value();
  };
  {
    DeadLetterRetention with_thread(*environment, clock, queue, metrics);
    with_thread.start();
    deleted.get_future().wait();
  }
  EXPECT_EQ(left("shop"), 2U);
  EXPECT_THAT(queue.requests, SizeIs(2));
}

}  // namespace
}  // namespace millrace
