// `millrace instance follow`: the records of an instance as they come, until the instance ends.
#include "cli/follow_verb.h"

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/event_reader.h"

namespace millrace {
namespace {

struct FollowOptions {
  std::string id;
  std::string after;
};

/// Prints the records of a stream, and notes where the stream can be continued.
class Follower {
 public:
  Follower(Session& session, std::string id, std::string after)
      : session_(session), id_(std::move(id)), after_(std::move(after)) {}

  Ended run() {
    while (true) {
      has_progress_ = false;
      EventReader reader;
      const auto see = [&](std::string_view bytes) {
        reader.add(bytes);
        while (const auto message = reader.next()) read(*message);
        session_.console.out << std::flush;
        return !is_done_ && !is_deleted_;
      };
      TRY(session_.client.stream({.path = session_.path({"instances", id_, "stream"}),
                                  .query = {{"after", after_}},
                                  .timeout = Duration(0)},
                                 see));
      if (is_deleted_) {
        return give_up(ExitCode::kNotFound, "instance.not_found",
                       fmt::format("instance {} was deleted", id_));
      }
      // The last record says that the instance has ended; a restart may have followed.
      if (is_done_) {
        const Reply reply = TRY(session_.client.send({.path = session_.path({"instances", id_})}));
        const std::string status = reply.body.value("status", "");
        if (status == "complete") return ExitCode::kOk;
        if (reply.body.contains("endedAt")) return ExitCode::kInstanceFailed;
        is_done_ = false;
        continue;
      }
      if (!has_progress_) {
        return give_up(ExitCode::kUnreachable, "client.stream",
                       "the server has ended the stream; follow again with --after " +
                           (after_.empty() ? std::string("0") : after_));
      }
    }
  }

 private:
  void read(const EventReader::Message& message) {
    const Result<Json> data = parse_own_json(message.data);
    if (!data) return;
    if (message.event == "reset") is_deleted_ = data->value("why", "") == "deleted";
    if (message.event != "history") return;
    for (const Json& record : data->value("items", Json::array())) print(record);
  }

  void print(const Json& record) {
    has_progress_ = true;
    after_ = std::to_string(record.value("number", uint64_t{0}));
    is_done_ = record.value("kind", "") == "ended";
    std::ostream& out = session_.console.out;
    if (session_.output.format() == Format::kTable) {
      const auto detail = record.find("detail");
      out << harmless(fmt::format("{}  {:<9}  {}  {}", record.value("time", ""),
                                  record.value("kind", ""), record.value("state", "-"),
                                  detail == record.end() ? "" : dump_json(*detail)))
          << '\n';
    } else {
      out << dump_json(record) << '\n';
    }
  }

  Session& session_;
  const std::string id_;
  std::string after_;  ///< the number of the last record; empty: none
  bool has_progress_ = false;
  bool is_done_ = false;     ///< the last record is the end of the instance
  bool is_deleted_ = false;  ///< the instance does not exist any more
};

}  // namespace

void add_follow_verb(CommandLine& instance) {
  auto [follow, options] = instance.asking<FollowOptions>(
      "follow",
      "Shows the records of an instance as they come, until it ends; exit 9 if it did not end as "
      "complete",
      "millrace instance follow 0190b5a4-7c1e-7f2a-8000-0123456789ab",
      [](Session& session, const FollowOptions& given) {
        return Follower(session, given.id, given.after).run();
      });
  follow.option("id", options.id, "Id of the instance", "ID").required();
  follow.option("--after", options.after, "Only records after this number", "N");
}

}  // namespace millrace
