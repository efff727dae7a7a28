#include "cli/tried_event.h"

#include <fmt/format.h>

namespace millrace {

std::string would_text(const Json& item) {
  if (item.value("duplicate", false)) return "nothing: duplicate";
  std::string text;
  for (const Json& one : item.value("would", Json::array())) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", one.value("verdict", ""),
                        one.value("instance", one.value("workflow", "")));
  }
  if (!text.empty()) return text;
  const Json similar = item.value("similarTypes", Json::array());
  if (similar.empty()) return "nothing";
  return fmt::format("nothing: no workflow listens for the type, but for {}",
                     similar[0].get<std::string>());
}

}  // namespace millrace
