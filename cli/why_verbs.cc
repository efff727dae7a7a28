// `millrace event why` and `millrace instance why`.
#include "cli/why_verbs.h"

#include <fmt/format.h>

#include "cli/event_lookup.h"
#include "cli/other_namespaces.h"
#include "cli/time_flag.h"
#include "cli/why_text.h"

namespace millrace {
namespace {

struct EventWhyOptions {
  std::string event;
  ExpectedListener expected;
};

struct InstanceWhyOptions {
  std::string id;
  std::string event;
  std::string limit;
  std::string since;
  std::string until;
  std::string cursor;
  bool shows_all = false;
};

/// In the format name: the sequence of the event, or its id if it was not sent.
Json named_by_event(Json answer) {
  const Json& event = answer["event"];
  answer["name"] = event.contains("sequence") ? event["sequence"] : event["id"];
  return answer;
}

Ended explain_event(Session& session, const EventWhyOptions& options) {
  const Reply reply = TRY(ask_about_event(session, options.event, [&](const std::string& sequence) {
    return session.client.send({.path = session.path({"events", sequence, "why"}),
                                .query = parameters_of(options.expected)});
  }));
  show_why_of_event(session, reply.body, options.expected.all);
  return ExitCode::kOk;
}

/// An option that chooses among several events; empty: the command line has none.
std::string_view choosing_option(const InstanceWhyOptions& options) {
  if (!options.limit.empty()) return "--limit";
  if (!options.since.empty()) return "--since";
  if (!options.until.empty()) return "--until";
  return options.cursor.empty() ? "" : "--cursor";
}

Ended explain_instance(Session& session, const InstanceWhyOptions& options) {
  const std::string_view choosing = choosing_option(options);
  if (!options.event.empty() && !choosing.empty()) {
    return wrong_usage(fmt::format(
        "{}: --event names the only event that is shown; leave out one of the two", choosing));
  }
  const TimePoint now = session.console.now();
  const std::string since = TRY(time_of_flag("--since", options.since, now));
  const std::string until = TRY(time_of_flag("--until", options.until, now));
  const auto ask = [&](const std::string& sequence) {
    return session.client.send({.path = session.path({"instances", options.id, "why"}),
                                .query = {{"event", sequence},
                                          {"limit", options.limit},
                                          {"since", since},
                                          {"until", until},
                                          {"cursor", options.cursor}}});
  };
  const Fallible<Reply> answer =
      options.event.empty() ? ask("") : ask_about_event(session, options.event, ask);
  if (!answer) return instance_failure(session, options.id, answer.error());
  const Reply& reply = *answer;
  if (session.output.format() == Format::kTable) {
    const bool has_window = !since.empty() || !until.empty() || !options.cursor.empty();
    session.console.out << why_of_instance_text(reply.body, {.ns = session.ns,
                                                             .shows_all = options.shows_all,
                                                             .has_window = has_window,
                                                             .since = since});
  } else if (session.output.format() == Format::kName) {
    session.output.item(reply.body.at("instance"), "id");
  } else {
    session.output.item(reply.body, "instance");
  }
  return ExitCode::kOk;
}

}  // namespace

void add_expected_listener(Verb& verb, ExpectedListener& expected) {
  verb.option("--instance", expected.instance,
              "Show only the instance that you expected to be woken, and count the others", "ID");
  verb.option("--attribute", expected.attribute,
              "Also show listeners that ask for a value of this attribute; needs --value", "NAME");
  verb.option("--value", expected.value, "The value for which these listeners ask");
  verb.option("--limit", expected.limit, "Show so many listeners, 100 at most (default: 20)", "N");
  verb.flag("--all", expected.all,
            "Show each of these listeners with its predicates, not only the nearest three");
}

std::vector<std::pair<std::string, std::string>> parameters_of(const ExpectedListener& expected) {
  return {{"instance", expected.instance},
          {"attribute", expected.attribute},
          {"value", expected.value},
          {"limit", expected.limit}};
}

void show_why_of_event(Session& session, const Json& answer, bool shows_all) {
  if (session.output.format() == Format::kTable) {
    session.console.out << why_of_event_text(answer, {.ns = session.ns, .shows_all = shows_all});
  } else if (session.output.format() == Format::kName) {
    session.output.item(named_by_event(answer), "name");
  } else {
    session.output.item(answer, "event");
  }
}

void add_event_why_verb(CommandLine& event) {
  auto [why, options] = event.asking<EventWhyOptions>(
      "why", "Shows what an event woke or started, the nearest listeners that it did not, and why",
      "millrace event why 18\n  "
      "millrace event why pay-1\n  "
      "millrace event why 18 --instance 0190b5a4-7c1e-7f2a-8000-0123456789ab\n  "
      "millrace event why 18 --attribute orderid --value o-1742",
      explain_event);
  why.option("EVENT", options.event, "The sequence of the event, from `event list`, or its id")
      .required();
  add_expected_listener(why, options.expected);
}

void add_instance_why_verb(CommandLine& instance) {
  auto [why, options] = instance.asking<InstanceWhyOptions>(
      "why",
      "Shows what an instance waits for, the nearest of the newest events, and why they did not "
      "wake it",
      "millrace instance why 0190b5a4-7c1e-7f2a-8000-0123456789ab\n  "
      "millrace instance why 0190b5a4-7c1e-7f2a-8000-0123456789ab --event 18\n  "
      "millrace instance why 0190b5a4-7c1e-7f2a-8000-0123456789ab --since 2h --until 1h",
      explain_instance);
  why.option("id", options.id, "Id of the instance", "ID").required();
  why.option(
      "--event", options.event,
      "Only the event with this sequence or id (default: the newest events of the types that "
      "the instance waits for)",
      "EVENT");
  why.option("--limit", options.limit,
             "Show so many of the newest events, 100 at most (default: 20)", "N");
  add_event_window(why, options.since, options.until);
  why.option("--cursor", options.cursor,
             "Continue with older messages, from the cursor that an earlier answer printed");
  why.flag("--all", options.shows_all,
           "Show each of these events with the predicates, not only the nearest three");
}

}  // namespace millrace
