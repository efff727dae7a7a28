// The routes /v1/tasks/{task}/files and below: a service reads the files of its call, and writes
// those that become variables with its answer. The requests need no token: the key of the attempt
// opens the files of its call, and nothing else.
#include <string>
#include <utility>

#include "gateway/parameters.h"
#include "gateway/problem.h"
#include "gateway/routes.h"
#include "model/attempt_key.h"
#include "orchestrator/ports/call_files.h"

namespace millrace {
namespace {

constexpr const char* kFilesPath = "/v1/tasks/{task}/files";
constexpr const char* kWrittenFilesPath = "/v1/tasks/{task}/files/out";
constexpr const char* kOneFilePath = "/v1/tasks/{task}/files/{file}";

Error no_files() {
  return {std::string(kFilesRefused),
          "the key opens no files: send the header Millrace-Key of the "
          "attempt, which must not have ended"};
}

/// The files of calls. Error kFilesRefused: no call of this server has files.
Result<CallFiles*> files_of(Service& service) {
  CallFiles* const files = service.call_files();
  if (files == nullptr) return tl::unexpected(no_files());
  return files;
}

Result<CallAccess> access_of(const Request& request) {
  const Result<InstanceId> task = parse_instance_id(request.parts.at("task"));
  const std::string* const key = find_header(request.headers, kAttemptKeyHeader);
  if (!task || key == nullptr) return tl::unexpected(no_files());
  return CallAccess{.task = *task, .key = *key};
}

/// Answers with the error. A wrong key may be a guess, so its answer is held back.
void answer_error(Exchange& exchange, const Error& error) {
  if (error.code == kFilesRefused) return exchange.refuse(error);
  exchange.answer(problem(error));
}

Result<Json> list_files(Service& service, const Request& request) {
  CallFiles* const files = TRY(files_of(service));
  const CallAccess access = TRY(access_of(request));
  return files->list(access);
}

Result<std::shared_ptr<FileSource>> open_file(Service& service, const Request& request) {
  CallFiles* const files = TRY(files_of(service));
  const CallAccess access = TRY(access_of(request));
  return files->read(access, request.parts.at("file"));
}

Result<std::shared_ptr<FileSink>> create_file(Service& service, const Request& request) {
  CallFiles* const files = TRY(files_of(service));
  const CallAccess access = TRY(access_of(request));
  const bool is_executable = TRY(flag_parameter(request, "executable"));
  return files->write(access, request.parts.at("file"), is_executable);
}

Status clear_files(Service& service, const Request& request) {
  CallFiles* const files = TRY(files_of(service));
  const CallAccess access = TRY(access_of(request));
  return files->clear(access);
}

}  // namespace

void add_file_routes(Router& router, Service& service) {
  router.add({.method = "GET",
              .path = kFilesPath,
              .operation = "listCallFiles",
              .summary = "Lists the files that the call of a service was given.",
              .headers = {kAttemptKeyHeader},
              .answer = "CallFiles",
              .errors = {"files.refused", "files.disk", "cluster.standby"},
              .lane = Lane::kFile,
              .open = true,
              .is_for_active = true,
              .handler = [&service](const std::shared_ptr<Exchange>& exchange) -> Status {
                const Result<Json> list = list_files(service, exchange->request());
                if (!list) answer_error(*exchange, list.error());
                if (list) exchange->reply(list);
                return {};
              }});
  router.add({.method = "GET",
              .path = kOneFilePath,
              .operation = "readCallFile",
              .summary = "Reads a file that the call of a service was given.",
              .headers = {kAttemptKeyHeader},
              .answer = "CallFile",
              .errors = {"files.refused", "files.not_found", "cluster.standby"},
              .lane = Lane::kFile,
              .open = true,
              .takes_rest = true,
              .is_for_active = true,
              .handler = [&service](const std::shared_ptr<Exchange>& exchange) -> Status {
                const auto file = open_file(service, exchange->request());
                if (!file) answer_error(*exchange, file.error());
                if (!file) return {};
                exchange->answer({{"Content-Type", "application/octet-stream"},
                                  {"Cache-Control", "no-store"},
                                  {"Content-Security-Policy", "sandbox; default-src 'none'"}},
                                 *file);
                return {};
              }});
  router.add(
      {.method = "PUT",
       .path = kOneFilePath,
       .operation = "writeCallFile",
       .summary = "Writes a file that becomes a variable with the answer of the service.",
       .query = {"executable"},
       .headers = {kAttemptKeyHeader},
       .body = "CallFile",
       .may_lack_body = true,
       .answer_status = 204,
       .errors = {"files.refused", "files.name", "files.too_large", "files.disk", "files.gone",
                  "cluster.standby"},
       .max_body = kMostFilesOfCall,
       .lane = Lane::kFile,
       .open = true,
       .takes_rest = true,
       .is_for_active = true,
       .receive = [&service](const Request& request) { return create_file(service, request); }});
  router.add({.method = "DELETE",
              .path = kWrittenFilesPath,
              .operation = "deleteWrittenFiles",
              .summary = "Removes all files that the service has written for its call.",
              .headers = {kAttemptKeyHeader},
              .answer_status = 204,
              .errors = {"files.refused", "files.disk", "cluster.standby"},
              .lane = Lane::kFile,
              .open = true,
              .is_for_active = true,
              .handler = [&service](const std::shared_ptr<Exchange>& exchange) -> Status {
                const Status cleared = clear_files(service, exchange->request());
                if (!cleared) answer_error(*exchange, cleared.error());
                if (cleared) {
                  exchange->answer(
                      {.status = 204, .headers = {{"Cache-Control", "no-store"}}, .body = ""});
                }
                return {};
              }});
}

}  // namespace millrace
