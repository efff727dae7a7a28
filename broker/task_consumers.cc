#include "broker/task_consumers.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "broker/json_fields.h"
#include "broker/streams.h"
#include "broker/task_message.h"

namespace millrace {
namespace {

/// How long the broker lists a task as under way if its worker sends nothing. Nothing else depends
/// on this time.
constexpr Duration kListed = std::chrono::days(1);

std::string tasks_stream_name(std::string_view prefix) {
  return tasks_stream({.prefix = std::string(prefix)}).name;
}

Status check(const Json& found, const std::string& stream, const std::string& name,
             const std::string& subject) {
  const Json& config = field(found, "config");
  if (text_field(config, "filter_subject") != subject ||
      text_field(config, "ack_policy") != "explicit" ||
      !text_field(config, "deliver_subject").empty()) {
    return fail("broker.consumer",
                fmt::format("consumer {} of stream {} is not a pull consumer of {} with explicit "
                            "acknowledgements, so workers can't take its tasks: delete it, and "
                            "millrace creates it again",
                            name, stream, subject));
  }
  if (integer_field(config, "max_deliver") != 1) {
    spdlog::warn(
        "consumer {} of stream {} has max_deliver {} instead of 1: a task that a worker holds for "
        "longer than ack_wait is given to another worker as well",
        name, stream, integer_field(config, "max_deliver"));
  }
  return {};
}

}  // namespace

Status ensure_task_consumer(Connection& connection, std::string_view prefix,
                            const std::string& subject) {
  const std::string stream = tasks_stream_name(prefix);
  const std::string filter = broker_subject(prefix, subject);
  const std::string name = task_consumer(subject);
  const std::string path = fmt::format("{}.{}", stream, name);
  const Result<Json> found = connection.api("CONSUMER.INFO." + path, Json::object());
  if (found) return check(*found, stream, name, filter);
  if (found.error().code != "broker.not_found") return tl::unexpected(found.error());
  const Json made = TRY(connection.api("CONSUMER.DURABLE.CREATE." + path,
                                       {{"stream_name", stream},
                                        {"config",
                                         {{"durable_name", name},
                                          {"filter_subject", filter},
                                          {"deliver_policy", "all"},
                                          {"ack_policy", "explicit"},
                                          {"ack_wait", nanoseconds(kListed)},
                                          {"max_deliver", 1},
                                          {"max_ack_pending", -1},
                                          {"max_waiting", 4096},  // requests of many workers
                                          {"replay_policy", "instant"}}}}));
  spdlog::info("created consumer {} of stream {}", name, stream);
  return check(made, stream, name, filter);
}

Result<uint64_t> last_given_out(Connection& connection, std::string_view prefix,
                                const std::string& subject, Duration at_most) {
  const Json info = TRY(connection.api(
      fmt::format("CONSUMER.INFO.{}.{}", tasks_stream_name(prefix), task_consumer(subject)),
      Json::object(), at_most));
  return static_cast<uint64_t>(integer_field(field(info, "delivered"), "stream_seq"));
}

Result<uint64_t> open_task_requests(const Connection& connection, std::string_view prefix,
                                    const std::string& subject, Duration at_most) {
  const Result<Json> info = connection.api(
      fmt::format("CONSUMER.INFO.{}.{}", tasks_stream_name(prefix), task_consumer(subject)),
      Json::object(), at_most);
  if (!info && info.error().code == "broker.not_found") return uint64_t{0};
  if (!info) return tl::unexpected(info.error());
  return count_field(*info, "num_waiting");
}

}  // namespace millrace
