#include "orchestrator/service/letter_of_event.h"

#include <string>
#include <utility>

#include "cloudevents/headers.h"
#include "orchestrator/service/letter_json.h"
#include "orchestrator/service/walk_back.h"

namespace millrace {
namespace {

constexpr Duration kLetterSearchTime{500};

}  // namespace

Result<Json> letter_of_event(StoredLetters& letters, const Clock& clock, const StoredEvent& event) {
  const StreamSpan span = TRY(letters.span());
  const Duration end = clock.elapsed() + kLetterSearchTime;
  const BackwardRange range{
      .first = span.first, .last = span.last, .is_late = [&] { return clock.elapsed() >= end; }};
  const std::string sequence = std::to_string(event.sequence);
  Json found;
  TRY(walk_back(
      range,
      [&](uint64_t first, uint64_t last) {
        return letters.read({.ns = event.ns, .first = first, .last = last});
      },
      [&](StoredEvent& letter) {
        if (letter.stamped < event.stamped) return false;
        const std::string* const of = find_header(letter.message.headers, "Millrace-Sequence");
        if (of == nullptr || *of != sequence) return true;
        const Json item = letter_item(letter);
        found = {{"id", item["id"]}, {"reason", item["reason"]}, {"detail", item["detail"]}};
        return false;
      }));
  return found;
}

}  // namespace millrace
