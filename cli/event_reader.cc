#include "cli/event_reader.h"

namespace millrace {
namespace {

constexpr std::string_view kEnd = "\n\n";

/// Reads a line of a message: `event: NAME`, `id: ID` or `data: TEXT`.
void read_line(std::string_view line, EventReader::Message& message) {
  constexpr std::string_view kEvent = "event: ";
  constexpr std::string_view kId = "id: ";
  constexpr std::string_view kData = "data: ";
  if (line.starts_with(kEvent)) message.event = line.substr(kEvent.size());
  if (line.starts_with(kId)) message.id = line.substr(kId.size());
  if (line.starts_with(kData)) message.data += line.substr(kData.size());
}

}  // namespace

std::optional<EventReader::Message> EventReader::next() {
  for (size_t end = bytes_.find(kEnd); end != std::string::npos; end = bytes_.find(kEnd)) {
    Message message;
    std::string_view text = std::string_view(bytes_).substr(0, end);
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      read_line(line, message);
      text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
    }
    bytes_.erase(0, end + kEnd.size());
    if (!message.data.empty()) return message;
  }
  return std::nullopt;
}

}  // namespace millrace
