// LocalService: what services say by callbacks about tasks that they have accepted.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/simulation/charge_order.h"
#include "tests/unit/service/local_service_fixture.h"

namespace millrace {
namespace {

/// The files of one call, which are collected at once.
class FilesOfOneCall final : public CallFiles {
 public:
  void collect(const CallAccess& access, TaskEnded ended,
               std::function<void(Result<CollectedAnswer>)> then) override {
    asked.push_back(access.key);
    if (refusal) return then(tl::unexpected(*refusal));
    then(CollectedAnswer{.ended = std::move(ended),
                         .has_files = true,
                         .wrong_files = wrong,
                         .settle = [this](bool has_ended) { settled.push_back(has_ended); }});
  }
  Result<Json> list(const CallAccess& /*access*/) override { return fail("test", "no list"); }
  Result<std::shared_ptr<FileSource>> read(const CallAccess& /*access*/,
                                           std::string_view /*name*/) override {
    return fail("test", "no file");
  }
  Result<std::shared_ptr<FileSink>> write(const CallAccess& /*access*/, std::string_view /*name*/,
                                          bool /*executable*/) override {
    return fail("test", "no file");
  }
  Status clear(const CallAccess& /*access*/) override { return fail("test", "no files"); }

  std::optional<Error> refusal;
  std::optional<Error> wrong;
  std::vector<std::string> asked;
  std::vector<bool> settled;
};

class CallbacksTest : public LocalServiceTest {
 protected:
  /// Sends the result with that key; returns the code of the error, or an empty text.
  std::string complete(std::string key, const std::string& ns = "default",
                       const std::string& result = "7") {
    std::optional<Result<Json>> answer;
    service->answer_task({.ns = ns, .key = std::move(key), .what = TaskEnded{.result = result}},
                         [&](Result<Json> came) { answer = std::move(came); });
    world.run_until_idle();
    if (!answer) return "no answer";
    if (*answer) {
      EXPECT_EQ(**answer, (Json{{"accepted", true}}));
    }
    return code_of(*answer);
  }

  /// Makes a service whose calls have these files.
  void renew_with(CallFiles& files) {
    LocalService::Parts made = parts(world.processor());
    made.call_files = &files;
    made.answers = &answers;
    service = std::make_unique<LocalService>(std::move(made));
  }

  const AttemptKeys keys{"secret"};
  AnswerStager answers{world.intake()};
};

TEST_F(CallbacksTest, EndATaskOnceWithTheKeyOfItsAttempt) {
  world.apply(order());
  world.start("order");
  world.run_until_idle();
  ASSERT_EQ(world.functions.tasks().size(), 1U);
  const std::string key = keys.named_key_of(world.functions.tasks()[0].id);
  world.must(CreateNamespace{.name = "shop"});
  EXPECT_EQ(complete(key, "shop"), "callback.ended") << "the task is of another namespace";
  EXPECT_EQ(complete(key, "none"), "namespace.not_found");
  EXPECT_EQ(complete(key), "");
  EXPECT_EQ(complete(key), "") << "it repeats the answer";
  EXPECT_EQ(complete(key, "default", "8"), "callback.ended");
  EXPECT_EQ(complete(key, "shop"), "callback.ended");
}

TEST_F(CallbacksTest, EndATaskWithTheFilesOfItsCall) {
  FilesOfOneCall files;
  renew_with(files);
  world.apply(order());
  const std::string id = world.start_order();
  const InstanceId task = world.functions.tasks()[0].id;
  const std::string key = keys.named_key_of(task) + "-p1-3";
  EXPECT_EQ(complete(key, "none"), "namespace.not_found");
  files.refusal = Error{"busy", "another answer is under way"};
  EXPECT_EQ(complete(key), "busy");
  files.refusal.reset();
  files.wrong = Error{"millrace.function.files", "a file is too large"};
  EXPECT_EQ(complete(key), "");
  EXPECT_EQ(world.instance(id)["error"]["code"], "millrace.function.files");
  EXPECT_EQ(files.settled, (std::vector<bool>{false, true})) << "the service can go on after one";
  EXPECT_EQ(files.asked, std::vector<std::string>(3, keys.key_of(task) + "-p1-3"));
  service.reset();  // before the files
}

TEST_F(CallbacksTest, AreRefusedWithAKeyThatTheServerHasNotMade) {
  const InstanceId task = *parse_instance_id("0190b5a4-7c1e-7f2a-8000-000000000001");
  EXPECT_EQ(complete(AttemptKeys("another").named_key_of(task)), "callback.refused");
  EXPECT_EQ(complete(to_string(task)), "callback.refused") << "an id alone";
  EXPECT_EQ(complete(""), "callback.refused");
  EXPECT_EQ(complete(keys.named_key_of(task)), "callback.ended") << "no task has this id";
}

TEST_F(CallbacksTest, AreAnsweredOnceTheProcessHasOwnedTheStreams) {
  Status owned = fail("broker.unreachable", "the streams belong to another process");
  LocalService::Parts made = parts(world.processor());
  made.has_owned = [&] { return owned; };
  service = std::make_unique<LocalService>(std::move(made));
  world.apply(order());
  const std::string id = world.start_order();
  const std::string key = keys.named_key_of(world.functions.tasks()[0].id);
  EXPECT_EQ(complete("of another store"), "broker.unreachable") << "it may be a key of the owner";
  EXPECT_EQ(complete(key), "broker.unreachable");
  EXPECT_EQ(world.instance(id)["status"], "waiting") << "the call goes on waiting";
  owned = {};
  EXPECT_EQ(complete("of another store"), "callback.refused");
  EXPECT_EQ(complete(key), "");
  service.reset();  // before `owned`
}

}  // namespace
}  // namespace millrace
