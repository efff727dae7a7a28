#include "orchestrator/service/broker_topics.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "matchers/glob.h"
#include "orchestrator/service/event_effects.h"

namespace millrace {
namespace {

/// The newest items that one message may have, the oldest of them first.
class ItemsOfMessage {
 public:
  /// Adds an item that is older than those before. Returns false, and adds nothing, if the message
  /// is full.
  bool add_older(Json item) {
    if (items_.size() == kMostLiveItems || bytes_ > BrokerTopics::kMostItemBytes) return false;
    bytes_ += dump_json(item).size();
    items_.push_back(std::move(item));
    return true;
  }
  Json take() {
    std::reverse(items_.begin(), items_.end());
    return std::move(items_);
  }

 private:
  Json items_ = Json::array();
  size_t bytes_ = 0;
};

std::shared_ptr<const std::string> message_text(const std::string& event, const std::string& id,
                                                const Json& data) {
  return std::make_shared<const std::string>(live_message(event, id, dump_json(data)));
}

bool fits_type(const std::string& glob, const LiveEvent& event) {
  return glob.empty() || glob_matches(glob, event.type);
}

/// {"items","more"}: the events behind `after` that a stream with this glob gets.
Result<Json> events_data(const LiveEvents& read, uint64_t after, const std::string& glob,
                         EventEffects& effects) {
  ItemsOfMessage items;
  uint64_t more = read.unread;
  bool is_full = false;
  for (auto event = read.events.rbegin(); event != read.events.rend(); ++event) {
    if (event->sequence <= after) break;
    if (!fits_type(glob, *event)) continue;
    if (!is_full) {
      Json item = event->item;
      TRY(effects.add_to(item, event->sequence, TRY(effects.of(event->sequence))));
      is_full = !items.add_older(std::move(item));
    }
    if (is_full) ++more;
  }
  return Json{{"items", items.take()}, {"more", more}};
}

}  // namespace

void BrokerTopics::ask(std::vector<LiveStream>& streams, const std::optional<Cursor>& applied,
                       bool letters) {
  for (auto& [ns, space] : spaces_) space.is_watched = false;
  for (const LiveStream& stream : streams) {
    const bool is_watched = stream.request.events || stream.request.dead;
    if (is_watched && stream.is_found) spaces_[stream.ns].is_watched = true;
  }
  std::erase_if(spaces_, [](const auto& one) {
    const Space& space = one.second;
    return !space.is_watched && !space.asks_events && !space.asks_letters;
  });
  if (applied) ask_events(streams, *applied);
  if (letters) ask_letters(streams);
}

void BrokerTopics::ask_events(std::vector<LiveStream>& streams, const Cursor& now) {
  std::map<NamespaceNumber, LiveEventsQuestion> questions;
  for (LiveStream& stream : streams) {
    if (!stream.request.events || !stream.is_found) continue;
    if (!stream.events) stream.events = now;
    Cursor& events = *stream.events;
    if (events.stream_created != now.stream_created) {
      events = {.stream_created = now.stream_created, .sequence = 0, .stamped = {}};
    }
    // An older copy of the event stream has come back: what it gets from now on is shown.
    if (events.sequence > now.sequence) events = now;
    if (events.sequence == now.sequence || spaces_.at(stream.ns).asks_events) continue;
    const uint64_t first = events.sequence + 1;
    LiveEventsQuestion& question = questions[stream.ns];
    question.first = question.ns.empty() ? first : std::min(question.first, first);
    question.ns = stream.request.ns;
    question.identity = {.number = stream.ns, .created_at = stream.created_at};
    question.last = now;
  }
  for (auto& [ns, question] : questions) {
    spaces_.at(ns).asks_events = true;
    reads_.ask(std::move(question));
  }
}

void BrokerTopics::ask_letters(const std::vector<LiveStream>& streams) {
  for (const LiveStream& stream : streams) {
    if (!stream.request.dead || !stream.is_found) continue;
    Space& space = spaces_.at(stream.ns);
    if (std::exchange(space.asks_letters, true)) continue;
    reads_.ask(
        LiveLettersQuestion{.ns = stream.request.ns,
                            .identity = {.number = stream.ns, .created_at = stream.created_at},
                            .before = space.letters});
  }
}

bool BrokerTopics::take() {
  for (LiveAnswer& answer : reads_.take()) answers_.push_back(std::move(answer));
  return !answers_.empty();
}

void BrokerTopics::send(const View& view, std::vector<LiveStream>& streams,
                        const std::function<std::string(const LiveStream&)>& id) {
  for (LiveAnswer& answer : std::exchange(answers_, {})) {
    if (auto* const events = std::get_if<LiveEventsAnswer>(&answer)) {
      send_events(view, *events, streams, id);
    } else {
      send_letters(std::get<LiveLettersAnswer>(answer), streams, id);
    }
  }
}

/// After a failed read, the next question asks for the same events and for those since.
void BrokerTopics::send_events(const View& view, LiveEventsAnswer& answer,
                               std::vector<LiveStream>& streams,
                               const std::function<std::string(const LiveStream&)>& id) {
  const LiveEventsQuestion& asked = answer.asked;
  spaces_.at(asked.identity.number).asks_events = false;
  if (!answer.read) return;
  Result<EventEffects> effects =
      EventEffects::make(view, asked.identity.number, asked.last.stream_created, asked.last);
  if (!effects) return;
  std::map<std::string, std::shared_ptr<const std::string>> made;
  for (LiveStream& stream : streams) {
    const bool fits = stream.request.events && stream.is_found && stream.events &&
                      stream.ns == asked.identity.number &&
                      stream.events->stream_created == asked.last.stream_created &&
                      stream.events->sequence + 1 >= asked.first &&
                      stream.events->sequence < asked.last.sequence;
    if (!fits) continue;
    const uint64_t after = std::exchange(*stream.events, asked.last).sequence;
    auto& text = made[fmt::format("{}/{}", after, stream.request.type)];
    if (!text) {
      const Result<Json> data = events_data(*answer.read, after, stream.request.type, *effects);
      // What cannot be read is only counted.
      const Json shown =
          data ? *data : Json{{"items", Json::array()}, {"more", asked.last.sequence - after}};
      const bool is_empty = shown["items"].empty() && shown["more"] == 0;
      text = is_empty ? std::make_shared<const std::string>()
                      : message_text("events", id(stream), shown);
    }
    if (!text->empty()) stream.sink->send(text);
  }
}

void BrokerTopics::send_letters(LiveLettersAnswer& answer, std::vector<LiveStream>& streams,
                                const std::function<std::string(const LiveStream&)>& id) {
  Space& space = spaces_.at(answer.asked.identity.number);
  space.asks_letters = false;
  if (!answer.read) return;
  const LettersState now = answer.read->now;
  uint64_t more = answer.read->unread;
  ItemsOfMessage items;
  for (Json& letter : answer.read->letters) {
    if (!items.add_older(std::move(letter))) ++more;
  }
  Json data = {{"count", now.count},
               {"last", now.newest == 0 ? Json() : Json(std::to_string(now.newest))},
               {"items", items.take()},
               {"more", more}};
  const bool has_changed = !data["items"].empty() || more > 0 || !space.letters ||
                           space.letters->count != now.count || space.letters->newest != now.newest;
  space.letters = now;
  for (LiveStream& stream : streams) {
    const bool fits =
        stream.request.dead && stream.is_found && stream.ns == answer.asked.identity.number;
    if (!fits) continue;
    const bool is_first = !std::exchange(stream.has_letters, true);
    if (!is_first && !has_changed) continue;
    // What came before the stream is in the number only.
    Json shown = data;
    if (is_first) {
      shown["items"] = Json::array();
      shown["more"] = 0;
    }
    stream.sink->send(message_text("dead", id(stream), shown));
  }
}

}  // namespace millrace
