// EventReader: takes the messages of a stream of server-sent events out of its bytes, which come in
// pieces. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

class EventReader {
 public:
  struct Message {
    std::string event;
    std::string id;  ///< empty: it has none
    std::string data;
  };

  void add(std::string_view bytes) { bytes_ += bytes; }

  /// The next complete message with data; nullopt: more bytes are needed. Comments are skipped.
  std::optional<Message> next();

 private:
  std::string bytes_;
};

}  // namespace millrace
