#include "broker/kept_consumers.h"

#include <algorithm>

#include <fmt/format.h>

#include "broker/json_fields.h"

namespace millrace {

std::array<std::string, 2> kept_consumer_names(std::string_view name) {
  return {fmt::format("{}-a", name), fmt::format("{}-b", name)};
}

FoundConsumer read_found_consumer(const Json& answer) {
  const Json& config = field(answer, "config");
  FoundConsumer found;
  // Until the first acknowledgement, the floor of most versions of nats-server is 0.
  found.floor = count_field(field(answer, "ack_floor"), "stream_seq");
  const uint64_t first = count_field(config, "opt_start_seq");
  if (first > 0) found.floor = std::max(found.floor, first - 1);
  const std::string only = text_field(config, "filter_subject");
  if (!only.empty()) found.subjects = {only};
  const Json& several = field(config, "filter_subjects");
  if (!several.is_array()) return found;
  for (const Json& subject : several) {
    if (subject.is_string()) found.subjects.push_back(subject.get<std::string>());
  }
  return found;
}

size_t spare_consumer(const FoundConsumers& found, const std::vector<std::string>& subjects) {
  const auto& [first, second] = found;
  if (!first) return 0;
  if (!second) return 1;
  const bool first_fits = first->subjects == subjects;
  const bool second_fits = second->subjects == subjects;
  if (first_fits != second_fits) return first_fits ? 1 : 0;
  return first->floor > second->floor ? 0 : 1;
}

Result<FoundConsumers> find_kept_consumers(const Connection& connection, std::string_view stream,
                                           const std::array<std::string, 2>& names) {
  FoundConsumers found;
  for (size_t i = 0; i < names.size(); ++i) {
    const Result<Json> answer =
        connection.api(fmt::format("CONSUMER.INFO.{}.{}", stream, names[i]), Json::object());
    if (answer) found[i] = read_found_consumer(*answer);
    if (!answer && answer.error().code != "broker.not_found") {
      return tl::unexpected(answer.error());
    }
  }
  return found;
}

Status delete_consumer(const Connection& connection, std::string_view stream,
                       std::string_view name) {
  const Result<Json> gone =
      connection.api(fmt::format("CONSUMER.DELETE.{}.{}", stream, name), Json::object());
  if (!gone && gone.error().code != "broker.not_found") return tl::unexpected(gone.error());
  return {};
}

}  // namespace millrace
