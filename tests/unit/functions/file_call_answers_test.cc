// Calls with files that their services have accepted: the files stay until a callback answers.
#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "functions/files.h"
#include "tests/unit/functions/file_calls_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class FileCallAnswersTest : public FileCallsTest {
 protected:
  static Task note_task(uint8_t number = 1) {
    return task_with({{"note", FileType::kPlain, "hello"}}, number);
  }

  /// Runs the task, whose service accepts it.
  CallAccess accept(const Task& task) {
    const CallAccess access = begin(task);
    calls().report({.task = task.id, .what = TaskAccepted{}}, {});
    EXPECT_TRUE(eventually([&] { return reports_.count<TaskAccepted>(task.id) == 1; }));
    return access;
  }

  /// Lets this process keep the files of a task that its service has accepted.
  void keep(const Task& task) {
    calls().keep_files(task);
    const CallAccess access{.task = task.id, .key = AttemptKeys("secret").key_of(task.id, "none")};
    EXPECT_TRUE(eventually([&] {
      const Result<Json> list = calls().list(access);
      return list || list.error().code != "busy";
    }));
  }

  /// The answer with the files of the call, once they are collected.
  Result<CollectedAnswer> collected(const CallAccess& access, TaskEnded ended) {
    std::mutex mutex;
    std::optional<Result<CollectedAnswer>> answer;
    calls().collect(access, std::move(ended), [&](Result<CollectedAnswer> came) {
      const std::lock_guard lock(mutex);
      answer = std::move(came);
    });
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard lock(mutex);
      return answer.has_value();
    }));
    const std::lock_guard lock(mutex);
    return answer.value_or(fail("test", "there is no answer"));
  }
};

TEST_F(FileCallAnswersTest, HaveTheVariablesOfTheFilesThatWereWrittenBefore) {
  const CallAccess access = accept(note_task());
  EXPECT_EQ(*get(access, "note"), "hello");
  EXPECT_TRUE(put(access, "out/workflow/report", "1"));
  const Result<CollectedAnswer> answer = collected(access, {.result = "{}"});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(*answer->ended.result, "{}");
  EXPECT_TRUE(answer->has_files);
  EXPECT_FALSE(answer->wrong_files);
  EXPECT_THAT(in_words_of(answer->ended.variables), ElementsAre("workflow/report=1"));
  EXPECT_EQ(code_of(put(access, "out/workflow/late", "1")), kFilesRefused);
  EXPECT_EQ(collected(access, {.result = "2"}).error().code, "busy");
  answer->settle(true);
  EXPECT_TRUE(eventually([&] { return is_empty() && calls().counts().accepted == 0; }));
  EXPECT_EQ(reports_.count<TaskEnded>(access.task), 0U) << "the callback has ended the task";
}

TEST_F(FileCallAnswersTest, LetTheServiceGoOnIfTheyWereNotStored) {
  const CallAccess access = accept(note_task());
  EXPECT_TRUE(put(access, "out/instance/a", "1"));
  collected(access, {.result = "{}"})->settle(false);
  EXPECT_TRUE(put(access, "out/instance/b", "2"));
  const Result<CollectedAnswer> again = collected(access, {.result = "{}"});
  EXPECT_THAT(in_words_of(again->ended.variables), ElementsAre("instance/a=1", "instance/b=2"));
  calls().stop(access.task);
  EXPECT_FALSE(is_empty()) << "the answer is not settled";
  again->settle(false);
  EXPECT_TRUE(eventually([&] { return is_empty(); })) << "the task was stopped meanwhile";
}

TEST_F(FileCallAnswersTest, SayWhyAFileCannotBecomeAVariable) {
  const CallAccess access = accept(note_task());
  EXPECT_TRUE(put(access, "out/instance/large/noise", noise()));
  const Result<CollectedAnswer> answer = collected(access, {.result = "{}"});
  ASSERT_TRUE(answer->wrong_files);
  EXPECT_EQ(answer->wrong_files->code, kFunctionFiles);
  EXPECT_THAT(answer->ended.variables, IsEmpty());
  answer->settle(true);
}

TEST_F(FileCallAnswersTest, ArePassedOnWithoutFilesIfTheyNameAnotherDelivery) {
  const Task task = note_task();
  const CallAccess first = accept(task);
  calls().stop(task.id);
  EXPECT_TRUE(eventually([&] { return is_empty(); }));
  const CallAccess second = begin(task);
  EXPECT_NE(first.key, second.key);
  for (const CallAccess& access : {first, access_to(task)}) {
    const Result<CollectedAnswer> answer = collected(access, {.result = "7"});
    ASSERT_TRUE(answer);
    EXPECT_FALSE(answer->has_files);
    EXPECT_EQ(*answer->ended.result, "7");
    EXPECT_FALSE(answer->settle);
  }
  EXPECT_EQ(*get(second, "note"), "hello");
}

TEST_F(FileCallAnswersTest, MayComeBeforeTheServiceHasAnsweredTheCall) {
  const CallAccess access = begin(note_task());
  const Result<CollectedAnswer> answer = collected(access, {.result = "1"});
  calls().report({.task = access.task, .what = TaskEnded{.result = "2"}}, {});
  EXPECT_EQ(reports_.count<TaskEnded>(access.task), 0U);
  answer->settle(true);
  calls().stop(access.task);
  EXPECT_THAT(runner_.stopped(), ElementsAre(access.task));
  EXPECT_TRUE(eventually([&] { return is_empty(); }));
  EXPECT_EQ(reports_.count<TaskEnded>(access.task), 0U);
}

TEST_F(FileCallAnswersTest, GiveWayToTheResponseIfTheyWereNotStored) {
  const CallAccess access = begin(note_task());
  EXPECT_TRUE(put(access, "out/instance/a", "1"));
  const Result<CollectedAnswer> answer = collected(access, {.result = "1"});
  calls().report({.task = access.task, .what = TaskEnded{.result = "2"}}, {});
  answer->settle(false);
  const TaskEnded ended = reports_.end_of(access.task);
  EXPECT_EQ(*ended.result, "2");
  EXPECT_THAT(in_words_of(ended.variables), ElementsAre("instance/a=1"));
}

TEST_F(FileCallAnswersTest, AreAwaitedByABoundedNumberOfCallsWithoutAPlace) {
  places_ = 2;
  accepted_places_ = 4;
  for (uint8_t number = 1; number <= 2; ++number) accept(note_task(number));
  EXPECT_EQ(calls().counts().open, 0U);
  EXPECT_EQ(calls().counts().accepted, 2U);
  const Task third = note_task(3);
  const CallAccess access = begin(third);
  EXPECT_TRUE(put(access, "out/instance/a", "1"));
  calls().report({.task = third.id, .what = TaskAccepted{}}, {});
  const TaskEnded ended = reports_.end_of(third.id);
  EXPECT_EQ(ended.result.error().code, kFunctionUnavailable)
      << "one namespace has at most as many as are free";
  EXPECT_THAT(ended.variables, IsEmpty());
  EXPECT_EQ(reports_.count<TaskAccepted>(third.id), 0U);
}

TEST_F(FileCallAnswersTest, AreRefusedWhenTheProcessEnds) {
  const CallAccess access = accept(note_task());
  calls().end();
  EXPECT_EQ(collected(access, {.result = "1"}).error().code, "stopping");
}

TEST_F(FileCallAnswersTest, HaveTheFilesThatWereWrittenInAnEarlierProcess) {
  const Task task = note_task();
  const CallAccess access = begin(task);
  EXPECT_TRUE(put(access, "out/workflow/before", "1"));
  calls().report({.task = task.id, .what = TaskAccepted{}}, {});
  EXPECT_TRUE(eventually([&] { return reports_.count<TaskAccepted>(task.id) == 1; }));
  EXPECT_TRUE(put(access, "out/workflow/tree/run", "2", true));
  const std::shared_ptr<FileSink> half = *calls().write(access, "out/workflow/half", false);
  EXPECT_TRUE(half->write("3"));
  restart({task.id});
  EXPECT_EQ(get(access, "note").error().code, "busy");
  EXPECT_EQ(collected(access, {.result = "1"}).error().code, "busy");
  keep(task_with({{"note", FileType::kPlain, "changed"}}));
  EXPECT_EQ(*get(access, "note"), "hello") << "as of the call";
  EXPECT_TRUE(put(access, "out/instance/after", "4"));
  EXPECT_EQ(calls().counts().accepted, 1U);
  restart({task.id});
  keep(task);
  const Result<CollectedAnswer> answer = collected(access, {.result = "{}"});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(answer->has_files);
  ASSERT_EQ(answer->ended.variables.size(), 3U);
  EXPECT_EQ(in_words_of(answer->ended.variables)[0], "instance/after=4");
  EXPECT_EQ(in_words_of(answer->ended.variables)[1], "workflow/before=1");
  EXPECT_EQ(answer->ended.variables[2].key, "tree");
  answer->settle(true);
  EXPECT_TRUE(eventually([&] { return is_empty(); }));
  EXPECT_EQ(runner_.tasks().size(), 1U) << "the service is called once";
}

TEST_F(FileCallAnswersTest, CountWhatWasWrittenInAnEarlierProcess) {
  const Task task = note_task();
  const CallAccess access = accept(task);
  EXPECT_TRUE(put(access, "out/workflow/tree/large", std::string(kMaxFilesBytes - 2, 'x')));
  restart({task.id});
  keep(task);
  EXPECT_EQ(code_of(put(access, "out/workflow/more", "123")), kFilesTooLarge);
  EXPECT_TRUE(calls().clear(access));
  EXPECT_TRUE(put(access, "out/workflow/more", "123"));
  EXPECT_THAT(in_words_of(collected(access, {.result = "1"})->ended.variables),
              ElementsAre("workflow/more=123"));
}

TEST_F(FileCallAnswersTest, NeedTheConfirmationOfTheServiceIfItsFilesAreGone) {
  const Task task = note_task();
  const CallAccess access = accept(task);
  EXPECT_TRUE(put(access, "out/workflow/before", "1"));
  calls_.reset();
  std::filesystem::remove_all(folder());
  restart({task.id});
  keep(task_with({{"note", FileType::kPlain, "changed"}}));
  for (int process = 0; process < 2; ++process) {
    EXPECT_EQ(*get(access, "note"), "changed") << "as of now";
    EXPECT_EQ(code_of(put(access, "out/workflow/after", "2")), kFilesGone);
    EXPECT_EQ(collected(access, {.result = "1"}).error().code, kFilesGone);
    restart({task.id});
    keep(task);
  }
  const Result<CollectedAnswer> failed =
      collected(access, {.result = tl::unexpected(Error{"broken", "no ink"})});
  ASSERT_TRUE(failed) << "the service may fail the call without its files";
  EXPECT_TRUE(failed->has_files);
  EXPECT_THAT(failed->ended.variables, IsEmpty());
  failed->settle(false);
  EXPECT_TRUE(calls().clear(access));
  EXPECT_TRUE(put(access, "out/workflow/after", "2"));
  restart({task.id});
  keep(task);
  EXPECT_TRUE(put(access, "out/workflow/more", "3")) << "the confirmation is kept";
  EXPECT_THAT(in_words_of(collected(access, {.result = "1"})->ended.variables),
              ElementsAre("workflow/after=2", "workflow/more=3"));
}

TEST_F(FileCallAnswersTest, HaveNoFilesThatANodeKeptBeforeAnotherOneHadTheCall) {
  epoch_ = 3;
  const Task task = note_task();
  const CallAccess access = accept(task);
  EXPECT_TRUE(put(access, "out/workflow/before", "1"));
  epoch_ = 4;  // the same node again, and no other in between
  restart({task.id});
  keep(task);
  EXPECT_TRUE(put(access, "out/workflow/after", "2"));
  epoch_ = 6;
  restart({task.id});
  keep(task);
  EXPECT_EQ(collected(access, {.result = "1"}).error().code, kFilesGone);
}

TEST_F(FileCallAnswersTest, LeaveNothingForAProcessThatDoesNotAwaitThem) {
  const Task task = note_task();
  const CallAccess access = accept(task);
  restart({});
  EXPECT_TRUE(eventually([&] { return is_empty(); }));
  EXPECT_EQ(get(access, "note").error().code, kFilesRefused);
}

TEST_F(FileCallAnswersTest, EndWithAStopInALaterProcess) {
  const Task task = note_task();
  const CallAccess access = accept(task);
  restart({task.id});
  keep(task);
  calls().stop(task.id);
  EXPECT_TRUE(eventually([&] { return is_empty() && calls().counts().accepted == 0; }));
  EXPECT_THAT(runner_.stopped(), IsEmpty()) << "no runner of this process has the task";
}

TEST_F(FileCallAnswersTest, FailTheCallIfItsFilesCannotBeLaidOutAgain) {
  const Task task = task_with({{"note", FileType::kBase64, "%"}});
  restart({task.id});
  calls().keep_files(task);
  EXPECT_EQ(reports_.end_of(task.id).result.error().code, kFunctionFiles);
  EXPECT_EQ(calls().counts().accepted, 0U);
}

}  // namespace
}  // namespace millrace
