// The verbs of `millrace event` for stored events: list, get and tail; replay_verb.cc has replay.
#include <algorithm>
#include <chrono>
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
#include "model/event_target.h"

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
  bool not_generated = false;
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
/// How many of the newest events `event tail` shows first: if no option says how many, and at most.
/// It looks for them in so many pages, and so long.
constexpr uint64_t kTailFirst = 10;
constexpr uint64_t kMostTailFirst = 1'000;
constexpr int kMostTailPages = 20;
constexpr std::chrono::seconds kTailFirstTime{2};
/// How many events a page has.
constexpr uint64_t kTailPage = 250;

void add_event_filter(Verb& verb, EventFilterOptions& filter) {
  verb.option("--type", filter.type, "Only events whose type fits", "GLOB");
  verb.option("--source", filter.source, "Only events whose source fits", "GLOB");
  verb.option("--id", filter.id, "Only events with this id");
  add_event_window(verb, filter.since, filter.until);
  verb.option("--attr", filter.attributes,
              "Only events whose context attribute has this value; may be repeated", "NAME=VALUE")
      .one_value_each();
  verb.flag("--with-effect", filter.with_effect,
            "Only events that started or woke an instance, or wait in a group");
  verb.flag("--without-effect", filter.without_effect, "Only the other events");
  verb.flag("--not-generated", filter.not_generated,
            "Only events that no generateEvent state has published");
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
  if (filter.not_generated) call.query.emplace_back("generated", "0");
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

/// The only workflow or instance that may take the event; empty: any may.
std::string target_of_event(const Json& event) {
  const Json to = event.value("to", Json::object());
  for (const char* const kind : {"workflow", "instance"}) {
    if (!to.contains(kind)) continue;
    return fmt::format("only for {} {}{}", kind, to.value(kind, ""),
                       to.value("deleted", false) ? ", which was deleted" : "");
  }
  return "";
}

/// The subject, the extension attributes, and the target in place of the attribute that has it:
/// `subject=s, orderid=o-1, only for workflow ship`. What is before the target is cut.
std::string attributes_text(const Json& event) {
  std::string text;
  const auto add = [&](const std::string& name, const Json& value) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name,
                        value.is_string() ? value.get<std::string>() : dump_json(value));
  };
  if (event.contains("subject")) add("subject", event["subject"]);
  const Json attributes = event.value("attributes", Json::object());
  const std::string target = target_of_event(event);
  for (const auto& [name, value] : attributes.items()) {
    const bool is_shown_below = name == kTargetAttribute && !target.empty();
    if (!is_core_attribute(name) && !is_shown_below) add(name, value);
  }
  if (!text.empty()) text = excerpt(text, kAttributesWidth);
  if (!target.empty()) text += (text.empty() ? "" : ", ") + target;
  return text.empty() ? "-" : text;
}

/// `when`: the column that shows when an event was stored.
std::vector<Column> event_columns(Column when) {
  return {field("SEQUENCE", "sequence"),  std::move(when),   field("TYPE", "type"),
          field("SOURCE", "source"),      field("ID", "id"), Column{"ATTRIBUTES", attributes_text},
          Column{"EFFECTS", effects_text}};
}

Ended list_events(Session& session, const EventListOptions& options) {
  return show_pages(session, TRY(list_call(session, options.filter)), options.page,
                    event_columns(age("AGE", "time", session.console.now())), "sequence");
}

Ended get_event(Session& session, const EventGetOptions& options) {
  const Reply reply = TRY(ask_about_event(session, options.event, [&](const std::string& sequence) {
    return session.client.send({.path = session.path({"events", sequence})});
  }));
  session.output.item(reply.body, "sequence", {"event"});
  return ExitCode::kOk;
}

struct TailRequest {
  ApiCall list;  ///< with the filter
  std::string type;
  std::optional<TimePoint> until;  ///< no event is printed that is stored then or later
  uint64_t first = 0;              ///< how many stored events are printed first, at most
  uint64_t most = UINT64_MAX;      ///< after how many events the command ends
};

/// Prints the newest events that the server has applied, and new ones when it has applied them. A
/// live message says how far that is; the events themselves are read from the list, which has all
/// filters and leaves none out.
class EventTail {
 public:
  EventTail(Session& session, TailRequest request)
      : session_(session), lists_(session.client.another()), asked_(std::move(request)) {}

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
        if (!is_over()) note(look_for_end());
        return !is_over();
      };
      TRY(session_.client.stream({.path = session_.path({"stream"}),
                                  .query = {{"topics", "events"}, {"type", asked_.type}},
                                  .timeout = Duration(0)},
                                 see));
      if (failure_) return tl::unexpected(*failure_);
      if (shown_ >= asked_.most || has_all_until_) return ExitCode::kOk;
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
  bool is_over() const {
    return failure_ || is_deleted_ || has_all_until_ || shown_ >= asked_.most;
  }

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
    Json newest = Json::array();  // newest first
    const TimePoint began = session_.console.now();
    std::string before = std::to_string(applied + 1);
    for (int page = 0; page < kMostTailPages && !before.empty(); ++page) {
      const uint64_t wanted = asked_.first - newest.size();
      if (wanted == 0 || session_.console.now() - began >= kTailFirstTime) break;
      Json answer =
          TRY(events({{"limit", std::to_string(std::min(wanted, kTailPage))}, {"before", before}}));
      for (Json& event : answer["items"]) newest.push_back(std::move(event));
      before = answer["next"].is_string() ? answer["next"].get<std::string>() : "";
    }
    std::reverse(newest.begin(), newest.end());
    const bool is_cut =
        !before.empty() && (newest.size() == kMostTailFirst || newest.size() < asked_.first);
    if (is_cut) {
      session_.console.err << fmt::format(
          "{}; `millrace -n {} event list` with the same conditions also lists older ones\n",
          newest.empty() ? "no stored event that fits was found among the newest"
                         : fmt::format("only the newest {} of the stored events that fit are "
                                       "printed",
                                       newest.size()),
          shell_word(session_.ns));
    }
    print(std::move(newest));
    return {};
  }

  /// Ends the command if the time `until` has passed and all events before it are applied.
  Fallible<void> look_for_end() {
    if (!asked_.until || !last_ || session_.console.now() < *asked_.until) return {};
    ApiCall call{
        .path = asked_.list.path,
        .query = {{"type", asked_.type}, {"until", format_rfc3339(*asked_.until)}, {"limit", "1"}}};
    const Json items = TRY(lists_.send(call)).body.value("items", Json::array());
    if (!items.empty() && !items.front().value("applied", true)) return {};
    if (!items.empty()) {
      TRY(print_until(std::max(*last_, items.front().value("sequence", uint64_t{0}))));
    }
    has_all_until_ = true;
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
    while (*last_ < applied && shown_ < asked_.most) {
      Json page = TRY(events({{"limit", std::to_string(kTailPage)},
                              {"after", std::to_string(*last_)},
                              {"before", std::to_string(applied + 1)}}));
      print(page.value("items", Json::array()));
      const uint64_t next =
          whole_number(page["next"].is_string() ? page["next"].get<std::string>() : "").value_or(0);
      if (next <= *last_) break;  // the broker has answered with nothing; the next message asks
      last_ = next;
    }
    return {};
  }

  Fallible<Json> events(const std::vector<std::pair<std::string, std::string>>& range) {
    ApiCall call = asked_.list;
    call.query.insert(call.query.end(), range.begin(), range.end());
    return TRY(lists_.send(call)).body;
  }

  /// Prints events, oldest first, and no more than are asked for.
  void print(Json events) {
    while (events.size() > asked_.most - shown_) events.erase(events.size() - 1);
    shown_ += events.size();
    std::ostream& out = session_.console.out;
    if (session_.output.format() == Format::kTable) {
      session_.output.lines(events, event_columns(field("TIME", "time")), widths_);
    } else {
      for (const Json& event : events) {
        const bool is_name = session_.output.format() == Format::kName;
        out << dump_json(is_name ? event.at("sequence") : event) << "\n";
      }
    }
    out.flush();
  }

  Session& session_;
  Client lists_;  ///< the other client receives the stream
  const TailRequest asked_;
  std::vector<size_t> widths_;  ///< of the columns of the table
  uint64_t shown_ = 0;
  std::optional<uint64_t> last_;  ///< all events up to this sequence were printed
  bool has_progress_ = false;
  bool is_deleted_ = false;     ///< the namespace does not exist any more
  bool has_all_until_ = false;  ///< no further event can be before `until`
  std::optional<Failure> failure_;
};

Ended tail_events(Session& session, const EventTailOptions& options) {
  TailRequest request{.list = TRY(list_call(session, options.filter)), .type = options.filter.type};
  const std::string until =
      TRY(time_of_flag("--until", options.filter.until, session.console.now()));
  if (const auto time = parse_rfc3339(until)) request.until = *time;
  const bool has_time = !options.filter.since.empty() || !until.empty();
  request.first = has_time ? kMostTailFirst : kTailFirst;
  if (!options.count.empty()) {
    request.most = TRY(read_count("count", options.count));
    request.first = std::min(request.most, kMostTailFirst);
  }
  return EventTail(session, std::move(request)).run();
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
      "tail",
      "Prints the newest 10 events, oldest first, and new ones once they are applied, until "
      "Ctrl-C; with --since or --until first all stored events in that time, 1000 at most; ends if "
      "the time of --until has passed",
      "millrace event tail --type order.placed --count 2\n  millrace event tail --since 10m",
      tail_events);
  add_event_filter(tail, tailing.filter);
  tail.option(
      "--count", tailing.count,
      "Print the newest N stored events, 1000 at most, and new ones only if there are fewer; "
      "end after N events",
      "N");
}

}  // namespace millrace
