#include "tests/unit/gateway/fake_source_desk.h"

#include <utility>

#include "orchestrator/definition/source_settings.h"
#include "orchestrator/service/source_json.h"

namespace millrace {
namespace {

tl::unexpected<Error> not_found(const std::string& name) {
  return fail("source.not_found", "namespace \"default\" has no source \"" + name + "\"");
}

}  // namespace

Status FakeSourceDesk::check(std::string_view ns) const {
  if (ns == "default") return {};
  return fail("namespace.not_found", "there is no namespace \"" + std::string(ns) + "\"");
}

/// The source as a server shows it that reads it.
Result<Json> FakeSourceDesk::shown(const std::string& name) const {
  const auto found = settings_.find(name);
  if (found == settings_.end()) return not_found(name);
  SourceRecord record{.created_at = from_millis(1'630'497'600'000),
                      .applied_at = from_millis(1'630'497'600'000),
                      .is_paused = found->second.value("paused", false),
                      .stream = found->second.value("stream", ""),
                      .begin = begin_text(found->second),
                      .settings = dump_json(found->second)};
  OriginRecord origin{.applied = AppliedSequences(40),
                      .events = 39,
                      .refused = 1,
                      .refused_sequence = 7,
                      .refused_at = from_millis(1'630'497'600'000),
                      .refusal = {"event.id", "the event has no id"}};
  const SourceFigures figures{.is_read = true, .position = 42, .lag = 2, .consumers = 1};
  return source_json(name, record.stream, record, origin,
                     record.is_paused ? std::nullopt : std::optional(figures));
}

void FakeSourceDesk::apply(std::string_view ns, const std::string& name, const Json& settings,
                           const Done& done) {
  const auto applied = [&]() -> Result<Json> {
    TRY(check(ns));
    const SourceSettings parsed = TRY(parse_source(settings));
    if (parsed.stream == "NONE") return fail("source.no_stream", "the broker has no such stream");
    const std::lock_guard lock(mutex_);
    const bool created = settings_.insert_or_assign(name, settings).second;
    return Json{{"name", name}, {"created", created}, {"continues", !created}};
  }();
  done(applied);
}

Result<Json> FakeSourceDesk::list(std::string_view ns) {
  TRY(check(ns));
  const std::lock_guard lock(mutex_);
  Json items = Json::array();
  for (const auto& [name, settings] : settings_) items.push_back(TRY(shown(name)));
  return Json{{"items", std::move(items)}, {"next", nullptr}};
}

Result<Json> FakeSourceDesk::get(std::string_view ns, const std::string& name) {
  TRY(check(ns));
  const std::lock_guard lock(mutex_);
  Json json = TRY(shown(name));
  json["settings"] = settings_[name];
  return json;
}

void FakeSourceDesk::pause(std::string_view ns, const std::string& name, bool paused,
                           const Done& done) {
  const auto changed = [&]() -> Result<Json> {
    TRY(check(ns));
    const std::lock_guard lock(mutex_);
    if (!settings_.contains(name)) return not_found(name);
    settings_[name]["paused"] = paused;
    return Json{{"name", name}, {"paused", paused}};
  }();
  done(changed);
}

Result<Json> FakeSourceDesk::try_messages(std::string_view ns, const std::string& name,
                                          const std::optional<Json>& settings) {
  TRY(check(ns));
  const std::lock_guard lock(mutex_);
  if (!settings && !settings_.contains(name)) return not_found(name);
  const SourceSettings parsed = TRY(parse_source(settings ? *settings : settings_.at(name)));
  return Json{{"stream", parsed.stream},
              {"items",
               {{{"sequence", 42},
                 {"time", "2021-09-01T12:00:00.000Z"},
                 {"subject", "shop.orders.eu"},
                 {"event", {{"id", "1"}, {"type", "order.placed"}}},
                 {"would", {{{"verdict", "started"}, {"workflow", "order"}}}}},
                {{"sequence", 41},
                 {"time", "2021-09-01T12:00:00.000Z"},
                 {"subject", "shop.orders.eu"},
                 {"event", {{"id", "0"}, {"type", "order.placd"}}},
                 {"would", Json::array()},
                 {"similarTypes", Json::array({"order.placed"})}}}}};
}

void FakeSourceDesk::remove(std::string_view ns, const std::string& name, const Done& done) {
  const auto removed = [&]() -> Result<Json> {
    TRY(check(ns));
    const std::lock_guard lock(mutex_);
    if (settings_.erase(name) == 0) return not_found(name);
    return Json{{"name", name}, {"deleted", true}};
  }();
  done(removed);
}

}  // namespace millrace
