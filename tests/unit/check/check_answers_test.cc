#include "orchestrator/store/rows/answer_rows.h"
#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

class CheckAnswersTest : public CheckTest {
 protected:
  CheckAnswersTest() {
    define("id: ends\nstates: [{id: a, type: noop}]");
    start("ends");
  }

  static Change put_row(std::string key, std::string value) {
    return [=](Transaction& in) { in.put(Table::kMeta, key, value); };
  }
};

TEST_F(CheckAnswersTest, ChecksTheAnswersOfCallbacks) {
  const auto answer = [](NamespaceNumber of) {
    return [of](Transaction& in) {
      EXPECT_TRUE(add_answer(in, of, {.task = InstanceId{}, .outcome = {1}}));
    };
  };
  EXPECT_THAT(found_after(answer(ns)), testing::IsEmpty()) << "the task has ended";
  expect_only("counter.behind meta/given-answers/", answer(NamespaceNumber(9)));
  expect_only("row.key meta/given-answers/",
              put_row("given-answers/x", encode_answers({GivenAnswer()})));
  const std::string key = std::string("given-answers/\0\0\0\1\0", 19);
  expect_only("row.record meta/given-answers/", put_row(key, "rubbish"));
  GivenAnswer another;
  another.task.bytes.back() = 1;
  expect_only("belongs to another row", put_row(key, encode_answers({another})));
  expect_only(
      "the minor number is 8, but the store has rows `given-answers/` of meta, expected at least 9",
      [&](Transaction& in) {
        answer(ns)(in);
        in.put(Table::kMeta, "minor", rows::key_of(uint64_t{8}));
      });
  expect_only(
      "the minor number is 11, but the store has times of given answers, expected at least 13",
      [&](Transaction& in) {
        EXPECT_TRUE(add_answer(in, ns, {.task = InstanceId{}, .by = AnsweredBy::kOperator}));
        in.put(Table::kMeta, "minor", rows::key_of(uint64_t{11}));
      });
}

}  // namespace
}  // namespace millrace
