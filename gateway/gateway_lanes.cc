#include "gateway/gateway_lanes.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "gateway/http_server.h"
#include "gateway/problem.h"

namespace millrace {
namespace {

std::unique_ptr<WorkerLane> make_lane(const char* name, const LaneLimits& limits) {
  return std::make_unique<WorkerLane>(name, limits);
}

}  // namespace

RequestSource source_of(const Request& request) {
  const auto ns = request.parts.find("ns");
  return {.client = request.client, .ns = ns == request.parts.end() ? request.path : ns->second};
}

GatewayLanes::GatewayLanes(const TransportLimits& limits)
    : lanes_{{
          {Lane::kProbe, "probes", make_lane("gateway-probe", limits.probes)},
          {Lane::kRead, "reads", make_lane("gateway-read", limits.reads)},
          {Lane::kCommand, "commands", make_lane("gateway-command", limits.commands)},
          {Lane::kEvent, "events", make_lane("gateway-event", limits.events)},
          {Lane::kDefinition, "definitions", make_lane("gateway-check", limits.definitions)},
          {Lane::kBroker, "broker", make_lane("gateway-broker", limits.broker)},
          {Lane::kFile, "files", make_lane("gateway-file", limits.files)},
      }} {}

void GatewayLanes::run(Lane lane, const RequestSource& source, std::function<void()> work,
                       std::function<void(const Error&)> refuse) {
  if (lane == Lane::kInPlace) return work();
  const auto found = std::find_if(lanes_.begin(), lanes_.end(),
                                  [&](const Named& one) { return one.lane == lane; });
  CHECK(found != lanes_.end(), "a route has the lane {}", static_cast<int>(lane));
  found->threads->add(
      source, {.run = std::move(work), .refuse = [refuse = std::move(refuse), name = found->name] {
                 refuse(busy(fmt::format("too many requests wait in the lane {}", name)));
               }});
}

void GatewayLanes::proceed(Lane lane, std::function<void()> work) {
  for (Named& one : lanes_) {
    if (one.lane == lane) return one.threads->add_continuing(std::move(work));
  }
}

std::vector<GatewayLanes::LaneFigures> GatewayLanes::figures() const {
  std::vector<LaneFigures> all;
  for (const Named& one : lanes_) all.push_back({one.name, one.threads->counts()});
  return all;
}

void GatewayLanes::stop() {
  for (Named& one : lanes_) one.threads->stop();
}

}  // namespace millrace
