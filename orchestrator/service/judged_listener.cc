#include "orchestrator/service/judged_listener.h"

#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "orchestrator/service/group_corrections.h"

namespace millrace {
namespace {

std::string in_list(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) {
    list += fmt::format("{}`{}`", list.empty() ? "" : ", ", name);
  }
  return list;
}

std::string id_of_judged(const JudgedListener& one) {
  return one.instance ? to_string(*one.instance) : "ID";
}

/// Names the first predicate that does not hold, and how many others do not.
std::string predicates_say(const FilterResult& result) {
  const size_t failing = result.failing();
  if (failing == 0) return "the event does not fit what is asked for";
  const std::string others = failing == 1 ? "" : fmt::format(" (and {} more)", failing - 1);
  return fmt::format("the event does not fit what is asked for: {}{}", excluded_by(result), others);
}

/// A length of time in the unit that shows it best: `250 ms`, `3.3 s`, `5 min`, `3 h`, `12 d`.
std::string length_in_words(Duration length) {
  const int64_t millis = length.count();
  if (millis < 1'000) return fmt::format("{} ms", millis);
  if (millis < 120'000) return fmt::format("{}.{} s", millis / 1'000, millis % 1'000 / 100);
  if (millis < int64_t{120} * 60'000) return fmt::format("{} min", millis / 60'000);
  if (millis < int64_t{48} * 3'600'000) return fmt::format("{} h", millis / 3'600'000);
  return fmt::format("{} d", millis / 86'400'000);
}

bool started_after(const JudgedListener& one, const EventStanding& event) {
  return one.started && *one.started > event.stamped;
}

/// The command that sends the event again to the listener only. An event that came before has a
/// position.
std::string replay_says(const JudgedListener& one, const EventStanding& event) {
  return fmt::format("send it to this {} only: `millrace -n {} event replay {} --to-{}`",
                     one.is_start ? "workflow" : "instance", event.ns,
                     event.position ? event.position->sequence : 0,
                     one.is_start ? fmt::format("workflow {}", one.workflow)
                                  : fmt::format("instance {}", id_of_judged(one)));
}

/// What can be done about an event that came before the wait of an instance.
std::string early_says(const JudgedListener& one, const EventStanding& event) {
  const std::string fit = fit_says(one);
  if (one.has_ended) {
    std::string text = "the instance has ended, so it can take no event";
    if (!one.woken_by.empty()) {
      return fmt::format("{}; in that wait, {}{}{}", text, one.woken_by, fit.empty() ? "" : "; ",
                         fit);
    }
    if (one.would_fit == false) return fmt::format("{}; {}", text, fit);
    return fmt::format("{}; `millrace -n {} instance rerun {} --from {}` starts it again; {}", text,
                       event.ns, id_of_judged(one), one.state.empty() ? "STATE" : one.state,
                       fit.empty() ? "whether the event fits what it asked for is not known" : fit);
  }
  if (!one.now_in.empty()) {
    return fmt::format("the instance does not wait for this type now; it is {}in `{}`{}{}",
                       one.is_paused ? "paused " : "", one.now_in, fit.empty() ? "" : "; ", fit);
  }
  if (!one.window_from) {
    return "with `lookback` in the definition, instances that come to the state later also take "
           "earlier events; " +
           replay_says(one, event);
  }
  const std::string begin = format_rfc3339(*one.window_from);
  if (is_early(one, event)) {
    return fmt::format(
        "the state has looked back to {} (`lookback`) before it waited, and has not taken this "
        "event",
        begin);
  }
  return fmt::format("the state looks back to {} only (`lookback`); {}", begin,
                     replay_says(one, event));
}

std::string before_says(const JudgedListener& one, const EventStanding& event) {
  const std::optional<Duration> by = early_by(one, event);
  const std::string came =
      fmt::format("the event came {}before", by ? length_in_words(*by) + " " : "");
  if (one.is_start) {
    return fmt::format("{} the definition with this start was applied; {}", came,
                       replay_says(one, event));
  }
  std::string_view started;
  if (by && one.started) {
    started = started_after(one, event) ? ", and before the instance started"
                                        : ", and after the instance started";
  }
  std::string places;
  if (one.listens_from && event.position && one.listens_from->stream == event.position->stream) {
    places = fmt::format(" (the wait takes events after #{}, and this one is #{})",
                         one.listens_from->sequence, event.position->sequence);
  }
  return fmt::format("{} the wait began{}{}; {}", came, started, places, early_says(one, event));
}

std::string unread_says(const EventStanding& event) {
  if (event.position && *event.position <= event.applied) {
    return "the event matches, and the turn of this listener has not come yet; ask again";
  }
  std::string behind;
  if (event.position && event.position->stream == event.applied.stream) {
    const uint64_t others = event.position->sequence - event.applied.sequence - 1;
    behind =
        fmt::format("; at most {} {} before it", others, others == 1 ? "event is" : "events are");
  }
  const std::string why = event.held_up.empty() ? "" : "; reading is held up: " + event.held_up;
  return fmt::format("the event is in the stream and not applied yet{}{}", behind, why);
}

/// `orderid` "o-1", `shop` "s"
std::string values_in_words(const CorrelationValues& values) {
  std::string words;
  for (const auto& [name, value] : values) {
    words += fmt::format("{}`{}` \"{}\"", words.empty() ? "" : ", ", name, excerpt(value));
  }
  return words;
}

/// How many groups with an event of a missing type are not named; empty: none.
std::string more_groups_say(const JudgedListener& one) {
  if (one.more_groups == 0) {
    return one.knows_all_groups ? "" : "; there are groups that were not looked at";
  }
  return fmt::format("; {}{} more {} an event of a missing type",
                     one.knows_all_groups ? "" : "at least ", one.more_groups,
                     one.more_groups == 1 ? "group has" : "groups have");
}

/// Whether the event of the group is one of the present stream, so that its sequence names it.
bool is_known_stream(const NearGroup& other, const EventStanding& event) {
  return other.event.sequence > 0 && other.event.stream == event.applied.stream;
}

/// Which event would have completed the group and has left it; empty: none is known.
std::string left_partner_says(const JudgedListener& one) {
  if (!one.left_partner) return "";
  return fmt::format(
      "; its partner #{}, of the type `{}`, has left the group: its lifespan ended about {}",
      one.left_partner->sequence, excerpt(one.left_partner->type),
      format_rfc3339(one.left_partner->left));
}

std::string grouped_says(const JudgedListener& one, const EventStanding& event) {
  if (!one.note.empty()) return one.note;
  const bool is_test = !event.position;
  std::string text = fmt::format("the event {} in a group{}{}", is_test ? "would wait" : "waits",
                                 one.waits_for.empty() ? "" : " for ", in_list(one.waits_for));
  if (one.correlation.empty()) return text + left_partner_says(one);
  text += " with " + values_in_words(one.correlation);
  text += left_partner_says(one);
  for (const NearGroup& other : one.near_groups) {
    text += fmt::format("; another group, with {}, has {}", values_in_words(other.values),
                        in_list(other.has));
    std::string more =
        is_known_stream(other, event) ? fmt::format("#{}", other.event.sequence) : "";
    if (other.hint) {
      more += (more.empty() ? "" : "; ") + sentence_of({*other.hint, ""}, "");
    }
    if (!more.empty()) text += fmt::format(" ({})", more);
  }
  return text + more_groups_say(one) +
         fmt::format("; `millrace -n {} group list` lists the groups", event.ns);
}

/// The values, cut after kMostOfACorrelation bytes each.
Json json_of(const CorrelationValues& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values) json[name] = shorten(value, kMostOfACorrelation);
  return json;
}

}  // namespace

std::optional<Duration> early_by(const JudgedListener& one, const EventStanding& event) {
  if (one.verdict != Verdict::kBefore || !one.note.empty()) return std::nullopt;
  if (!one.since || !event.position || *one.since <= event.stamped) return std::nullopt;
  return *one.since - event.stamped;
}

std::string fit_says(const JudgedListener& one) {
  if (!one.would_fit) return "";
  if (*one.would_fit) return fmt::format("the event fits what the state `{}` asked for", one.state);
  const size_t failing = one.result.failing();
  return fmt::format("the event does not fit what the state `{}` asked for: {}{}", one.state,
                     excluded_by(one.result),
                     failing == 1 ? "" : fmt::format(" (and {} more)", failing - 1));
}

bool is_early(const JudgedListener& one, const EventStanding& event) {
  return one.window_from && one.listens_from && event.position &&
         event.position->stream == one.listens_from->stream &&
         *event.position <= *one.listens_from && event.stamped >= *one.window_from;
}

std::string says(const JudgedListener& one, const EventStanding& event) {
  const bool is_test = !event.position;
  switch (one.verdict) {
    case Verdict::kWoke:
      return is_test ? "the event would wake the instance" : "the event woke the instance";
    case Verdict::kStarted:
      if (!one.note.empty()) return one.note;
      return is_test ? "the event would start an instance" : "the event started the instance";
    case Verdict::kFilled:
      return fmt::format("the event {} one entry of the state, which then waits for {}",
                         is_test ? "would fill" : "filled", in_list(one.waits_for));
    case Verdict::kGrouped:
      return grouped_says(one, event);
    case Verdict::kPredicate:
      return one.note.empty() ? predicates_say(one.result) : one.note;
    case Verdict::kBefore:
      return one.note.empty() ? before_says(one, event) : one.note;
    case Verdict::kAfter:
      return one.note;
    case Verdict::kUnread:
      return one.note.empty() ? unread_says(event) : one.note;
    case Verdict::kDuplicate:
      return fmt::format(
          "{}an event with this source and id had an effect before; give the event "
          "another id",
          is_test ? "the event would be dropped as a duplicate: " : "");
    case Verdict::kPaused:
      if (!one.note.empty()) return one.note;
      return fmt::format(
          "the instance {} the event, and continues when it is resumed: `millrace -n {} instance "
          "resume {}`",
          is_test ? "would take" : "took", event.ns, id_of_judged(one));
    case Verdict::kSkipped:
      if (!one.note.empty()) return one.note;
      return fmt::format("the workflow is singular and has a live instance{}, so the start {}",
                         one.instance ? ", " + to_string(*one.instance) : "",
                         is_test ? "would be skipped" : "was skipped");
    case Verdict::kRateLimit:
      return one.note;
    case Verdict::kDebounced:
      if (!one.note.empty()) return one.note;
      return fmt::format(
          "the workflow has `debounce`, which {} the start; if a newer request for its key came, "
          "that one has replaced this one",
          is_test ? "would put off" : "has put off");
    case Verdict::kBatched:
      if (!one.note.empty()) return one.note;
      return fmt::format(
          "the workflow has `batch`: the event {} in the input of an instance that starts when the "
          "batch is full, or its timeout has passed",
          is_test ? "would be" : "is");
    case Verdict::kCorrelation:
      return fmt::format(
          "the event lacks an attribute by which the events of a group are found: {}",
          in_list(one.lacks));
    case Verdict::kLifespan:
      return one.note + left_partner_says(one);
    case Verdict::kLimit:
      if (!one.note.empty()) return one.note;
      return "a pattern reached its limit of steps for the value, which counts as no match; make "
             "the pattern simpler";
    case Verdict::kDead:
      if (!one.note.empty()) return one.note;
      return fmt::format(
          "the event became a dead letter; `millrace -n {} dlq list` shows the reason", event.ns);
  }
  return "";
}

Json to_json(const PredicateResult& one, const Disclosure& disclosure, bool is_test) {
  const bool is_equality = one.predicate.kind == Predicate::Kind::kEquals;
  Json asks = disclosure.over(one.predicate.text);
  const bool is_shown = !disclosure.hides() && asks == Json(one.predicate.text);
  // Together with `holds`, the value of a stored event would show what a mask hides. That of an
  // event that is tried is the caller's own: a mask would show how far it is right.
  Json got = one.got ? Json(*one.got) : Json();
  if (one.got && !is_test && !disclosure.hides()) got = disclosure.over(std::move(got));
  Json json{{"attribute", one.predicate.attribute},
            {"kind", is_equality ? "equals" : "pattern"},
            {"asks", std::move(asks)},
            {"got", std::move(got)},
            {"holds", one.holds}};
  if (one.hint && is_shown) {
    const Json fits = one.fits ? disclosure.over(*one.fits) : Json();
    const std::string shown = fits.is_string() ? fits.get<std::string>() : "";
    json["hint"] = to_string(one.hint->kind);
    json["says"] = sentence_of(*one.hint, one.predicate.attribute, shown);
    if (one.fits && shown == *one.fits) json["fits"] = shown;
  }
  return json;
}

Json verdict_json(const JudgedListener& one, const EventStanding& event,
                  const Disclosure& disclosure) {
  Json predicates = Json::array();
  for (const PredicateResult& predicate : one.result.predicates) {
    predicates.push_back(to_json(predicate, disclosure, !event.position));
  }
  Json json{{"verdict", to_string(one.verdict)},
            {"says", says(one, event)},
            {"predicates", std::move(predicates)}};
  if (one.window_from) json["lookbackFrom"] = format_rfc3339(*one.window_from);
  if (!one.waits_for.empty()) json["waitsFor"] = one.waits_for;
  if (!one.correlation.empty()) json["correlate"] = json_of(one.correlation);
  if (const auto by = early_by(one, event)) {
    json["early"] = {{"seconds", static_cast<double>(by->count()) / 1'000}};
    if (one.started) json["early"]["startedAfterEvent"] = started_after(one, event);
  }
  if (one.would_fit) json["wouldFit"] = *one.would_fit;
  if (one.has_ended) json["ended"] = true;
  if (!one.now_in.empty()) json["stateNow"] = one.now_in;
  for (const NearGroup& other : one.near_groups) {
    Json group{{"correlate", json_of(other.values)}, {"has", other.has}};
    if (other.hint) group["hint"] = to_string(*other.hint);
    if (is_known_stream(other, event)) group["sequence"] = other.event.sequence;
    json["nearGroups"].push_back(std::move(group));
    Json correction = correction_of_move(one, other, event);
    if (!correction.is_null()) json["corrections"].push_back(std::move(correction));
  }
  if (one.more_groups > 0 || !one.knows_all_groups) {
    json["moreGroups"] = {{"count", one.more_groups}, {"complete", one.knows_all_groups}};
  }
  if (one.left_partner) {
    json["leftPartner"] = {{"sequence", one.left_partner->sequence},
                           {"type", one.left_partner->type},
                           {"time", format_rfc3339(one.left_partner->left)}};
  }
  return json;
}

Json to_json(const JudgedListener& one, const EventStanding& event, const Disclosure& disclosure) {
  Json json = verdict_json(one, event, disclosure);
  json["kind"] = one.is_start ? "start" : "instance";
  json["workflow"] = one.workflow;
  if (one.instance) json["instance"] = to_string(*one.instance);
  if (!one.state.empty()) json["state"] = one.state;
  if (one.since) json["since"] = format_rfc3339(*one.since);
  if (one.start) json["start"] = to_json(*one.start, disclosure);
  return json;
}

}  // namespace millrace
