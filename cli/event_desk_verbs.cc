// The verbs of `millrace event` for stored events: list, get and tail; replay_verb.cc has replay.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "base/whole_number.h"
#include "cli/attribute_flag.h"
#include "cli/command_line.h"
#include "cli/event_lookup.h"
#include "cli/event_reader.h"
#include "cli/pages.h"
#include "cli/quantity.h"
#include "cli/time_flag.h"
#include "cloudevents/event_check.h"

namespace millrace {
namespace {

/// Which events a list shows; as the parameters of the request.
struct EventFilterOptions {
  std::string type;
  std::string source;
  std::string id;
  std::string since;
  std::string until;
  std::vector<std::string> attributes;  ///< `NAME=VALUE`
  bool with_effect = false;
  bool without_effect = false;
};

struct EventListOptions {
  EventFilterOptions filter;
  PageOptions page;
};

struct EventGetOptions {
  std::string event;
};

struct EventTailOptions {
  EventFilterOptions filter;
  std::string count;
};

/// The longest text of the attributes of an event in a table, in bytes.
constexpr size_t kAttributesWidth = 40;
/// How many of the newest events `event tail` shows first, and how many it asks for afterwards.
constexpr const char* kTailFirst = "10";
constexpr const char* kTailNext = "250";

void add_event_filter(Verb& verb, EventFilterOptions& filter) {
  verb.option("--type", filter.type, "Only events whose type fits", "GLOB");
  verb.option("--source", filter.source, "Only events whose source fits", "GLOB");
  verb.option("--id", filter.id, "Only events with this id");
  verb.option(
      "--since", filter.since,
      "Only events that were stored then or later: a time in RFC 3339, or how long ago (10m)",
      "WHEN");
  verb.option("--until", filter.until,
              "Only events that were stored before: a time, or how long ago", "WHEN");
  verb.option("--attr", filter.attributes,
              "Only events whose context attribute has this value; may be repeated", "NAME=VALUE")
      .one_value_each();
  verb.flag("--with-effect", filter.with_effect,
            "Only events that started or woke an instance, or wait in a group");
  verb.flag("--without-effect", filter.without_effect, "Only the other events");
}

Fallible<ApiCall> list_call(Session& session, const EventFilterOptions& filter) {
  if (filter.with_effect && filter.without_effect) {
    return wrong_usage("--with-effect excludes --without-effect");
  }
  const TimePoint now = session.console.now();
  ApiCall call{.path = session.path({"events"})};
  call.query = {{"type", filter.type},
                {"source", filter.source},
                {"id", filter.id},
                {"since", TRY(time_of_flag("--since", filter.since, now))},
                {"until", TRY(time_of_flag("--until", filter.until, now))}};
  Json attributes = Json::object();
  for (const std::string& one : filter.attributes) {
    const auto [name, value] = TRY(read_attribute(one));
    if (attributes.contains(name) && attributes[name] != value) {
      return wrong_usage(fmt::format("--attr {}: the attribute has two values", name));
    }
    attributes[name] = value;
  }
  if (!attributes.empty()) call.query.emplace_back("attributes", dump_json(attributes));
  if (filter.with_effect) call.query.emplace_back("effect", "with");
  if (filter.without_effect) call.query.emplace_back("effect", "without");
  return call;
}

/// What became of an event: `started 0190…, woke 0190…, and 3 more`.
std::string effects_text(const Json& event) {
  if (!event.value("applied", true)) return "not applied yet";
  std::string text;
  const Json effects = event.value("effects", Json::array());
  for (const Json& effect : effects) {
    if (!text.empty()) text += ", ";
    text += effect.value("what", "");
    for (const char* const of : {"instance", "workflow"}) {
      if (effect.contains(of)) text += " " + effect.value(of, "");
    }
  }
  const size_t count = event.value("effectCount", size_t{0});
  if (count > effects.size()) text += fmt::format(", and {} more", count - effects.size());
  return text.empty() ? "-" : text;
}

/// The subject and the extension attributes: `subject=s, orderid=o-1`, cut.
std::string attributes_text(const Json& event) {
  std::string text;
  const auto add = [&](const std::string& name, const Json& value) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name,
                        value.is_string() ? value.get<std::string>() : dump_json(value));
  };
  if (event.contains("subject")) add("subject", event["subject"]);
  const Json attributes = event.value("attributes", Json::object());
  for (const auto& [name, value] : attributes.items()) {
    if (!is_core_attribute(name)) add(name, value);
  }
  return text.empty() ? "-" : excerpt(text, kAttributesWidth);
}

std::vector<Column> event_columns(TimePoint now) {
  return {field("SEQUENCE", "sequence"),
          age("AGE", "time", now),
          field("TYPE", "type"),
          field("SOURCE", "source"),
          field("ID", "id"),
          Column{"ATTRIBUTES", attributes_text},
          Column{"EFFECTS", effects_text}};
}

Ended list_events(Session& session, const EventListOptions& options) {
  return show_pages(session, TRY(list_call(session, options.filter)), options.page,
                    event_columns(session.console.now()), "sequence");
}

Ended get_event(Session& session, const EventGetOptions& options) {
  const Reply reply = TRY(ask_about_event(session, options.event, [&](const std::string& sequence) {
    return session.client.send({.path = session.path({"events", sequence})});
  }));
  session.output.item(reply.body, "sequence", {"event"});
  return ExitCode::kOk;
}

/// Prints an event as one line.
void print_line(Session& session, const Json& event) {
  std::ostream& out = session.console.out;
  if (session.output.format() == Format::kTable) {
    out << fmt::format("{}  {}  {}  {}  {}  {}\n", event.value("time", ""),
                       event.value("sequence", uint64_t{0}), harmless(event.value("type", "-")),
                       harmless(event.value("source", "-")), harmless(event.value("id", "-")),
                       effects_text(event));
  } else if (session.output.format() == Format::kName) {
    out << event.value("sequence", uint64_t{0}) << "\n";
  } else {
    out << dump_json(event) << "\n";
  }
  out.flush();
}

/// Prints the newest events that the server has applied, and new ones when it has applied them. A
/// live message says how far that is; the events themselves are read from the list, which has all
/// filters and leaves none out.
class EventTail {
 public:
  EventTail(Session& session, ApiCall list, std::string type, uint64_t most)
      : session_(session),
        lists_(session.client.another()),
        list_(std::move(list)),
        type_(std::move(type)),
        most_(most) {}

  Ended run() {
    while (true) {
      has_progress_ = false;
      EventReader reader;
      const auto see = [&](std::string_view bytes) {
        reader.add(bytes);
        while (!is_over()) {
          const auto message = reader.next();
          if (!message) break;
          read(*message);
        }
        return !is_over();
      };
      TRY(session_.client.stream({.path = session_.path({"stream"}),
                                  .query = {{"topics", "events"}, {"type", type_}},
                                  .timeout = Duration(0)},
                                 see));
      if (failure_) return tl::unexpected(*failure_);
      if (shown_ >= most_) return ExitCode::kOk;
      if (is_deleted_) {
        return give_up(ExitCode::kNotFound, "namespace.not_found",
                       fmt::format("namespace \"{}\" was deleted", session_.ns));
      }
      if (!has_progress_) {
        return give_up(ExitCode::kUnreachable, "client.stream",
                       "the server has ended the stream; run the command again");
      }
    }
  }

 private:
  bool is_over() const { return failure_ || is_deleted_ || shown_ >= most_; }

  void read(const EventReader::Message& message) {
    const Result<Json> data = parse_own_json(message.data);
    if (!data) return;
    if (message.event == "reset") is_deleted_ = data->value("why", "") == "deleted";
    if (message.event == "hello") note(begin(data->value("applied", uint64_t{0})));
    if (message.event == "events") {
      has_progress_ = true;
      // `BOOT-STEP.SEQUENCE`
      const uint64_t applied =
          whole_number(message.id.substr(message.id.rfind('.') + 1)).value_or(0);
      if (applied > 0) note(catch_up(applied, data->value("items", Json::array())));
    }
  }

  void note(const Fallible<void>& done) {
    if (!done) failure_ = done.error();
  }

  Fallible<void> begin(uint64_t applied) {
    if (last_) return print_until(applied);
    last_ = applied;
    const Json items =
        TRY(events({{"limit", kTailFirst}, {"before", std::to_string(applied + 1)}}))["items"];
    for (auto event = items.rbegin(); event != items.rend(); ++event) print(*event);
    return {};
  }

  /// `items`: the events in the message, up to `applied`.
  Fallible<void> catch_up(uint64_t applied, const Json& items) {
    // The event stream was created again, or lost its newest events: its sequences begin again.
    if (applied < last_.value_or(0) && !items.empty()) {
      last_ = items.front().value("sequence", applied + 1) - 1;
    }
    return print_until(applied);
  }

  Fallible<void> print_until(uint64_t applied) {
    last_ = std::min(last_.value_or(0), applied);
    while (*last_ < applied && shown_ < most_) {
      Json page = TRY(events({{"limit", kTailNext},
                              {"after", std::to_string(*last_)},
                              {"before", std::to_string(applied + 1)}}));
      for (const Json& event : page.value("items", Json::array())) print(event);
      const uint64_t next =
          whole_number(page["next"].is_string() ? page["next"].get<std::string>() : "").value_or(0);
      if (next <= *last_) break;  // the broker has answered with nothing; the next message asks
      last_ = next;
    }
    return {};
  }

  Fallible<Json> events(const std::vector<std::pair<std::string, std::string>>& range) {
    ApiCall call = list_;
    call.query.insert(call.query.end(), range.begin(), range.end());
    return TRY(lists_.send(call)).body;
  }

  void print(const Json& event) {
    if (shown_ >= most_) return;
    ++shown_;
    print_line(session_, event);
  }

  Session& session_;
  Client lists_;        ///< the other client receives the stream
  const ApiCall list_;  ///< with the filter
  const std::string type_;
  const uint64_t most_;
  uint64_t shown_ = 0;
  std::optional<uint64_t> last_;  ///< all events up to this sequence were printed
  bool has_progress_ = false;
  bool is_deleted_ = false;  ///< the namespace does not exist any more
  std::optional<Failure> failure_;
};

Ended tail_events(Session& session, const EventTailOptions& options) {
  const uint64_t most =
      options.count.empty() ? UINT64_MAX : TRY(read_number("count", options.count));
  ApiCall list = TRY(list_call(session, options.filter));
  return EventTail(session, std::move(list), options.filter.type, most).run();
}

}  // namespace

void add_event_desk_verbs(CommandLine& event) {
  auto [list, listing] = event.asking<EventListOptions>(
      "list", "Lists the stored events, newest first, and what became of each",
      "millrace event list --type 'order.*' --without-effect\n  "
      "millrace event list --since 10m --attr orderid=o-1742",
      list_events);
  add_event_filter(list, listing.filter);
  add_page(list, listing.page);

  auto [get, one] = event.asking<EventGetOptions>(
      "get", "Shows one stored event, its data, and what became of it",
      "millrace event get 18\n  millrace event get pay-1", get_event);
  get.option("EVENT", one.event, "The sequence of the event, from `event list`, or its id")
      .required();

  add_event_replay_verb(event);

  auto [tail, tailing] = event.asking<EventTailOptions>(
      "tail", "Prints the newest events, and new ones once they are applied, until Ctrl-C",
      "millrace event tail --type order.placed --count 2", tail_events);
  add_event_filter(tail, tailing.filter);
  tail.option("--count", tailing.count, "End after so many events", "N");
}

}  // namespace millrace
