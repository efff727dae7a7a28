// The routes of a backup.
#include <optional>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

class BackupRoutes : public ApiTest {};

TEST_F(BackupRoutes, GivesOutABackupChunkByChunk) {
  const HttpReply opened = call("POST", "/v1/backups");
  EXPECT_EQ(opened.status, 201) << opened.body;
  Json head = FakeService::backup_head();
  head.update({{"id", "backup-1"}, {"aboutRows", 2}});
  EXPECT_EQ(opened.json(), head);
  EXPECT_EQ(call("POST", "/v1/backups").code(), "busy");

  const std::string chunks = "/v1/backups/backup-1/chunks/";
  for (const char* const number : {"1", "2", "2"}) {
    const HttpReply chunk = call("GET", chunks + number);
    EXPECT_EQ(chunk.status, 200) << chunk.body;
    EXPECT_EQ(chunk.header("Content-Type"), "application/octet-stream");
    EXPECT_EQ(chunk.body, number[0] == '1' ? "one" : "two");
  }
  const HttpReply end = call("GET", chunks + "3");
  EXPECT_EQ(end.status, 204);
  EXPECT_EQ(end.body, "");
  EXPECT_EQ(end.header("Content-Length"), "") << "RFC 9110, section 8.6";
  const Row refused[] = {
      {"GET", chunks + "4", {}, "", 409, "backup.chunk"},
      {"GET", chunks + "0", {}, "", 400, "request.parameter"},
      {"GET", chunks + "-1", {}, "", 400, "request.parameter"},
      {"GET", chunks + "1x", {}, "", 400, "request.parameter"},
      {"GET", chunks + "99999999999999999999", {}, "", 400, "request.parameter"},
      {"GET", "/v1/backups/other/chunks/1", {}, "", 404, "backup.not_found"},
      {"DELETE", "/v1/backups/other", {}, "", 404, "backup.not_found"},
      {"GET", "/v1/backups", {}, "", 405, "request.method_not_allowed"},
  };
  for (const Row& row : refused) expect(row, call(row.method, row.target));

  const Row ended = {
      "DELETE", "/v1/backups/backup-1", {}, "", 200, R"({"id":"backup-1","ended":true})"};
  expect(ended, call(ended.method, ended.target));
  EXPECT_EQ(call("GET", chunks + "1").code(), "backup.not_found");
}

TEST_F(BackupRoutes, ContinuesAConnectionAfterTheEndOfABackup) {
  ASSERT_EQ(call("POST", "/v1/backups").status, 201);
  RawClient client(server_->port());
  client.send("GET /v1/backups/backup-1/chunks/3 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.read_reply()->status, 204);
  client.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.read_reply()->status, 200);
}

TEST_F(BackupRoutes, ShowsTheServiceWhenTheCallerClosesItsConnection) {
  std::optional<RawClient> client(std::in_place, server_->port());
  client->send("POST /v1/backups HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(client->read_reply()->status, 201);
  EXPECT_FALSE(service_.backup_caller().expired()) << "the connection is still open";
  client->send("GET /v1/backups/backup-1/chunks/1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client->read_reply()->status, 200);
  const CallerMark caller = service_.backup_caller();
  EXPECT_FALSE(caller.expired());
  client.reset();
  while (!caller.expired()) std::this_thread::yield();
}

}  // namespace
}  // namespace millrace
