// Calls of services that share no folder with millrace: their files, from the variables to the
// service and back. A runner of the test stands in for those of HTTP and NATS services.
#include "functions/file_calls.h"

#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "functions/files.h"
#include "tests/unit/functions/file_calls_fixture.h"
#include "tests/unit/functions/tar_maker.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(FileCallsTest, GivesTheTaskAUrlAndTheKeyOfItsAttempt) {
  const Task task = task_with({{"note", FileType::kPlain, "hello"}});
  const CallAccess access = begin(task);
  const Task passed = runner_.tasks().at(0);
  const std::string url = "http://millrace:8780/v1/tasks/" + to_string(task.id) + "/files";
  EXPECT_EQ(passed.folder, (TaskFolder{.url = url, .key = access.key}));
  EXPECT_THAT(passed.files, IsEmpty());
  EXPECT_EQ(passed.input, task.input);
  const Json item = {{"name", "note"}, {"size", 5}, {"executable", false}, {"url", url + "/note"}};
  EXPECT_EQ(calls().list(access)->at("items"), Json::array({item}));
  EXPECT_EQ(*get(access, "note"), "hello");
  EXPECT_EQ(calls().counts().open, 1U);
}

TEST_F(FileCallsTest, PassesOtherTasksAndReportsOnAsTheyAre) {
  Task without = task_with({}, 1);
  Task worker = task_with({{"note", FileType::kPlain, "hello"}}, 2);
  worker.target = WorkQueue{"millrace.tasks.shop.charge"};
  calls().run(without);
  calls().run(worker);
  ASSERT_EQ(runner_.tasks().size(), 2U);
  EXPECT_EQ(runner_.tasks()[1].files.size(), 1U);
  EXPECT_EQ(runner_.tasks()[0].folder, std::nullopt);
  calls().report({.task = without.id, .what = TaskStarted{}}, {});
  EXPECT_TRUE(reports_.has_started(without.id));
  EXPECT_EQ(*end(without, "1").result, "1");
  calls().stop(worker.id);
  EXPECT_THAT(runner_.stopped(), ElementsAre(worker.id));
  EXPECT_EQ(calls().waiting_bytes("shop"), 5U);
}

TEST_F(FileCallsTest, GivesANatsServiceItsFilesToo) {
  Task task = task_with({{"note", FileType::kPlain, "hello"}});
  task.target = NatsService{"shop.charge"};
  EXPECT_EQ(*get(begin(task), "note"), "hello");
}

TEST_F(FileCallsTest, ReadsEachTypeOfFileAsAContainerDoes) {
  TarMaker tar;
  tar.file("run.sh", "exit", 0755);
  tar.file("deep/x y", "1");
  const CallAccess access = begin(task_with({{"plain", FileType::kPlain, "p"},
                                             {"sub/none", FileType::kPlain, ""},
                                             {"text", FileType::kBase64, "aGVs\nbG8="},
                                             {"tree", FileType::kTar, tar.finish()}}));
  std::vector<std::string> all;
  const Result<Json> list = calls().list(access);
  for (const Json& item : list->at("items")) {
    const std::string name = item.at("name");
    all.push_back(
        fmt::format("{}{}={}", name, item.at("executable") == true ? "*" : "", *get(access, name)));
  }
  EXPECT_THAT(all, ElementsAre("plain=p", "sub/none=", "text=hello", "tree/deep/x y=1",
                               "tree/run.sh*=exit"));
  EXPECT_THAT(list->at("items").at(3).at("url"), HasSubstr("/files/tree/deep/x%20y"));
}

TEST_F(FileCallsTest, FailsTheCallBeforeTheServiceIsCalledIfAVariableCannotBecomeAFile) {
  const std::vector<TaskFile> wrong[] = {
      {{"text", FileType::kBase64, "%"}},
      {{"tree", FileType::kTarGz, "no archive"}},
      {{"../x", FileType::kPlain, "1"}},
      {{"out/x", FileType::kPlain, "1"}},
      {{"a", FileType::kPlain, "1"}, {"a", FileType::kPlain, "2"}},
  };
  uint8_t number = 0;
  for (const std::vector<TaskFile>& files : wrong) {
    const Task task = task_with(files, ++number);
    calls().run(task);
    const TaskEnded ended = reports_.end_of(task.id);
    ASSERT_FALSE(ended.result) << files[0].name;
    EXPECT_EQ(ended.result.error().code, kFunctionFiles) << files[0].name;
    EXPECT_EQ(code_of(put(access_to(task), "out/instance/a", "1")), kFilesRefused);
  }
  EXPECT_THAT(runner_.tasks(), IsEmpty());
  EXPECT_TRUE(is_empty());
  EXPECT_EQ(calls().counts().open, 0U);
}

TEST_F(FileCallsTest, FailsASealedCallIfItsFilesWouldBeOnADisk) {
  Task task = task_with({{"note", FileType::kPlain, "hello"}});
  task.sealed = true;
  calls().run(task);
  const TaskEnded ended = reports_.end_of(task.id);
  EXPECT_EQ(ended.result.error().code, kFunctionFiles);
  EXPECT_THAT(ended.result.error().message, HasSubstr("--memory-folder"));
}

TEST_F(FileCallsTest, SetsWhatTheServiceHasWrittenTogetherWithItsAnswer) {
  const Task task = task_with({{"note", FileType::kPlain, "hello"}});
  const CallAccess access = begin(task);
  EXPECT_TRUE(put(access, "out/instance/first", "draft"));
  EXPECT_TRUE(put(access, "out/instance/first", "1"));
  EXPECT_TRUE(put(access, "out/workflow/second", "two"));
  EXPECT_TRUE(put(access, "out/namespace/third", ""));
  EXPECT_TRUE(put(access, "out/namespace/tree/a/b", "3", true));
  EXPECT_EQ(code_of(put(access, "out/namespace/tree", "4")), kFilesName);
  EXPECT_EQ(code_of(put(access, "out/instance/first/part", "4")), kFilesName);
  const TaskEnded ended = end(task, "{}");
  EXPECT_EQ(*ended.result, "{}");
  ASSERT_EQ(ended.variables.size(), 4U);
  EXPECT_EQ(ended.variables[0].value.content_type, "application/json");
  EXPECT_EQ(ended.variables[3].key, "tree");
  EXPECT_EQ(ended.variables[3].value.content_type, "application/gzip");
  const std::vector<TaskVariable> files(ended.variables.begin(), ended.variables.begin() + 3);
  EXPECT_THAT(in_words_of(files),
              ElementsAre("instance/first=1", "workflow/second=two", "namespace/third="));
  EXPECT_TRUE(is_empty());
}

TEST_F(FileCallsTest, SetsVariablesOnlyIfTheServiceHasAnswered) {
  const std::pair<const char*, size_t> ends[] = {
      {"shop.empty", 1},
      {"millrace.function.status", 1},
      {"millrace.function.unavailable", 0},
      {"millrace.function.tooLarge", 0},
      {"millrace.timeout.startToClose", 0},
  };
  uint8_t number = 0;
  for (const auto& [code, count] : ends) {
    const Task task = task_with({{"note", FileType::kPlain, "hello"}}, ++number);
    EXPECT_TRUE(put(begin(task), "out/instance/tried", "1"));
    const TaskEnded ended = end(task, tl::unexpected(Error{code, "why"}));
    EXPECT_EQ(ended.result.error(), (Error{code, "why"}));
    EXPECT_EQ(ended.variables.size(), count) << code;
  }
}

TEST_F(FileCallsTest, SetsNothingOfAFileThatIsNotComplete) {
  const Task task = task_with({{"note", FileType::kPlain, "hello"}});
  const CallAccess access = begin(task);
  const std::shared_ptr<FileSink> open = *calls().write(access, "out/instance/half", false);
  EXPECT_TRUE(open->write("ha"));
  EXPECT_TRUE((*calls().write(access, "out/instance/given_up", false))->write("gi"));
  EXPECT_TRUE(put(access, "out/instance/whole", "1"));
  EXPECT_THAT(in_words_of(end(task, "{}").variables), ElementsAre("instance/whole=1"));
  EXPECT_EQ(code_of(open->write("lf")), kFilesRefused);
  EXPECT_EQ(code_of(open->finish()), kFilesRefused);
}

TEST_F(FileCallsTest, SetsNoVariableIfAFileCannotBecomeOne) {
  const Task task = task_with({{"note", FileType::kPlain, "hello"}});
  const CallAccess access = begin(task);
  EXPECT_TRUE(put(access, "out/instance/small", "1"));
  EXPECT_TRUE(put(access, "out/instance/large/noise", noise()));
  const TaskEnded ended = end(task, "{}");
  EXPECT_EQ(ended.result.error().code, kFunctionFiles);
  EXPECT_THAT(ended.result.error().message, HasSubstr("out/instance/\"large\""));
  EXPECT_THAT(ended.variables, IsEmpty());
}

TEST_F(FileCallsTest, OpensNothingForTheKeyOfAnotherAttemptOrOfOneThatHasEnded) {
  const Task task = task_with({{"note", FileType::kPlain, "hello"}}, 1);
  const Task other = task_with({{"note", FileType::kPlain, "other"}}, 2);
  const CallAccess access = begin(task);
  const CallAccess of_other = begin(other);
  const CallAccess wrong[] = {{task.id, of_other.key},
                              {task.id, ""},
                              {task.id, access.key.substr(1)},
                              {task.id, access.key + "0"},
                              {task.id, AttemptKeys("secret").key_of(task.id)},
                              access_to(task_with({}, 3))};
  const auto expect_refused = [&](const CallAccess& shown) {
    EXPECT_EQ(calls().list(shown).error(), no_call_files());
    EXPECT_EQ(get(shown, "note").error(), no_call_files());
    EXPECT_EQ(put(shown, "out/instance/a", "1").error(), no_call_files());
  };
  for (const CallAccess& shown : wrong) expect_refused(shown);
  end(task, "{}");
  expect_refused(access);
  calls().stop(other.id);
  expect_refused(of_other);
  EXPECT_TRUE(eventually([&] { return is_empty(); }));
}

TEST_F(FileCallsTest, RefusesNamesThatNoVariableHas) {
  const CallAccess access = begin(task_with({{"note", FileType::kPlain, "hello"}}));
  for (const char* const name :
       {"", "x", "note", "out", "out/instance", "out/instance/", "out/other/x", "out/instance/1x",
        "out/instance/a b", "out/instance/../x", "/out/instance/x", "out//instance/x",
        "out/instance/x/../../y", "out/instance/a/b\\c", "out/instance/a/\x01"}) {
    EXPECT_EQ(code_of(put(access, name, "1")), kFilesName) << name;
  }
  for (const char* const name :
       {"", "x", "out", "out/instance", "../note", "/note", "note/", "."}) {
    EXPECT_EQ(get(access, name).error().code, kFilesNotFound) << name;
  }
}

TEST_F(FileCallsTest, TakesAtMost64MiBOfACallAndCountsAReplacedFileNoMore) {
  const Task task = task_with({{"note", FileType::kPlain, "hello"}});
  const CallAccess access = begin(task);
  const std::string half(kMaxFilesBytes / 2, 'x');
  EXPECT_TRUE(put(access, "out/instance/tree/a", half));
  EXPECT_TRUE(put(access, "out/instance/tree/b", half));
  EXPECT_EQ(code_of(put(access, "out/instance/tree/c", "x")), kFilesTooLarge);
  const Task next = task_with({{"note", FileType::kPlain, "hello"}}, 2);
  const CallAccess of_next = begin(next);
  EXPECT_TRUE(put(of_next, "out/instance/tree/a", half));
  EXPECT_TRUE(put(of_next, "out/instance/tree/a", half));
  EXPECT_TRUE(put(of_next, "out/instance/tree/b", half));
  const TaskEnded ended = end(next, "{}");
  ASSERT_TRUE(ended.result) << ended.result.error().message;
  EXPECT_EQ(ended.variables.size(), 1U);
}

TEST_F(FileCallsTest, TakesAtMost4MiBOfAFileThatBecomesAVariable) {
  const Task task = task_with({{"note", FileType::kPlain, "hello"}});
  const CallAccess access = begin(task);
  const std::string most(kMaxVariableBytes, 'x');
  EXPECT_TRUE(put(access, "out/instance/most", most));
  const Status more = put(access, "out/instance/more", most + "x");
  EXPECT_EQ(code_of(more), kFilesTooLarge);
  EXPECT_THAT(more.error().message, HasSubstr("a variable has at most 4 MiB: write several files"));
  EXPECT_TRUE(put(access, "out/instance/tree/more", most + "x")) << "it is packed";
  const TaskEnded ended = end(task, "{}");
  ASSERT_TRUE(ended.result) << ended.result.error().message;
  EXPECT_EQ(ended.variables.size(), 2U);
}

TEST_F(FileCallsTest, GivesEachNamespaceAtMostAsManyPlacesAsAreFree) {
  places_ = 4;
  const auto task_of = [&](uint8_t number, const char* ns) {
    Task task = task_with({{"note", FileType::kPlain, "hello"}}, number);
    task.ns = ns;
    return task;
  };
  for (uint8_t number = 1; number <= 5; ++number) calls().run(task_of(number, "busy"));
  ASSERT_TRUE(eventually([&] { return runner_.tasks().size() == 2; }));
  begin(task_of(6, "calm"));
  EXPECT_EQ(calls().counts().open, 3U);
  EXPECT_EQ(calls().counts().waiting, 3U);
  calls().stop(task_of(3, "busy").id);
  end(task_of(1, "busy"), "{}");
  ASSERT_TRUE(eventually([&] { return runner_.tasks().size() == 4; }));
  EXPECT_EQ(runner_.tasks()[3].id, task_of(4, "busy").id);
}

TEST_F(FileCallsTest, CountsTheBytesOfTasksForNatsServicesThatWait) {
  places_ = 0;
  Task task = task_with({{"note", FileType::kPlain, "hello"}});
  task.target = NatsService{"shop.charge"};
  calls().run(task);
  EXPECT_EQ(calls().waiting_bytes("shop"), 5 + 5 + task.input.size());
  calls().stop(task.id);
  EXPECT_EQ(calls().waiting_bytes("shop"), 5U);
}

TEST_F(FileCallsTest, ReportsNothingOfACallThatWasStopped) {
  const Task task = task_with({{"note", FileType::kPlain, "hello"}});
  begin(task);
  calls().stop(task.id);
  EXPECT_THAT(runner_.stopped(), ElementsAre(task.id));
  EXPECT_TRUE(eventually([&] { return is_empty(); }));
  EXPECT_EQ(reports_.count<TaskEnded>(task.id), 0U);
  EXPECT_EQ(*get(begin(task), "note"), "hello") << "the task may come again";
}

TEST_F(FileCallsTest, RemovesWhatAnEarlierProcessHasLeft) {
  fs::create_directories(folder() / "left/files");
  std::ofstream(folder() / "left/files/x") << "1";
  const Task task = task_with({{"note", FileType::kPlain, "hello"}});
  EXPECT_TRUE(put(begin(task), "out/instance/a", "1"));
  EXPECT_FALSE(fs::exists(folder() / "left"));
  calls().end();
  EXPECT_TRUE(is_empty());
  calls().report({.task = task.id, .what = TaskEnded{.result = "{}"}}, {});
  EXPECT_EQ(reports_.count<TaskEnded>(task.id), 0U) << "the next process calls the service again";
}

}  // namespace
}  // namespace millrace
