// TarMaker: writes tar archives byte by byte, also those that no tool would write.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace {

/// The fields of a header.
struct TarHeader {
  std::string name;
  char type = '0';
  uint64_t size = 0;
  uint32_t mode = 0644;
  std::string link;
};

class TarMaker {
 public:
  TarMaker& header(const TarHeader& header);
  /// Adds bytes, and zeros up to a whole block.
  TarMaker& content(std::string_view bytes);

  TarMaker& file(const std::string& name, std::string_view bytes, uint32_t mode = 0644);
  TarMaker& folder(const std::string& name);
  TarMaker& link(const std::string& name, char type, const std::string& target);
  /// Adds a pax header `key=value`, which applies to the next entry.
  TarMaker& pax(std::string_view key, std::string_view value, char type = 'x');
  /// The same with several keys: a reader applies only the last pax header before an entry.
  TarMaker& pax(const std::vector<std::pair<std::string_view, std::string_view>>& keys_and_values,
                char type = 'x');

  /// The archive so far, without the end mark.
  const std::string& open_ended() const { return bytes_; }
  std::string finish() const { return bytes_ + std::string(1024, '\0'); }

 private:
  std::string bytes_;
};

std::string gzip(std::string_view bytes);

}  // namespace millrace
