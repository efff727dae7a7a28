#include "orchestrator/runtime/recent.h"

#include <algorithm>

#include "cloudevents/json_format.h"
#include "matchers/naive_matcher.h"

namespace millrace {
namespace {

Fingerprint type_of(std::string_view type) { return fingerprint({type}); }

/// The listeners of one instance, as a matcher of their own: few, and for this once.
Status listen(NaiveMatcher& matcher, const std::vector<Listener>& listeners) {
  for (const Listener& listener : listeners) {
    TRY(matcher.add("", listener.filter, listener.entry));
  }
  return {};
}

}  // namespace

Status Recent::load(const View& view) {
  on_their_way_.clear();
  spaces_.clear();
  froms_.clear();
  kept_.clear();
  known_.clear();
  last_ = TRY(read_counter(view, Counter::kRecent));
  TRY(each_recent(view, [&](const RecentPlace& place, const RecentRecord& record) {
    kept_.push_back({place, record.known_as});
    known_.insert(record.known_as);
  }));
  std::sort(kept_.begin(), kept_.end(),
            [](const Kept& a, const Kept& b) { return a.place.number < b.place.number; });
  return {};
}

void Recent::update(const Instance& instance) {
  if (const auto found = on_their_way_.find(instance.id); found != on_their_way_.end()) {
    const auto& [space, from] = found->second;
    froms_.erase(froms_.find(from));
    if (--spaces_[space] == 0) spaces_.erase(space);
    on_their_way_.erase(found);
  }
  if (has_ended(instance.status) || instance.phase == Phase::kWaiting) return;
  on_their_way_.emplace(instance.id, std::pair(instance.space, instance.listen_from));
  froms_.insert(instance.listen_from);
  ++spaces_[instance.space];
}

void Recent::keep(Transaction& tx, NamespaceNumber space, const Event& event,
                  const Fingerprint& known_as) {
  const RecentPlace place{.space = space, .type = type_of(event.type), .number = ++last_};
  write_counter(tx, Counter::kRecent, last_);
  write_recent(tx, place, {.known_as = known_as, .event = encode_json_event(event)});
  kept_.push_back({place, known_as});
  known_.insert(known_as);
}

Result<std::optional<RecentMatch>> Recent::find(const View& view, const Instance& instance) const {
  std::optional<RecentMatch> first;
  if (kept_.empty() || kept_.back().place.number <= instance.listen_from) return first;
  NaiveMatcher matcher;
  TRY(listen(matcher, instance.listeners));
  std::set<Fingerprint> types;
  for (const Listener& listener : instance.listeners) types.insert(type_of(listener.filter.type));

  std::vector<uint64_t> matched;
  for (const Fingerprint& type : types) {
    const RecentPlace from{
        .space = instance.space, .type = type, .number = instance.listen_from + 1};
    Status status;
    TRY(each_recent_of_type(view, from, [&](uint64_t number, const RecentRecord& record) {
      if (first && first->number < number) return false;
      auto event = decode_json_event(record.event);
      if (!event) {
        status = fail("store.corrupt", "a kept event does not decode");
        return false;
      }
      matcher.match("", *event, matched);
      if (matched.empty()) return true;
      first = RecentMatch{number, std::move(*event), {matched.begin(), matched.end()}};
      return false;
    }));
    TRY(std::move(status));
  }
  return first;
}

void Recent::trim(Transaction& tx) {
  while (!kept_.empty() && (froms_.empty() || kept_.front().place.number <= *froms_.begin())) {
    erase_recent(tx, kept_.front().place);
    known_.erase(kept_.front().known_as);
    kept_.pop_front();
  }
}

}  // namespace millrace
