// RecordDetail: the members of the detail of a history record. Only for orchestrator/check.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/json.h"
#include "model/history.h"

namespace millrace {

class RecordDetail {
 public:
  /// A detail that is not a JSON object has no members; other checks report it.
  explicit RecordDetail(const HistoryRecord& record) {
    auto parsed = parse_own_json(record.detail.text());
    if (parsed && parsed->is_object()) members_ = std::move(*parsed);
  }

  /// The text of a member; nullopt: the member is missing or not a text.
  std::optional<std::string> text(const char* name) const { return text_in(members_, name); }
  /// The text of a member of the object `name`.
  std::optional<std::string> text(const char* name, const char* member) const {
    const auto found = members_.find(name);
    if (found == members_.end() || !found->is_object()) return std::nullopt;
    return text_in(*found, member);
  }
  /// The number of a member; nullopt: the member is missing or not a natural number.
  std::optional<uint64_t> number(const char* name) const {
    const auto found = members_.find(name);
    if (found == members_.end() || !found->is_number_unsigned()) return std::nullopt;
    return found->get<uint64_t>();
  }

 private:
  static std::optional<std::string> text_in(const Json& object, const char* name) {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_string()) return std::nullopt;
    return found->get<std::string>();
  }

  Json members_ = Json::object();
};

}  // namespace millrace
