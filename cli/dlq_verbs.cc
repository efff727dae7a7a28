// `millrace dlq`: the dead-letter queue.
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/pages.h"
#include "cli/source.h"

namespace millrace {
namespace {

struct LetterListOptions {
  std::string reason;
  std::string source;
  PageOptions page;
};

struct LetterOptions {
  std::string id;
};

/// One dead letter, or all of a reason, or all.
struct LettersOptions {
  std::string id;
  std::string reason;
  bool all = false;
  std::string file;  ///< the corrected event; empty: none
};

Ended list_dead_letters(Session& session, const LetterListOptions& options) {
  ApiCall call{.path = session.path({"dlq"})};
  call.query = {{"reason", options.reason}, {"source", options.source}};
  return show_pages(
      session, call, options.page,
      {field("ID", "id"), age("AGE", "time", session.console.now()), field("REASON", "reason"),
       field("SUBJECT", "subject"), field("SIZE", "size"), field("DETAIL", "detail")},
      "id");
}

Ended show_dead_letter(Session& session, const LetterOptions& options) {
  const Reply reply = TRY(session.client.send({.path = session.path({"dlq", options.id})}));
  session.output.item(reply.body, "id", {"headers", "data"});
  return ExitCode::kOk;
}

Fallible<void> check_choice(const LettersOptions& options) {
  const int given =
      (options.id.empty() ? 0 : 1) + (options.reason.empty() ? 0 : 1) + (options.all ? 1 : 0);
  if (given == 1) return {};
  return wrong_usage("name one dead letter by its id, or use --reason or --all");
}

/// The call on the dead letters that the options name.
ApiCall letters_call(std::string method, std::string path, const LettersOptions& options) {
  ApiCall call{.method = std::move(method), .path = std::move(path)};
  call.query = {{"reason", options.reason}, {"all", options.all ? "1" : ""}};
  return call;
}

Ended replay_one(Session& session, const LettersOptions& options) {
  ApiCall call{.method = "POST", .path = session.path({"dlq", options.id, "replay"})};
  if (!options.file.empty()) {
    call.headers = {{"Content-Type", "application/cloudevents+json"}};
    call.body = TRY(read_file(session.console, options.file));
  }
  const Reply reply = TRY(session.client.send(call));
  session.output.item(reply.body, "id");
  return ExitCode::kOk;
}

/// Replays page by page, and shows the progress on a terminal.
Ended replay_letters(Session& session, const LettersOptions& options) {
  TRY(check_choice(options));
  if (!options.id.empty()) return replay_one(session, options);
  if (!options.file.empty()) return wrong_usage("-f corrects one dead letter; name it by its id");
  ApiCall call = letters_call("POST", session.path({"dlq", "replay"}), options);
  call.query.emplace_back("cursor", "");
  uint64_t done = 0;
  Json refused = Json::array();
  Json left = 0;
  while (true) {
    const Reply reply = TRY(session.client.send(call));
    done += reply.body.value("done", uint64_t{0});
    for (const Json& one : reply.body.value("refused", Json::array())) refused.push_back(one);
    left = reply.body.value("left", Json(0));
    if (session.console.err_is_terminal) {
      session.console.err << fmt::format("\r{} replayed, {} refused, {} left ", done,
                                         refused.size(), dump_json(left))
                          << std::flush;
    }
    if (!reply.body["next"].is_string()) break;
    call.query.back().second = reply.body["next"].get<std::string>();
    if (!session.console.pause(Duration(0))) {
      if (session.console.err_is_terminal) session.console.err << "\n";
      return ExitCode::kInterrupted;
    }
  }
  if (session.console.err_is_terminal) session.console.err << "\n";
  const bool is_refused = !refused.empty();
  session.output.item({{"done", done}, {"refused", std::move(refused)}, {"left", left}}, "done");
  return is_refused ? ExitCode::kFailed : ExitCode::kOk;
}

Ended drop_letters(Session& session, const LettersOptions& options) {
  TRY(check_choice(options));
  const bool one = !options.id.empty();
  const ApiCall call = one ? ApiCall{.method = "DELETE", .path = session.path({"dlq", options.id})}
                           : letters_call("DELETE", session.path({"dlq"}), options);
  const Reply reply = TRY(session.client.send(call));
  session.output.item(reply.body, one ? "id" : "done");
  return ExitCode::kOk;
}

void add_choice(Verb& verb, LettersOptions& options) {
  verb.option("ID", options.id, "The id of one dead letter, from `dlq list`");
  verb.option("--reason", options.reason, "All dead letters with this reason");
  verb.flag("--all", options.all, "All dead letters of the namespace");
}

}  // namespace

void add_dlq_verbs(CommandLine& commands) {
  CommandLine dlq =
      commands.noun("dlq", "The dead-letter queue: messages that could not be processed");
  auto [list, listing] = dlq.asking<LetterListOptions>(
      "list", "Lists the dead letters with their reasons, newest first",
      "millrace dlq list --reason event.missing_attribute", list_dead_letters);
  list.option("--reason", listing.reason, "Only dead letters with this reason");
  list.option("--source", listing.source, "Only messages that this source could not map", "ID");
  add_page(list, listing.page);

  auto [show, shown] =
      dlq.asking<LetterOptions>("show", "Shows a dead letter with all of its bytes and headers",
                                "millrace dlq show 12", show_dead_letter);
  show.option("ID", shown.id, "The id of the dead letter, from `dlq list`").required();

  auto [replay, replayed] = dlq.asking<LettersOptions>(
      "replay",
      "Publishes the event of a dead letter again, as it is or corrected, and deletes the dead "
      "letter; or replays all of a reason as they are",
      "millrace dlq replay 12 -f event.json\n  "
      "millrace dlq replay --reason namespace.not_found",
      replay_letters);
  add_choice(replay, replayed);
  replay.option("-f,--file", replayed.file, "The corrected event, as a CloudEvent in JSON",
                "FILE|-");

  auto [drop, dropped] = dlq.asking<LettersOptions>("drop", "Deletes dead letters",
                                                    "millrace dlq drop 12\n  "
                                                    "millrace dlq drop --reason event.time",
                                                    drop_letters);
  add_choice(drop, dropped);
}

}  // namespace millrace
