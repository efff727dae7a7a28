// The files of calls of HTTP and NATS services, on a real server and broker: variables become files
// that the service reads, and what it writes becomes variables with its answer.
#include <atomic>
#include <functional>
#include <optional>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/integration/files_of_call.h"
#include "tests/support/millrace_server.h"
#include "tests/support/raw_nats_client.h"
#include "tests/unit/gateway/raw_client.h"
#include "tests/unit/http/http_peer.h"

namespace millrace {
namespace {

using testing::HasSubstr;

class ServiceFiles : public MillraceTest {
 protected:
  /// What the service does with its files; it answers `done`, or not at all if the result is false.
  using Work = std::function<bool(const FilesOfCall&, HttpPeer::Connection&)>;

  std::unique_ptr<HttpPeer> serve(Work work) {
    auto peer = std::make_unique<HttpPeer>(
        [this, work = std::move(work)](const HttpPeer::Request& request,
                                       HttpPeer::Connection& connection) {
          if (request.method != "POST") return connection.answer(200);
          const FilesOfCall files(request.header("Millrace-Files"), request.header("Millrace-Key"));
          return work(files, connection) && connection.answer(200, R"("done")");
        });
    const Json settings = {{"services", {{"paint", {{"url", peer->url("/")}}}}}};
    EXPECT_EQ(millrace_.ask("PUT", "/v1/ns/default", settings.dump()).status, 200);
    return peer;
  }

  /// Applies a workflow that calls the service with these `files`.
  void apply(std::string_view files, std::string_view action = "") {
    millrace_.apply(fmt::format(R"(
id: draw
functions:
- {{id: paint, type: knative-namespace, service: paint, files: {}}}
states:
- {{id: call, type: action, action: {{function: paint{}}}}}
)",
                                files, action));
  }

  std::string start() { return millrace_.start_instance("draw", Json::object()); }

  /// A variable of the workflow; status 404: it does not exist.
  HttpReply variable(std::string_view key) {
    return millrace_.ask("GET", fmt::format("/v1/ns/default/workflows/draw/variables/{}", key));
  }
  void set_variable(std::string_view key, std::string_view bytes) {
    const HttpReply put =
        millrace_.ask("PUT", fmt::format("/v1/ns/default/workflows/draw/variables/{}", key), bytes);
    ASSERT_EQ(put.status, 200) << put.body;
  }

  /// A NATS service; the test answers its requests.
  std::unique_ptr<RawNatsClient> serve_nats() {
    const char* const settings = R"({"services": {"paint": {"request": "shop.paint"}}})";
    EXPECT_EQ(millrace_.ask("PUT", "/v1/ns/default", settings).status, 200);
    auto service = std::make_unique<RawNatsClient>(nats_.port());
    service->subscribe("shop.paint");
    return service;
  }
  static std::string header_of(const RawNatsClient::Message& request, std::string_view name) {
    const size_t at = request.headers.find(fmt::format("\r\n{}: ", name)) + name.size() + 4;
    return request.headers.substr(at, request.headers.find("\r\n", at) - at);
  }
  static FilesOfCall files_of(const RawNatsClient::Message& request) {
    return {header_of(request, "Millrace-Files"), header_of(request, "Millrace-Key")};
  }

  size_t accepted_calls() {
    return millrace_.ask("GET", "/v1/ns/default/calls").json().at("items").size();
  }

  // 64 MiB, in variables of 4 MiB each.

  static constexpr size_t kLargeFiles = 16;
  static std::string large_bytes(size_t i) {
    return std::string(size_t{4} << 20, static_cast<char>('a' + i));
  }
  void apply_large() {
    std::string list;
    for (size_t i = 0; i < kLargeFiles; ++i) {
      list += fmt::format("{}{{key: in-{}, scope: workflow}}", i == 0 ? "[" : ", ", i);
    }
    apply(list + "]");
    for (size_t i = 0; i < kLargeFiles; ++i) {
      set_variable(fmt::format("in-{}", i), large_bytes(i));
    }
  }
  /// What the service does: each file that it reads is one that it writes.
  static void copy_large(const FilesOfCall& files) {
    for (size_t i = 0; i < kLargeFiles; ++i) {
      const HttpReply got = files.get(fmt::format("in-{}", i));
      EXPECT_EQ(got.status, 200) << i;
      EXPECT_EQ(files.put(fmt::format("out/workflow/out-{}", i), got.body).status, 204) << i;
    }
  }
  void expect_large_copies() {
    for (size_t i = 0; i < kLargeFiles; ++i) {
      EXPECT_TRUE(variable(fmt::format("out-{}", i)).body == large_bytes(i)) << i;
    }
  }

  static constexpr const char* kNote = "[{key: text, as: notes/one, scope: workflow}]";
};

TEST_F(ServiceFiles, AreReadAndBecomeVariablesWithTheAnswer) {
  const auto peer = serve([](const FilesOfCall& files, HttpPeer::Connection&) {
    EXPECT_EQ(files.list().json()["items"][0]["name"], "notes/one");
    const HttpReply note = files.get("notes/one");
    EXPECT_EQ(note.status, 200);
    EXPECT_EQ(files.put("out/workflow/copy", note.body + "!").status, 204);
    EXPECT_EQ(files.put("out/workflow/tree/leaf", "1").status, 204);
    return true;
  });
  apply(kNote);
  set_variable("text", "hello");
  const std::string id = start();
  EXPECT_EQ(millrace_.instance_once(id, "complete")["output"]["return"], "done");
  EXPECT_EQ(variable("copy").body, "hello!");
  EXPECT_EQ(variable("tree").header("Content-Type"), "application/gzip");
}

TEST_F(ServiceFiles, AreNotSetByAServiceThatDiesInTheMiddle) {
  std::atomic<int> calls = 0;
  std::unique_ptr<RawClient> half;
  std::optional<FilesOfCall> first;
  const auto peer = serve([&](const FilesOfCall& files, HttpPeer::Connection&) {
    if (calls++ > 0) return true;
    first.emplace(files);
    EXPECT_EQ(files.put("out/workflow/whole", "1").status, 204);
    half = files.put_half("out/workflow/half");
    return false;
  });
  apply(kNote, ", startToCloseTimeout: 10m, retries: {initialInterval: 50ms}");
  EXPECT_EQ(millrace_.instance_once(start(), "complete")["output"]["return"], "done");
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(variable("whole").status, 404) << "the attempt that wrote it had no answer";
  EXPECT_EQ(variable("half").status, 404);
  EXPECT_EQ(first->get("notes/one").code(), "files.refused");
  EXPECT_EQ(first->put("out/workflow/late", "1").code(), "files.refused");
  EXPECT_EQ(variable("late").status, 404);
}

TEST_F(ServiceFiles, HaveUrlsThatBeginWithThePublicUrl) {
  millrace_.stop();
  millrace_.set_arguments({"--public-url", "https://millrace.example:8443/"});
  millrace_.start_ready();
  const auto peer = serve([](const FilesOfCall&, HttpPeer::Connection&) { return true; });
  apply(kNote);
  millrace_.instance_once(start(), "complete");
  EXPECT_THAT(peer->requests(1)[0].header("Millrace-Files"),
              testing::StartsWith("https://millrace.example:8443/v1/tasks/"));
}

TEST_F(ServiceFiles, FailTheCallBeforeTheServiceIsCalledIfAVariableIsNoFile) {
  const auto peer = serve([](const FilesOfCall&, HttpPeer::Connection&) { return true; });
  apply("[{key: text, scope: workflow, type: base64}]");
  set_variable("text", "%");
  const Json failed = millrace_.instance_once(start(), "failed");
  EXPECT_EQ(failed["error"]["code"], "millrace.function.files");
  EXPECT_THAT(failed["error"]["msg"].get<std::string>(), HasSubstr("text"));
  EXPECT_TRUE(peer->requests(0).empty());
}

TEST_F(ServiceFiles, AreWrittenAgainAfterACrashOfMillrace) {
  std::atomic<int> calls = 0;
  std::atomic<bool> has_written = false;
  const auto peer = serve([&](const FilesOfCall& files, HttpPeer::Connection& connection) {
    if (calls++ > 0) return files.put("out/workflow/after", "2").status == 204;
    EXPECT_EQ(files.put("out/workflow/before", "1").status, 204);
    has_written = true;
    connection.hang();
    return false;
  });
  apply(kNote);
  const std::string id = start();
  ASSERT_TRUE(eventually([&] { return has_written.load(); }));
  millrace_.kill();
  millrace_.start_ready();
  EXPECT_EQ(millrace_.instance_once(id, "complete")["output"]["return"], "done");
  EXPECT_EQ(variable("before").status, 404) << "the files of the earlier process are removed";
  EXPECT_EQ(variable("after").body, "2");
}

TEST_F(ServiceFiles, Carry64MiBToTheServiceAndBackToVariables) {
  apply_large();
  const auto peer = serve([&](const FilesOfCall& files, HttpPeer::Connection&) {
    copy_large(files);
    return true;
  });
  EXPECT_EQ(millrace_.instance_once(start(), "complete")["output"]["return"], "done");
  expect_large_copies();
}

TEST_F(ServiceFiles, OfMoreThan4MiBAreRefusedAndBecomeSeveralVariablesOrAFolder) {
  const std::string large = large_bytes(0) + large_bytes(1);
  const auto peer = serve([&](const FilesOfCall& files, HttpPeer::Connection&) {
    const HttpReply refused = files.put("out/workflow/large", large);
    EXPECT_EQ(refused.code(), "files.too_large");
    EXPECT_EQ(refused.status, 413);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(files.put(fmt::format("out/workflow/part-{}", i), large_bytes(i)).status, 204);
    }
    EXPECT_EQ(files.put("out/workflow/packed/large", large).status, 204);
    return true;
  });
  apply(kNote);
  millrace_.instance_once(start(), "complete");
  EXPECT_EQ(variable("large").status, 404);
  EXPECT_TRUE(variable("part-0").body + variable("part-1").body == large);
  EXPECT_EQ(variable("packed").header("Content-Type"), "application/gzip");
  EXPECT_LT(variable("packed").body.size(), large_bytes(0).size());
}

TEST_F(ServiceFiles, AreReadAndWrittenByANatsServiceToo) {
  const auto service = serve_nats();
  apply(kNote);
  set_variable("text", "hello");
  const std::string id = start();
  const auto request = service->next();
  ASSERT_TRUE(request);
  const FilesOfCall files = files_of(*request);
  EXPECT_EQ(files.get("notes/one").body, "hello");
  EXPECT_EQ(files.put("out/workflow/copy", "7").status, 204);
  service->publish(request->reply, R"("done")");
  service->flush();
  EXPECT_EQ(millrace_.instance_once(id, "complete")["output"]["return"], "done");
  EXPECT_EQ(variable("copy").body, "7");
  EXPECT_EQ(files.get("notes/one").code(), "files.refused");
}

TEST_F(ServiceFiles, Carry64MiBToANatsServiceAndBackToVariables) {
  const auto service = serve_nats();
  apply_large();
  const std::string id = start();
  const auto request = service->next();
  ASSERT_TRUE(request);
  EXPECT_LT(request->data.size(), size_t{1} << 10) << "the files do not go over the broker";
  const FilesOfCall files = files_of(*request);
  copy_large(files);
  EXPECT_EQ(files.put("out/workflow/more", "1").code(), "files.too_large");
  service->publish(request->reply, R"("done")");
  service->flush();
  EXPECT_EQ(millrace_.instance_once(id, "complete")["output"]["return"], "done");
  expect_large_copies();
  EXPECT_EQ(variable("more").status, 404);
}

TEST_F(ServiceFiles, AreWrittenUntilACallbackAnswersAnAcceptedCall) {
  HttpPeer peer([](const HttpPeer::Request&, HttpPeer::Connection& connection) {
    return connection.send(
        "HTTP/1.1 200 OK\r\nMillrace-Answer: accepted\r\nContent-Length: 0\r\n\r\n");
  });
  const Json settings = {{"services", {{"paint", {{"url", peer.url("/")}}}}}};
  EXPECT_EQ(millrace_.ask("PUT", "/v1/ns/default", settings.dump()).status, 200);
  apply(kNote);
  set_variable("text", "hello");
  const std::string id = start();
  const auto complete = [&](const HttpPeer::Request& task) {
    const std::string url = task.header("Millrace-Callback");
    return millrace_.ask("POST", url.substr(url.find("/v1/")) + "/complete", "7");
  };
  const HttpPeer::Request task = peer.requests(1)[0];
  FilesOfCall files(task.header("Millrace-Files"), task.header("Millrace-Key"));
  EXPECT_EQ(files.get("notes/one").body, "hello");
  EXPECT_EQ(files.put("out/workflow/before", "1").status, 204);
  ASSERT_TRUE(eventually([&] { return accepted_calls() == 1; }));
  EXPECT_EQ(files.put("out/workflow/copy", "2").status, 204);
  set_variable("text", "changed");
  for (int restart = 0; restart < 2; ++restart) {
    millrace_.kill();
    millrace_.start_ready();
    files.move_to(millrace_.port());
    ASSERT_TRUE(eventually([&] { return files.get("notes/one").status != 503; }));
    EXPECT_EQ(files.get("notes/one").body, "hello") << "as of the call";
  }
  EXPECT_EQ(files.put("out/workflow/after", "3").status, 204);
  EXPECT_EQ(variable("copy").status, 404);
  EXPECT_EQ(complete(task).status, 200);
  EXPECT_EQ(millrace_.instance_once(id, "complete")["output"]["return"], 7);
  EXPECT_EQ(variable("before").body, "1");
  EXPECT_EQ(variable("copy").body, "2");
  EXPECT_EQ(variable("after").body, "3");
  EXPECT_EQ(complete(task).status, 200) << "it repeats the answer";
  EXPECT_EQ(files.get("notes/one").code(), "files.refused");
  EXPECT_EQ(peer.requests(1).size(), 1U) << "no restart calls the service again";
}

TEST_F(ServiceFiles, ThatAreLostAreWrittenAgainBeforeACallbackCompletesTheCall) {
  const auto service = serve_nats();
  apply(kNote);
  const std::string id = start();
  const auto request = service->next();
  ASSERT_TRUE(request);
  FilesOfCall files = files_of(*request);
  service->publish(request->reply, "Millrace-Answer: accepted\r\n", "", "");
  service->flush();
  ASSERT_TRUE(eventually([&] { return accepted_calls() == 1; }));
  EXPECT_EQ(files.put("out/workflow/copy", "1").status, 204);
  millrace_.kill();
  std::filesystem::remove_all(millrace_.data() / "calls");
  millrace_.start_ready();
  files.move_to(millrace_.port());
  ASSERT_TRUE(eventually([&] { return files.list().status != 503; }));
  const auto complete = [&] {
    const std::string url = header_of(*request, "Millrace-Callback");
    return millrace_.ask("POST", url.substr(url.find("/v1/")) + "/complete", "7");
  };
  EXPECT_EQ(files.put("out/workflow/more", "2").code(), "files.gone");
  EXPECT_EQ(complete().code(), "files.gone");
  EXPECT_EQ(complete().status, 409);
  EXPECT_EQ(files.remove("out").status, 204);
  EXPECT_EQ(files.put("out/workflow/copy", "1").status, 204);
  EXPECT_EQ(files.put("out/workflow/more", "2").status, 204);
  EXPECT_EQ(complete().status, 200);
  EXPECT_EQ(millrace_.instance_once(id, "complete")["output"]["return"], 7);
  EXPECT_EQ(variable("copy").body, "1");
  EXPECT_EQ(variable("more").body, "2");
}

}  // namespace
}  // namespace millrace
