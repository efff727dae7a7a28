#include "broker/ports_file.h"

#include <charconv>
#include <string>
#include <system_error>

#include "base/json.h"
#include "broker/json_fields.h"

namespace millrace {

std::optional<uint16_t> port_in_ports_file(std::string_view text) {
  const Result<Json> parsed = parse_json(text);
  if (!parsed) return std::nullopt;
  const Json& urls = field(*parsed, "nats");
  if (!urls.is_array() || urls.empty() || !urls.front().is_string()) return std::nullopt;
  std::string_view digits = urls.front().get_ref<const std::string&>();
  digits.remove_prefix(digits.rfind(':') + 1);  // all of them if there is no colon
  uint16_t port = 0;
  const char* const last = digits.data() + digits.size();
  const auto [end, failed] = std::from_chars(digits.data(), last, port);
  if (failed != std::errc() || end != last || port == 0) return std::nullopt;
  return port;
}

}  // namespace millrace
