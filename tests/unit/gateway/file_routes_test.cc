// The routes of the files of calls: what they need, and that a file passes through the gateway
// piece by piece, in both directions.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "orchestrator/ports/call_files.h"
#include "tests/support/process.h"
#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

constexpr const char* kTask = "0190b5a4-7c1e-7f2a-8000-000000000001";
constexpr size_t kLargest = kMostFilesOfCall;

/// The files of one call in memory, of which no piece may be large.
class FakeCallFiles final : public CallFiles {
 public:
  void collect(const CallAccess& /*access*/, TaskEnded ended,
               std::function<void(Result<CollectedAnswer>)> then) override {
    then(CollectedAnswer{.ended = std::move(ended)});
  }

  Result<Json> list(const CallAccess& access) override {
    TRY(check(access));
    return Json{{"items", Json::array({Json{{"name", "note"},
                                            {"size", 5},
                                            {"executable", false},
                                            {"url", "http://localhost/note"}}})}};
  }

  Result<std::shared_ptr<FileSource>> read(const CallAccess& access,
                                           std::string_view name) override {
    TRY(check(access));
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(std::string(name));
    if (found == files_.end()) return fail(std::string(kFilesNotFound), "no file");
    return std::make_shared<Source>(found->second, breaks_at_);
  }

  Result<std::shared_ptr<FileSink>> write(const CallAccess& access, std::string_view name,
                                          bool executable) override {
    TRY(check(access));
    if (!name.starts_with("out/")) return fail(std::string(kFilesName), "no name of a variable");
    ++opened_;
    return std::make_shared<Sink>(*this, std::string(name) + (executable ? "*" : ""));
  }

  Status clear(const CallAccess& access) override {
    TRY(check(access));
    const std::lock_guard lock(mutex_);
    files_.clear();
    return {};
  }

  void keep(const std::string& name, std::string bytes) {
    const std::lock_guard lock(mutex_);
    files_[name] = std::move(bytes);
  }
  std::map<std::string, std::string> files() const {
    const std::lock_guard lock(mutex_);
    return files_;
  }

  size_t breaks_at_ = kLargest + 1;        ///< reading fails behind so many bytes
  size_t most_written_ = kLargest;         ///< writing more fails
  std::atomic<size_t> largest_piece_ = 0;  ///< of what was written
  std::atomic<size_t> opened_ = 0;         ///< sinks that were made
  std::atomic<size_t> given_up_ = 0;       ///< sinks that were destroyed before finish()

 private:
  class Source final : public FileSource {
   public:
    Source(std::string bytes, size_t breaks_at) : bytes_(std::move(bytes)), breaks_at_(breaks_at) {}
    uint64_t size() const override { return bytes_.size(); }
    Result<std::string> next(size_t most) override {
      if (at_ >= breaks_at_) return fail(std::string(kFilesDisk), "no disk");
      std::string piece = bytes_.substr(at_, most);
      at_ += piece.size();
      return piece;
    }

   private:
    const std::string bytes_;
    const size_t breaks_at_;
    size_t at_ = 0;
  };

  class Sink final : public FileSink {
   public:
    Sink(FakeCallFiles& files, std::string name) : files_(files), name_(std::move(name)) {}
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;
    ~Sink() override { files_.given_up_ += is_finished_ ? 0 : 1; }
    Status write(std::string_view bytes) override {
      files_.largest_piece_ = std::max<size_t>(files_.largest_piece_, bytes.size());
      bytes_ += bytes;
      if (bytes_.size() <= files_.most_written_) return {};
      return fail(std::string(kFilesTooLarge), "too large");
    }
    Status finish() override {
      is_finished_ = true;
      files_.keep(name_, std::move(bytes_));
      return {};
    }

   private:
    FakeCallFiles& files_;
    const std::string name_;
    std::string bytes_;
    bool is_finished_ = false;
  };

  static Status check(const CallAccess& access) {
    if (to_string(access.task) == kTask && access.key == "key") return {};
    return fail(std::string(kFilesRefused), "refused");
  }

  mutable std::mutex mutex_;
  std::map<std::string, std::string> files_;
};

class FileRoutes : public ApiTest {
 protected:
  FileRoutes() { service_.files = &files_; }

  static std::string target(std::string_view name) {
    return fmt::format("/v1/tasks/{}/files{}{}", kTask, name.empty() ? "" : "/", name);
  }

  /// A call whose path has more slashes than that of its route.
  HttpReply ask(std::string_view method, std::string_view name, std::string_view body = "") {
    return request(server_->port(), method, target(name), kKey, body);
  }

  static inline const Headers kKey = {{"Millrace-Key", "key"}};

  FakeCallFiles files_;
};

TEST_F(FileRoutes, ListReadAndWriteTheFilesOfACall) {
  files_.keep("note", "hello");
  files_.keep("deep/x y", "1");
  EXPECT_EQ(call("GET", target(""), kKey).json()["items"].size(), 1U);
  const HttpReply note = call("GET", target("note"), kKey);
  EXPECT_EQ(note.status, 200);
  EXPECT_EQ(note.body, "hello");
  EXPECT_EQ(note.header("Content-Type"), "application/octet-stream");
  EXPECT_EQ(note.header("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(ask("GET", "deep/x%20y").body, "1");
  EXPECT_EQ(ask("GET", "deep%2Fx%20y").body, "1");
  const HttpReply head = ask("HEAD", "note");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("Content-Length"), "5");
  const HttpReply put = call("PUT", target("out%2Finstance%2Fa"), kKey, "done");
  EXPECT_EQ(put.status, 204);
  EXPECT_EQ(ask("PUT", "out/instance/b").status, 204) << "a file may be empty";
  EXPECT_EQ(ask("PUT", "out/instance/c/run?executable=1", "x").status, 204);
  const std::map<std::string, std::string> files = files_.files();
  EXPECT_EQ(files.at("out/instance/a"), "done");
  EXPECT_EQ(files.at("out/instance/b"), "");
  EXPECT_EQ(files.at("out/instance/c/run*"), "x");
}

TEST_F(FileRoutes, RefuseRequestsThatOpenNothing) {
  const std::string other = "0190b5a4-7c1e-7f2a-8000-000000000002";
  const Row rows[] = {
      {"GET", target(""), {}, "", 403, "files.refused"},
      {"GET", target(""), {{"Millrace-Key", "other"}}, "", 403, "files.refused"},
      {"GET", target("note"), {}, "", 403, "files.refused"},
      {"GET", "/v1/tasks/" + other + "/files/note", kKey, "", 403, "files.refused"},
      {"GET", "/v1/tasks/x/files/note", kKey, "", 403, "files.refused"},
      {"PUT", target("out%2Fx"), {}, "1", 403, "files.refused"},
      {"PUT", "/v1/tasks/x/files/out", kKey, "1", 403, "files.refused"},
      {"GET", target("none"), kKey, "", 404, "files.not_found"},
      {"PUT", target("note"), kKey, "1", 400, "files.name"},
      {"PUT", target("out%2Fx") + "?executable=2", kKey, "1", 400, "request.parameter"},
      {"POST", target("note"), kKey, "1", 405, "request.method_not_allowed"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
  EXPECT_EQ(files_.opened_, 0U);
  service_.files = nullptr;
  EXPECT_EQ(call("GET", target(""), kKey).code(), "files.refused");
}

TEST_F(FileRoutes, NeedNoToken) {
  server_.reset();
  auto started = HttpServer::start({.listen = "127.0.0.1:0",
                                    .token = BearerToken("0123456789abcdef0123456789abcdef"),
                                    .transport = patient_limits()},
                                   service_);
  ASSERT_TRUE(started) << started.error().message;
  server_ = std::move(*started);
  files_.keep("note", "hello");
  EXPECT_EQ(ask("GET", "note").body, "hello");
  EXPECT_EQ(ask("PUT", "out/instance/a", "1").status, 204);
  EXPECT_EQ(request(server_->port(), "GET", target("note")).code(), "files.refused");
}

TEST_F(FileRoutes, MoveTheLargestFileInSmallPiecesAndCountNoneOfItsBytes) {
  server_.reset();
  TransportLimits limits;
  limits.memory_bytes = 1;  // beside the first 64 KiB of each body and answer
  auto started =
      HttpServer::start({.listen = "127.0.0.1:0", .transport = patient_limits(limits)}, service_);
  ASSERT_TRUE(started) << started.error().message;
  server_ = std::move(*started);
  std::string large(kLargest, 'x');
  for (size_t at = 0; at < large.size(); at += 4'099) large[at] = static_cast<char>(at % 251);
  EXPECT_EQ(ask("PUT", "out/instance/large", large).status, 204);
  EXPECT_TRUE(files_.files().at("out/instance/large") == large);
  EXPECT_LE(files_.largest_piece_, size_t{64} << 10);
  files_.keep("large", large);
  const HttpReply got = ask("GET", "large");
  EXPECT_EQ(got.status, 200);
  EXPECT_TRUE(got.body == large);
  RawClient client(server_->port());
  client.send(
      fmt::format("PUT {} HTTP/1.1\r\nHost: localhost\r\nMillrace-Key: key\r\n"
                  "Content-Length: {}\r\n\r\n",
                  target("out/instance/larger"), kLargest + 1));
  EXPECT_EQ(client.read_reply()->code(), "request.body_too_large");
}

TEST_F(FileRoutes, ServeSeveralRequestsOnOneConnection) {
  files_.keep("note", "hello");
  RawClient client(server_->port());
  for (int i = 0; i < 3; ++i) {
    client.send(
        fmt::format("PUT {} HTTP/1.1\r\nHost: localhost\r\nMillrace-Key: key\r\nTransfer-Encoding: "
                    "chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
                    target("out/instance/a")));
    ASSERT_EQ(client.read_reply()->status, 204);
    client.send(fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\nMillrace-Key: key\r\n\r\n",
                            target("note")));
    ASSERT_EQ(client.read_reply()->body, "hello");
  }
  EXPECT_EQ(files_.files().at("out/instance/a"), "abc");
}

TEST_F(FileRoutes, LetAClientWaitForTheCheckOfItsKeyBeforeItSendsTheBody) {
  RawClient client(server_->port());
  const char* const kExpect =
      "PUT {} HTTP/1.1\r\nHost: localhost\r\nMillrace-Key: {}\r\nContent-Length: 1\r\nExpect: "
      "100-continue\r\n\r\n";
  client.send(fmt::format(fmt::runtime(kExpect), target("out/instance/a"), "key"));
  EXPECT_EQ(client.read_bytes(25), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("1");
  EXPECT_EQ(client.read_reply()->status, 204);
  client.send(fmt::format(fmt::runtime(kExpect), target("out/instance/a"), "other"));
  EXPECT_EQ(client.read_reply()->code(), "files.refused");
}

TEST_F(FileRoutes, KeepNothingOfAFileWhoseClientLeaves) {
  for (const char* const body :
       {"Content-Length: 5\r\n\r\nhe", "Transfer-Encoding: chunked\r\n\r\n5\r\nhe"}) {
    const size_t given_up = files_.given_up_;
    {
      RawClient client(server_->port());
      client.send(fmt::format("PUT {} HTTP/1.1\r\nHost: localhost\r\nMillrace-Key: key\r\n{}",
                              target("out/instance/a"), body));
      ASSERT_TRUE(eventually([&] { return files_.opened_ > given_up; }));
    }
    EXPECT_TRUE(eventually([&] { return files_.given_up_ > given_up; })) << body;
  }
  EXPECT_TRUE(files_.files().empty());
}

TEST_F(FileRoutes, RemoveAllFilesThatWereWritten) {
  EXPECT_EQ(ask("PUT", "out/instance/a", "1").status, 204);
  EXPECT_EQ(request(server_->port(), "DELETE", target("out")).code(), "files.refused");
  EXPECT_EQ(files_.files().size(), 1U);
  EXPECT_EQ(ask("DELETE", "out/instance/a").code(), "request.method_not_allowed");
  EXPECT_EQ(ask("DELETE", "out").status, 204);
  EXPECT_TRUE(files_.files().empty());
}

TEST_F(FileRoutes, AnswerAsSoonAsAFileIsRefused) {
  files_.most_written_ = 10;
  EXPECT_EQ(ask("PUT", "out/instance/a", std::string(11, 'x')).code(), "files.too_large");
  EXPECT_TRUE(eventually([&] { return files_.given_up_ == 1; }));
}

TEST_F(FileRoutes, EndTheConnectionBeforeTheEndOfAFileThatCannotBeRead) {
  files_.keep("note", std::string(size_t{1} << 20, 'x'));
  files_.breaks_at_ = size_t{128} << 10;
  EXPECT_EQ(ask("GET", "note").status, 0) << "the client must not take it for the whole file";
}

}  // namespace
}  // namespace millrace
