#include "orchestrator/service/event_replay.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "cloudevents/event_check.h"
#include "cloudevents/json_format.h"
#include "cloudevents/limits.h"
#include "language/findings.h"
#include "model/event_target.h"
#include "orchestrator/batch/commands/not_found.h"
#include "orchestrator/memory/dedupe.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/head_rows.h"

namespace millrace {
namespace {

/// Why the instance can take no event; nullopt: it can.
Result<std::optional<Error>> lost_instance(const View& view, NamespaceNumber ns,
                                           const InstanceId& instance) {
  const auto head = TRY(read_head_anywhere(view, ns, instance));
  if (!head) {
    return std::optional<Error>(
        Error{"instance.not_found", fmt::format("there is no instance {}", to_string(instance))});
  }
  if (!has_ended(head->status)) return std::optional<Error>();
  return std::optional<Error>(
      Error{"instance.ended",
            fmt::format("instance {} has ended, so it can take no event; `rerun` or `restart` "
                        "starts it again",
                        to_string(instance))});
}

}  // namespace

Result<Event> corrected(const Event& original,
                        const std::map<std::string, AttributeValue>& attributes) {
  Event event = original;
  for (const auto& [name, value] : attributes) {
    if (name == kTargetAttribute || name == kReplayAttribute || !is_attribute_name(name)) {
      return fail("event.attribute_name",
                  fmt::format("attribute {} cannot be corrected; expected the name of an extension "
                              "attribute, in lower-case letters and digits, which is neither `{}` "
                              "nor `{}`",
                              in_quotes(name), kTargetAttribute, kReplayAttribute));
    }
    if (!is_core_attribute(name)) {
      event.extensions[name] = value;
      continue;
    }
    const auto* const text = std::get_if<std::string>(&value);
    if (text == nullptr) {
      return fail("event.attribute_value",
                  fmt::format("attribute {}: expected a text", in_quotes(name)));
    }
    if (name == "type") {
      event.type = *text;
    } else if (name == "source") {
      event.source = *text;
    } else if (name == "subject") {
      event.subject = *text;
    } else {
      return fail("event.attribute_name",
                  fmt::format("attribute {} cannot be corrected; a replay corrects `type`, "
                              "`source`, `subject` and extension attributes; publish another event "
                              "in its place",
                              in_quotes(name)));
    }
  }
  TRY(check_event(event));
  return event;
}

Result<Event> replay_of(const Event& original, const std::string& id, const std::string& target) {
  Event event = original;
  event.extensions.erase(std::string(kTargetAttribute));
  if (!target.empty()) event.extensions[std::string(kTargetAttribute)] = target;
  if (!id.empty()) {
    event.extensions[std::string(kReplayAttribute)] = original.id;
    event.id = id;
  }
  if (const size_t size = encode_json_event(event).size(); size > kMaxEventBytes) {
    return fail("event.too_large",
                fmt::format("with the attributes of a replay the event has {} bytes, more than {}; "
                            "publish a smaller event in its place",
                            size, kMaxEventBytes));
  }
  return event;
}

Result<std::string> target_text(const View& view, NamespaceNumber ns, std::string_view name,
                                const ReplayTarget& target) {
  if (!target.workflow.empty() && target.instance) {
    return fail("event.target", "name either a workflow or an instance that may take the event");
  }
  if (!target.workflow.empty()) {
    const auto record = TRY(read_workflow(view, ns, target.workflow));
    if (record) return workflow_target(record->number);
    return tl::unexpected(no_workflow(name, excerpt(target.workflow)));
  }
  if (!target.instance) return std::string();
  if (auto lost = TRY(lost_instance(view, ns, *target.instance))) {
    if (lost->code == "instance.not_found") {
      return tl::unexpected(no_instance(name, *target.instance));
    }
    return tl::unexpected(*std::move(lost));
  }
  return instance_target(*target.instance);
}

Result<Json> shown_target(const View& view, NamespaceNumber ns, std::string_view target) {
  if (const auto instance = target_instance(target))
    return Json{{"instance", to_string(*instance)}};
  std::string name(target.substr(target.rfind('/') + 1));
  TRY(each_workflow(view, ns, [&](std::string_view id, const WorkflowRecord& record) {
    if (is_target(target, record.number)) name = id;
  }));
  return Json{{"workflow", std::move(name)}};
}

Result<std::optional<Error>> lost_target(const View& view, NamespaceNumber ns,
                                         std::string_view target) {
  if (target.empty()) return std::optional<Error>();
  if (const auto instance = target_instance(target)) return lost_instance(view, ns, *instance);
  bool exists = false;
  TRY(each_workflow(view, ns, [&](std::string_view, const WorkflowRecord& record) {
    exists = exists || is_target(target, record.number);
  }));
  if (exists) return std::optional<Error>();
  return std::optional<Error>(
      Error{"workflow.not_found", "the workflow that may take the events was deleted"});
}

Result<bool> is_known(const View& view, std::string_view ns, const Event& event) {
  const Fingerprint wanted = fingerprint_of(ns, event);
  bool known = false;
  TRY(each_dedupe(view, [&](TimePoint, uint64_t, const std::vector<Fingerprint>& events) {
    known = known || std::find(events.begin(), events.end(), wanted) != events.end();
  }));
  if (known) return true;
  TRY(each_kept_event(view, [&](const KeptEventPlace&, const KeptEventRecord& record) {
    known = known || record.known_as == wanted;
  }));
  return known;
}

}  // namespace millrace
