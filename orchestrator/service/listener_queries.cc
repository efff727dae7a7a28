// Queries about listeners: of starts and of instances that wait for events.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/ids.h"
#include "base/whole_number.h"
#include "matchers/pattern.h"
#include "orchestrator/service/cursor.h"
#include "orchestrator/service/instance_walk.h"
#include "orchestrator/service/page.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/service/shapes.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"

namespace millrace {

namespace {

/// The beginning of the cursor of a page that has starts only; the id of the last workflow follows.
/// The other cursors begin with the id of the last instance.
constexpr std::string_view kOfStarts = "starts/";

/// What a cursor names, and how many of its listeners the pages before have; 0: all of them.
struct ListenerCursor {
  std::string owner;
  size_t listeners = 0;
};

/// `text`: OWNER, or OWNER/N if not all listeners of the owner were shown. Error
/// `cursor.malformed`.
Result<ListenerCursor> parse_listener_cursor(std::string_view text) {
  const size_t slash = text.find('/');
  ListenerCursor cursor{.owner = std::string(text.substr(0, slash))};
  if (slash == std::string_view::npos) return cursor;
  const std::optional<uint64_t> listeners = whole_number(text.substr(slash + 1));
  if (listeners.value_or(0) == 0) return malformed_cursor();
  cursor.listeners = *listeners;
  return cursor;
}

/// The cursor behind the first `shown` of `all` listeners of an owner.
std::string listener_cursor(std::string_view owner, size_t shown, size_t all) {
  return shown == all ? std::string(owner) : fmt::format("{}/{}", owner, shown);
}

/// Whether the condition holds for a value of its attribute.
bool predicate_holds(const Predicate& predicate, const std::string& value) {
  if (predicate.kind == Predicate::Kind::kEquals) return predicate.text == value;
  const auto pattern = Pattern::compile(predicate.text);
  return pattern && (*pattern)->matches(value);
}

/// Whether the list shows a listener with that event filter.
bool shows_listener(const ListenerFilter& filter, const EventFilter& event,
                    const Disclosure& disclosure) {
  if (!filter.type.empty() && event.type != filter.type) return false;
  if (filter.attribute.empty() && !filter.value) return true;
  return std::any_of(
      event.predicates.begin(), event.predicates.end(), [&](const Predicate& predicate) {
        if (filter.attribute.empty()) {
          return predicate.kind == Predicate::Kind::kEquals && predicate.text == *filter.value &&
                 disclosure.shows(predicate.text);
        }
        if (predicate.attribute != filter.attribute) return false;
        if (!filter.value) return true;
        return disclosure.shows(predicate.text) && predicate_holds(predicate, *filter.value);
      });
}

}  // namespace

Result<Queries::SomeWorkflows> Queries::asked_workflows(const View& view, std::string_view ns,
                                                        const ListenerFilter& filter,
                                                        const StartPlace& place) {
  SomeWorkflows asked;
  if (!filter.workflow.empty()) {
    const WorkflowRecord record = TRY(find_workflow(view, ns, filter.workflow));
    const bool is_behind = place.workflow < filter.workflow ||
                           (place.workflow == filter.workflow && place.entries > 0);
    if (is_behind) asked.emplace_back(filter.workflow, record);
    return asked;
  }
  if (place.entries > 0) {
    const auto earlier = TRY(read_workflow(view, TRY(find_namespace(view, ns)), place.workflow));
    if (earlier) asked.emplace_back(place.workflow, *earlier);
  }
  // TRY is not used: with it, g++ 12 warns about freeing the list of a failed result.
  Result<SomeWorkflows> others = some_workflows(view, ns, {.cursor = place.workflow});
  if (!others) return others;
  for (auto& other : *others) asked.push_back(std::move(other));
  return asked;
}

/// Adds the listeners of starts from that place on. Returns false if the page is full, or if others
/// follow and many definitions were read for it.
Result<bool> Queries::add_starts(const View& view, std::string_view ns,
                                 const ListenerFilter& filter, const StartPlace& place,
                                 Page& page) {
  const Result<SomeWorkflows> known = asked_workflows(view, ns, filter, place);
  if (!known) return tl::unexpected(known.error());
  size_t bytes = 0;
  for (size_t i = 0; i < known->size(); ++i) {
    const auto& [id, record] = (*known)[i];
    if (i > 0 && (i >= PageRequest().limit || bytes >= Page::kMostBytes)) {
      page.continue_at(std::string(kOfStarts) + (*known)[i - 1].first);
      return false;
    }
    const Revision revision{record.number, record.latest};
    bytes += TRY(definition_bytes(view, revision));
    const auto workflow = TRY(definitions_.find_or_load(view, revision));
    const auto& events = workflow->start.events;
    for (size_t entry = id == place.workflow ? place.entries : 0; entry < events.size(); ++entry) {
      if (!shows_listener(filter, events[entry].filter, false)) continue;
      if (!page.has_room()) return false;
      Json json = to_json(events[entry].filter);
      json["kind"] = "start";
      json["workflow"] = id;
      page.add(std::move(json),
               std::string(kOfStarts) + listener_cursor(id, entry + 1, events.size()));
    }
  }
  return true;
}

Result<Json> Queries::listeners(const View& view, std::string_view ns, const ListenerFilter& filter,
                                const std::vector<InstanceId>* asking) {
  const NamespaceNumber number = TRY(find_namespace(view, ns));
  const std::string_view cursor = filter.cursor;
  Disclosures disclosures = TRY(Disclosures::read(view, ns, number));
  Page page(filter.limit);
  WalkEnd end;
  const auto answered = [&] {
    if (end.cut) page.continue_at(to_string(*end.cut));
    Json answer = std::move(page).json();
    answer["complete"] = true;
    answer["looked"] = end.looked;
    return answer;
  };
  const bool is_of_starts = cursor.empty() || cursor.starts_with(kOfStarts);
  const ListenerCursor begin = TRY(
      parse_listener_cursor(cursor.substr(cursor.starts_with(kOfStarts) ? kOfStarts.size() : 0)));
  if (is_of_starts && filter.kind != ListenerFilter::Kind::kInstance) {
    if (!cursor.empty() && !is_identifier(begin.owner)) return malformed_cursor();
    const StartPlace place{.workflow = begin.owner, .entries = begin.listeners};
    if (!TRY(add_starts(view, ns, filter, place, page))) return answered();
  }
  if (filter.kind == ListenerFilter::Kind::kStart) return answered();
  // An instance that has ended listens no longer.
  using enum InstanceStatus;
  InstanceSelection selection{.ns = number, .statuses = {kPending, kRunning, kWaiting, kPaused}};
  if (!filter.workflow.empty()) {
    selection.workflow = TRY(find_workflow(view, ns, filter.workflow)).number;
  }
  std::optional<InstanceId> earlier;  // the pages before have some of its listeners
  if (!is_of_starts) {
    Result<InstanceId> last = parse_instance_id(begin.owner);
    if (!last) return fail_in("cursor", std::move(last).error());
    if (begin.listeners > 0) earlier = selection.ids.last = *last;
    if (!earlier) selection.ids.end_before(*last);
  }
  Status status;
  const auto see = [&](const Instance& one) {
    const Disclosure disclosure = disclosures.of(one.sealed);
    const auto is_listed = [&](const Listener& listener) {
      return shows_listener(filter, listener.filter, disclosure);
    };
    const size_t all = one.listeners.size();
    const size_t first = one.id == earlier ? std::min(begin.listeners, all) : 0;
    const auto rest = one.listeners.begin() + static_cast<std::ptrdiff_t>(first);
    if (std::none_of(rest, one.listeners.end(), is_listed)) return true;
    if (!page.has_room()) return false;
    Result<Json> described = head(view, one, disclosures);
    if (!described && is_damaged_row(described.error())) return true;
    if (!described) {
      status = tl::unexpected(described.error());
      return false;
    }
    for (size_t i = first; i < all; ++i) {
      const Listener& listener = one.listeners[i];
      if (!is_listed(listener)) continue;
      if (!page.has_room()) return false;
      Json json = to_json(listener.filter, disclosure);
      json["kind"] = "instance";
      json["workflow"] = (*described)["workflow"];
      json["instance"] = (*described)["id"];
      json["state"] = (*described)["state"];
      if (described->contains("deadline")) json["deadline"] = (*described)["deadline"];
      page.add(std::move(json), listener_cursor(to_string(one.id), i + 1, all));
    }
    return true;
  };
  const auto see_damaged = [](const InstanceId&, const Error&) { return true; };
  end = TRY(asking == nullptr
                ? each_selected(view, selection, see, see_damaged, bounds_from_now())
                : each_of(view, selection, *asking, see, see_damaged, bounds_from_now()));
  TRY(std::move(status));
  return answered();
}

}  // namespace millrace
