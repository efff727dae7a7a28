#include "orchestrator/service/source_consumers.h"

#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "orchestrator/store/rows/catalog_rows.h"

namespace millrace {

Result<SourcesLook> look_at_sources(const View& view) {
  SourcesLook look;
  const auto pass_over = [](const Error&) {};
  TRY(each_left_consumer(
      view, [&](const SourceConsumer& one) { look.left.push_back(one); }, pass_over));
  std::map<SourcePlace, SourceRecord> sources;
  std::map<NamespaceNumber, std::string> names;
  TRY(each_source(
      view,
      [&](const SourcePlace& place, const SourceRecord& record) {
        sources.emplace(place, record);
        names.emplace(place.ns, "");
      },
      pass_over));
  if (sources.empty()) return look;
  TRY(each_namespace(view, [&](std::string_view name, const NamespaceRecord& record) {
    const auto found = names.find(record.number);
    if (found != names.end()) found->second = name;
  }));
  for (const auto& [place, record] : sources) {
    look.all.insert(place);
    const std::string& ns = names.at(place.ns);
    if (ns.empty() || record.is_paused) continue;
    look.read.emplace(place, SourceToRead{.ns = ns, .consumer = consumer_of(ns, place, record)});
  }
  return look;
}

std::vector<SourceConsumer> SourceConsumers::release(const std::vector<SourceConsumer>& left,
                                                     OriginStreams& origins) {
  std::erase_if(logged_, [&](const SourceConsumer& one) {
    return !std::binary_search(left.begin(), left.end(), one);
  });
  std::vector<SourceConsumer> order = left;
  if (failed_) {
    const auto next = std::upper_bound(order.begin(), order.end(), *failed_);
    std::rotate(order.begin(), next, order.end());
    failed_.reset();
  }
  std::vector<SourceConsumer> released;
  for (const SourceConsumer& one : order) {
    const Status gone = origins.release_consumer(one.stream, one.name);
    if (!gone) {
      failed_ = one;
      if (!logged_.insert(one).second) break;
      spdlog::warn(
          "the consumers {}-a and {}-b of stream {} cannot be deleted, although no source has them "
          "any more: {}; this is tried again, and until then the stream keeps messages for them",
          one.name, one.name, one.stream, gone.error().message);
      break;
    }
    released.push_back(one);
  }
  return released;
}

}  // namespace millrace
