#include "app/backup_input.h"

#include <chrono>
#include <optional>
#include <ostream>
#include <thread>
#include <utility>

#include "app/folder_owner.h"
#include "cli/output.h"
#include "orchestrator/backup/backup_head.h"
#include "orchestrator/service/backups.h"
#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/tables.h"
#include "orchestrator/store/transaction.h"

namespace millrace {
namespace {

/// Timeout of the answer to the begin of a backup: first the server checks the pages of its store.
constexpr std::chrono::hours kPageCheckTime(24);

/// While the server keeps the place of a backup for a caller that has closed its connection, the
/// begin is repeated: somewhat longer than the server keeps the place.
constexpr std::chrono::seconds kRetryBegin(1);
constexpr int kMostBegins = static_cast<int>(kBackupAbandoned / kRetryBegin) + 5;

/// A chunk whose answer does not arrive is asked for again.
constexpr int kMostTries = 5;
constexpr std::chrono::seconds kRetryChunk(1);

/// Timeout of the answer to the end of a backup whose command is interrupted.
constexpr std::chrono::seconds kAbandonTime(3);

/// A store that is open read-only in this process.
class FolderInput final : public BackupInput {
 public:
  static Result<std::unique_ptr<FolderInput>> open(const std::string& data, TimePoint now) {
    std::unique_ptr<FolderInput> input(new FolderInput);
    input->environment_ = TRY(Environment::open(data, {.read_only = true}));
    input->view_.emplace(TRY(Snapshot::take(*input->environment_)));
    input->head_ =
        TRY(make_backup_head(*input->environment_, *input->view_, now, MILLRACE_VERSION));
    return input;
  }

  const BackupHead& head() const override { return head_; }
  uint64_t about_rows() const override { return about_rows_of(*view_); }
  Fallible<std::string> next() override {
    BackupChunk chunk = TRY(or_give_up(read_chunk(*view_, last_key_)));
    last_key_ = std::move(chunk.last_key);
    return std::move(chunk.bytes);
  }
  void abandon() override {}

 private:
  FolderInput() = default;

  std::unique_ptr<Environment> environment_;
  std::optional<Snapshot> view_;
  BackupHead head_;
  std::string last_key_;
};

/// The backup of a server. The destructor ends it.
class ServerInput final : public BackupInput {
 public:
  static Fallible<std::unique_ptr<BackupInput>> open(Client& client, std::ostream& messages) {
    const Json opened = TRY(begin(client, messages));
    std::unique_ptr<ServerInput> input(new ServerInput(client, opened.value("id", "")));
    input->head_ = TRY(or_give_up(decode_backup_head(opened)));
    input->about_rows_ = opened.value("aboutRows", uint64_t{0});
    return input;
  }

  ~ServerInput() override {
    // If this fails, the server ends the backup after a while.
    if (!id_.empty()) static_cast<void>(client_.send({.method = "DELETE", .path = path({})}));
  }

  void abandon() override {
    // If this fails, the server ends the backup after a while.
    static_cast<void>(
        for_end_.send({.method = "DELETE", .path = path({}), .timeout = kAbandonTime}));
  }

  const BackupHead& head() const override { return head_; }
  uint64_t about_rows() const override { return about_rows_; }
  Fallible<std::string> next() override {
    const std::string number = std::to_string(number_);
    for (int tries = 1;; ++tries) {
      Fallible<RawReply> reply = client_.fetch({.path = path({"chunks", number})});
      if (reply) {
        ++number_;
        return std::move(reply->body);
      }
      const Failure& failure = reply.error();
      const bool may_succeed =
          failure.code == ExitCode::kUnreachable || failure.error.code == "busy";
      if (!may_succeed || tries == kMostTries) return tl::unexpected(failure);
      std::this_thread::sleep_for(kRetryChunk);
    }
  }

 private:
  ServerInput(Client& client, std::string id)
      : client_(client), for_end_(client.another()), id_(std::move(id)) {}

  /// The answer of the server to the begin of a backup.
  static Fallible<Json> begin(Client& client, std::ostream& messages) {
    for (int tries = 1;; ++tries) {
      Fallible<Reply> reply = client.send({.method = "POST",
                                           .path = Client::url_path({"v1", "backups"}),
                                           .timeout = kPageCheckTime});
      if (reply) return std::move(reply->body);
      const Error& refused = reply.error().error;
      if (refused.code != kBackupEnding || tries == kMostBegins) {
        return tl::unexpected(reply.error());
      }
      if (tries == 1) messages << "waiting: " << harmless(refused.message) << "\n" << std::flush;
      std::this_thread::sleep_for(kRetryBegin);
    }
  }

  std::string path(std::initializer_list<std::string_view> pieces) const {
    return Client::url_path({"v1", "backups", id_}) + Client::url_path(pieces);
  }

  Client& client_;
  Client for_end_;  ///< for abandon()
  const std::string id_;
  BackupHead head_;
  uint64_t about_rows_ = 0;
  uint64_t number_ = 1;
};

}  // namespace

Fallible<std::unique_ptr<BackupInput>> open_backup_input(Session& session,
                                                         const std::string& data) {
  std::ostream& messages = session.console.err;
  if (data.empty()) return ServerInput::open(session.client, messages);
  Result<std::unique_ptr<FolderInput>> input = FolderInput::open(data, session.console.now());
  if (input) return *std::move(input);
  TRY(find_folder_owner(session, data, input.error(), "the backup", "begin the backup again"));
  return ServerInput::open(session.client, messages);
}

}  // namespace millrace
