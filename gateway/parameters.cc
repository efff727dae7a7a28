#include "gateway/parameters.h"

#include <limits>

#include <fmt/format.h>

#include "base/whole_number.h"
#include "language/findings.h"

namespace millrace {
namespace {

const std::string& part(const Request& request, std::string_view name) {
  return request.parts.find(name)->second;
}

}  // namespace

Result<std::string> namespace_of(const Request& request) {
  const std::string& name = part(request, "ns");
  if (is_identifier(name) && name.find('.') == std::string::npos) return name;
  return fail(
      "request.identifier",
      fmt::format(
          "{} is not a valid name of a namespace; expected 1 to 128 letters, digits, `-` and `_`",
          in_quotes(name)));
}

Result<std::string> workflow_of(const Request& request) {
  const std::string& name = part(request, "workflow");
  if (is_identifier(name)) return name;
  return fail("request.identifier", fmt::format("{} is not a valid name of a workflow; expected 1 "
                                                "to 128 letters, digits, `.`, `-` and `_`",
                                                in_quotes(name)));
}

Result<uint32_t> revision_of(const Request& request) {
  const std::string& text = part(request, "revision");
  const uint64_t number = whole_number(text, UINT32_MAX).value_or(0);
  if (number > 0) return static_cast<uint32_t>(number);
  return fail(
      "revision.not_found",
      fmt::format("{} is not the number of a revision; expected a number from 1", in_quotes(text)));
}

Result<InstanceId> instance_of(const Request& request) {
  const std::string& text = part(request, "instance");
  if (const Result<InstanceId> id = parse_instance_id(text)) return *id;
  return fail("instance.not_found",
              fmt::format("{} is not an instance id; expected a UUID", in_quotes(text)));
}

Result<VariablePlace> variable_place_of(const Request& request) {
  VariablePlace place{.ns = TRY(namespace_of(request))};
  if (request.parts.contains("workflow")) place.workflow = TRY(workflow_of(request));
  if (request.parts.contains("instance")) place.instance = TRY(instance_of(request));
  return place;
}

Result<std::string> variable_key_of(const Request& request) {
  const std::string& key = part(request, "key");
  if (is_variable_key(key)) return key;
  return fail("request.identifier", fmt::format("{} is not a valid name of a variable; expected {}",
                                                in_quotes(key), kVariableKeyRule));
}

namespace {

/// An identifier in the path. `what` names what it is the name of.
Result<std::string> identifier_of(const Request& request, std::string_view placeholder,
                                  std::string_view what) {
  const std::string& name = part(request, std::string(placeholder));
  if (is_identifier(name)) return name;
  return fail("request.identifier",
              fmt::format("{} is not a valid name of a {}; expected 1 to 128 letters, digits, `.`, "
                          "`-` and `_`",
                          in_quotes(name), what));
}

}  // namespace

Result<std::string> secret_of(const Request& request) {
  return identifier_of(request, "secret", "secret");
}

Result<std::string> source_name_of(const Request& request) {
  return identifier_of(request, "source", "source");
}

Result<uint64_t> sequence_of(const Request& request) {
  const std::string& text = part(request, "sequence");
  if (const std::optional<uint64_t> number = whole_number(text)) return *number;
  return fail(
      "event.not_found",
      fmt::format("{} is not the sequence of an event; expected a number, which the list of events "
                  "with the parameter `id` shows for an id",
                  in_quotes(text)));
}

std::string text_parameter(const Request& request, std::string_view name) {
  const auto found = request.query.find(name);
  return found == request.query.end() ? std::string() : found->second;
}

Result<bool> flag_parameter(const Request& request, std::string_view name) {
  const auto found = request.query.find(name);
  if (found == request.query.end()) return false;
  const std::string& text = found->second;
  if (text == "1" || text == "true") return true;
  if (text == "0" || text == "false") return false;
  return fail("request.parameter", fmt::format("{}: {} is not valid; expected 1, true, 0 or false",
                                               name, in_quotes(text)));
}

Result<DeletionParameters> deletion_parameters(const Request& request) {
  const DeletionParameters how{
      .cancels = TRY(flag_parameter(request, "cancel")),
      .drops_compensations = TRY(flag_parameter(request, "dropCompensations")),
      .leftovers = TRY(flag_parameter(request, "leftovers"))};
  if (how.cancels && how.leftovers) {
    return fail("request.parameter", "cancel: leftovers have no instances; leave out `cancel`");
  }
  if (how.drops_compensations && !how.cancels) {
    return fail("request.parameter",
                "dropCompensations: only instances that are cancelled have compensations to drop; "
                "write cancel=1, too");
  }
  return how;
}

Result<std::optional<uint64_t>> number_parameter(const Request& request, std::string_view name) {
  const std::string text = text_parameter(request, name);
  if (text.empty()) return std::optional<uint64_t>();
  if (const std::optional<uint64_t> number = whole_number(text)) return number;
  return fail("request.parameter",
              fmt::format("{}: {} is not a number; expected digits only", name, in_quotes(text)));
}

Result<std::optional<TimePoint>> time_parameter(const Request& request, std::string_view name) {
  const std::string text = text_parameter(request, name);
  if (text.empty()) return std::optional<TimePoint>();
  Result<TimePoint> time = parse_rfc3339(text);
  if (!time) return fail_in(std::string(name), std::move(time.error()));
  return std::optional<TimePoint>(*time);
}

Result<std::optional<InstanceId>> instance_parameter(const Request& request) {
  const std::string text = text_parameter(request, "instance");
  if (text.empty()) return std::nullopt;
  const Result<InstanceId> id = parse_instance_id(text);
  if (!id) return fail("request.parameter", "instance: " + id.error().message);
  return *id;
}

Result<std::optional<uint32_t>> revision_parameter(const Request& request) {
  const std::optional<uint64_t> number = TRY(number_parameter(request, "revision"));
  if (!number) return std::optional<uint32_t>();
  if (*number >= 1 && *number <= std::numeric_limits<uint32_t>::max()) {
    return std::optional(static_cast<uint32_t>(*number));
  }
  return fail("request.parameter",
              fmt::format("revision: {} is not the number of a revision; expected a number from 1",
                          *number));
}

Result<PageRequest> page_of(const Request& request) {
  PageRequest page{.cursor = text_parameter(request, "cursor")};
  page.limit = TRY(limit_parameter(request, page.limit));
  return page;
}

Result<size_t> limit_parameter(const Request& request, size_t otherwise, size_t most) {
  const auto found = request.query.find("limit");
  if (found == request.query.end()) return otherwise;
  const std::string& text = found->second;
  const uint64_t limit = whole_number(text, most).value_or(0);
  if (limit >= 1) return limit;
  return fail("request.parameter",
              fmt::format("limit: {} is not a number from 1 to {}", in_quotes(text), most));
}

}  // namespace millrace
