// The routes /v1/backups and below: a backup of the store, which the caller reads chunk by chunk.
// The bytes of a chunk are those of docs/FORMATS.md, "Backup".
#include <utility>

#include <fmt/format.h>

#include "base/whole_number.h"
#include "gateway/parameters.h"
#include "gateway/routes.h"
#include "language/findings.h"

namespace millrace {
namespace {

constexpr unsigned kNoContent = 204;

Status begin_backup(Service& service, const std::shared_ptr<Exchange>& exchange) {
  TRY(exchange->expect_long_wait());  // the pages of the store are checked first
  service.begin_backup(exchange->connection(),
                       exchange->back<Result<Json>>([exchange](const Result<Json>& backup) {
                         exchange->reply(backup, 201);
                       }));
  return {};
}

/// The `{number}` of the path: the number of a chunk, from 1.
Result<uint64_t> chunk_number_of(const Request& request) {
  const std::string& text = request.parts.at("number");
  const uint64_t number = whole_number(text).value_or(0);
  if (number >= 1) return number;
  return fail("request.parameter",
              fmt::format("{} is not the number of a chunk; expected a whole number from 1 on",
                          in_quotes(text)));
}

Status get_chunk(Service& service, const std::shared_ptr<Exchange>& exchange) {
  const Request& request = exchange->request();
  const uint64_t number = TRY(chunk_number_of(request));
  std::optional<std::string> chunk =
      TRY(service.backup_chunk(request.parts.at("backup"), number, exchange->connection()));
  if (!chunk) {
    exchange->answer({kNoContent, {{"Cache-Control", "no-store"}}, ""});
  } else {
    exchange->answer({200,
                      {{"Content-Type", "application/octet-stream"}, {"Cache-Control", "no-store"}},
                      *std::move(chunk)});
  }
  return {};
}

}  // namespace

void add_backup_routes(Router& router, Service& service) {
  router.add(
      {.method = "POST",
       .path = "/v1/backups",
       .operation = "beginBackup",
       .summary = "Begins a backup of the store.",
       .answer = "Backup",
       .answer_status = 201,
       .errors = {"backup.ending", "backup.abandoned"},
       .may_take_long = true,
       .handler = [&service](const auto& exchange) { return begin_backup(service, exchange); }});
  router.add(
      {.method = "GET",
       .path = "/v1/backups/{backup}/chunks/{number}",
       .operation = "getBackupChunk",
       .summary = "Reads a chunk of a backup; after the last chunk the status is 204.",
       .answer = "BackupChunk",
       .further_answers = {{kNoContent, ""}},
       .errors = {"backup.not_found", "backup.chunk"},
       .handler = [&service](const auto& exchange) { return get_chunk(service, exchange); }});
  router.add({.method = "DELETE",
              .path = "/v1/backups/{backup}",
              .operation = "endBackup",
              .summary = "Ends a backup.",
              .answer = "BackupEnded",
              .errors = {"backup.not_found"},
              .handler = reading([&service](const Request& request) -> Result<Json> {
                return service.end_backup(request.parts.at("backup"));
              })});
}

}  // namespace millrace
