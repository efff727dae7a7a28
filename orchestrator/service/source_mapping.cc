#include "orchestrator/service/source_mapping.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cloudevents/nats_binding.h"
#include "orchestrator/mapping/carried_event.h"
#include "orchestrator/mapping/mapped_event.h"
#include "orchestrator/mapping/mapping_input.h"

namespace millrace {
namespace {

/// The event of a message that is one, or nullopt if the source has a mapping for the message.
std::optional<Result<Event>> event_without_mapping(const SourceMapping& how,
                                                   const NatsMessage& message) {
  if (auto carried = carried_event(message.headers, message.data)) return carried;
  if (how.mapping) return std::nullopt;
  Result<Event> event = decode_nats(message);
  if (event) return event;
  return fail("source.no_mapping",
              fmt::format("the message is no CloudEvent ({}), and the source has no mapping; set "
                          "`mapping` in its settings",
                          event.error().message));
}

}  // namespace

std::shared_ptr<const EventMapping> shared_mapping(const SourceSettings& settings) {
  return settings.mapping ? std::make_shared<const EventMapping>(*settings.mapping) : nullptr;
}

std::string source_attribute(std::string_view ns, std::string_view name) {
  return fmt::format("/v1/ns/{}/sources/{}", ns, name);
}

std::string message_id_of(std::string_view stream, uint64_t sequence, TimePoint stamped) {
  return fmt::format("{}-{}-{}", stream, sequence, to_millis(stamped));
}

MadeEvent make_event(const SourceMapping& how, const OriginMessage& message, TimePoint now,
                     const Evaluator& evaluate) {
  if (auto known = event_without_mapping(how, message.message)) return *std::move(known);
  MappingRun run(how.mapping,
                 message_input(message.message, how.stream, message.sequence, message.stamped,
                               how.mapping->reads),
                 {.source = how.source,
                  .id = message_id_of(how.stream, message.sequence, message.stamped),
                  .time = format_rfc3339(message.stamped)});
  if (run.queries().empty()) return std::move(run).finish({});
  if (!evaluate) {
    return Result<Event>(
        fail(std::string(kNoJqWorker), "the mapping needs a jq worker, and this process has none"));
  }
  const auto made = std::make_shared<std::promise<Result<Event>>>();
  std::future<Result<Event>> event = made->get_future();
  map_event(std::move(run), {.now = now, .lane = how.lane, .space = how.space}, evaluate,
            [made](Result<Event> result) { made->set_value(std::move(result)); });
  return event;
}

}  // namespace millrace
