// OutputLines: the output of a function, as the lines that are reported: limited in length and
// number, and always valid UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// The limits of one task; further output is left out, and a last line says so.
inline constexpr size_t kMaxOutputLines = 1'000;
inline constexpr size_t kMaxOutputBytes = size_t{256} << 10;
/// A longer line is cut.
inline constexpr size_t kMaxOutputLine = size_t{4} << 10;

/// The remaining limits of a task, shared by all its streams.
struct OutputAllowance {
  size_t lines = kMaxOutputLines;
  size_t bytes = kMaxOutputBytes;
  bool is_said = false;  ///< the last line about omitted output was reported
};

/// The bytes without an incomplete last character. If the bytes are not UTF-8, bytes outside of
/// ASCII become `?`.
std::string as_text(std::string_view bytes);

class OutputLines {
 public:
  /// Adds bytes of a stream. Returns the lines that these bytes complete, except empty lines.
  std::vector<std::string> add(std::string_view bytes, OutputAllowance& left);
  /// The last line, if the stream ended without a line break.
  std::vector<std::string> finish(OutputAllowance& left);

 private:
  void take_line(std::vector<std::string>& lines, OutputAllowance& left);

  std::string line_;
};

}  // namespace millrace
