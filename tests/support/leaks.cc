#include "tests/support/leaks.h"

#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/json.h"

namespace millrace {
namespace {

/// Each form of the value with its name.
std::vector<std::pair<std::string, std::string>> forms_of(std::string_view value) {
  std::vector<std::pair<std::string, std::string>> forms = {{"as it is", std::string(value)}};
  if (is_utf8(value)) {
    const std::string json = dump_json(Json(value));
    forms.emplace_back("JSON", json.substr(1, json.size() - 2));
  }
  std::string hex;
  for (const char c : value) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  forms.emplace_back("hexadecimal", hex);
  // The bytes before the value shift its bits within the characters of Base64. So there are three
  // forms in Base64. Characters that also have bits of other bytes are left out.
  for (size_t before = 0; before < 3; ++before) {
    const std::string text = base64_encode(std::string(before, '\0').append(value));
    const size_t first = before == 0 ? 0 : before + 1;
    const size_t last = (before + value.size()) * 8 / 6;
    forms.emplace_back("Base64", text.substr(first, last - first));
  }
  return forms;
}

}  // namespace

std::vector<std::string> leaks_in(std::string_view name, std::string_view text,
                                  std::string_view value) {
  std::vector<std::string> found;
  for (const auto& [form, bytes] : forms_of(value)) {
    const size_t at = text.find(bytes);
    if (at != std::string_view::npos) found.push_back(fmt::format("{}: {} at {}", name, form, at));
  }
  return found;
}

std::vector<std::string> leaks_in_folder(const std::filesystem::path& folder,
                                         std::string_view value) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    for (std::string& leak : leaks_in(entry.path().string(), bytes, value)) {
      found.push_back(std::move(leak));
    }
  }
  return found;
}

}  // namespace millrace
