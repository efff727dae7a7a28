#include "broker/ports_file.h"

#include <string>

#include "base/json.h"
#include "base/whole_number.h"
#include "broker/json_fields.h"

namespace millrace {

std::optional<uint16_t> port_in_ports_file(std::string_view text) {
  const Result<Json> parsed = parse_json(text);
  if (!parsed) return std::nullopt;
  const Json& urls = field(*parsed, "nats");
  if (!urls.is_array() || urls.empty() || !urls.front().is_string()) return std::nullopt;
  std::string_view digits = urls.front().get_ref<const std::string&>();
  digits.remove_prefix(digits.rfind(':') + 1);  // all of them if there is no colon
  const uint64_t port = whole_number(digits, UINT16_MAX).value_or(0);
  if (port == 0) return std::nullopt;
  return static_cast<uint16_t>(port);
}

}  // namespace millrace
