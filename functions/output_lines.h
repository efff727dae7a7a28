// OutputLines: what a function prints, as the lines that are told of it: bounded in length and
// number, and of valid UTF-8, whatever it prints.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// Of one task; what is beyond is left out, which a last line says.
inline constexpr size_t kMaxOutputLines = 1'000;
inline constexpr size_t kMaxOutputBytes = size_t{256} << 10;
/// A longer line is cut.
inline constexpr size_t kMaxOutputLine = size_t{4} << 10;

/// What all streams of a task may still tell.
struct OutputAllowance {
  size_t lines = kMaxOutputLines;
  size_t bytes = kMaxOutputBytes;
  bool is_said = false;  ///< that something was left out
};

/// As much of the bytes as is whole characters; where they are no UTF-8, other bytes become `?`.
std::string as_text(std::string_view bytes);

class OutputLines {
 public:
  /// The lines that are whole with these bytes; empty ones are none.
  std::vector<std::string> add(std::string_view bytes, OutputAllowance& left);
  /// The last one, where the stream ended without a line break.
  std::vector<std::string> finish(OutputAllowance& left);

 private:
  void take_line(std::vector<std::string>& lines, OutputAllowance& left);

  std::string line_;
};

}  // namespace millrace
