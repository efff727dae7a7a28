#include "orchestrator/service/broker_losses.h"

#include <string>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace millrace {
namespace {

std::string sentence(const BrokerLoss& loss) {
  switch (loss.kind) {
    case BrokerLoss::Kind::kDropped:
      return fmt::format("the event stream dropped messages {} to {} before they were read",
                         loss.first, loss.last);
    case BrokerLoss::Kind::kTail:
      return fmt::format(
          "the broker lost the end of the event stream: messages {} to {} had been applied and are "
          "gone, with all messages after them; newer messages are read from sequence {}",
          loss.first, loss.last, loss.first);
    case BrokerLoss::Kind::kStream:
      return fmt::format(
          "the event stream was created again: everything after message {} of the old stream is "
          "lost; the new stream is read from its first message",
          loss.last);
  }
  return "";
}

}  // namespace

void BrokerLosses::add(const BrokerLoss& loss) {
  const std::string detail = sentence(loss);
  spdlog::error("{}", detail);
  metrics_.count(loss);
  const std::lock_guard guard(lock_);
  last_.push_back({{"time", format_rfc3339(clock_.now())},
                   {"kind", to_string(loss.kind)},
                   {"first", loss.first},
                   {"last", loss.last},
                   {"detail", detail}});
  if (last_.size() > kShown) last_.pop_front();
}

Json BrokerLosses::list() const {
  const std::lock_guard guard(lock_);
  Json list = Json::array();
  for (const Json& loss : last_) list.push_back(loss);
  return list;
}

}  // namespace millrace
