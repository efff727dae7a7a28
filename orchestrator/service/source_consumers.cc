#include "orchestrator/service/source_consumers.h"

#include <utility>

#include <spdlog/spdlog.h>

#include "orchestrator/definition/source_settings.h"
#include "orchestrator/service/source_origin.h"
#include "orchestrator/store/rows/catalog_rows.h"

namespace millrace {

Result<SourcesLook> look_at_sources(const View& view) {
  SourcesLook look;
  std::map<SourcePlace, SourceRecord> sources;
  std::map<NamespaceNumber, std::string> names;
  TRY(each_source(
      view,
      [&](const SourcePlace& place, const SourceRecord& record) {
        sources.emplace(place, record);
        names.emplace(place.ns, "");
      },
      [&](const Error&) { look.is_whole = false; }));
  if (sources.empty()) return look;
  TRY(each_namespace(view, [&](std::string_view name, const NamespaceRecord& record) {
    const auto found = names.find(record.number);
    if (found != names.end()) found->second = name;
  }));
  for (const auto& [place, record] : sources) {
    const std::string& ns = names.at(place.ns);
    const auto settings = read_source_settings(record.settings);
    if (ns.empty() || !settings) look.is_whole = false;
    if (ns.empty()) continue;
    if (!record.is_paused) look.read.emplace(place, ns);
    if (!settings || !settings->consume) continue;
    look.consumers.emplace(
        place, SourceConsumer{.stream = record.stream,
                              .name = consumer_name(ns, place.name, record.origin.source)});
  }
  return look;
}

std::set<SourcePlace> SourceConsumers::update(std::map<SourcePlace, SourceConsumer> now) {
  std::set<SourcePlace> changed;
  for (const auto& [place, consumer] : now_) {
    const auto found = now.find(place);
    if (found != now.end() && found->second == consumer) continue;
    changed.insert(place);
    left_.insert(consumer);
  }
  for (const auto& [place, consumer] : now) left_.erase(consumer);
  now_ = std::move(now);
  return changed;
}

void SourceConsumers::release(OriginStreams& origins) {
  std::erase_if(left_, [&](const SourceConsumer& one) {
    return origins.release_consumer(one.stream, one.name).has_value();
  });
}

void SourceConsumers::log_left() const {
  for (const SourceConsumer& one : left_) {
    spdlog::warn(
        "the consumers {}-a and {}-b of stream {} could not be deleted, although their source was: "
        "delete them, because the stream keeps messages for them",
        one.name, one.name, one.stream);
  }
}

}  // namespace millrace
