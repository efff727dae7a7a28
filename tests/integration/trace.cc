#include "tests/integration/trace.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>

#include <fmt/format.h>

namespace millrace {
namespace {

std::string normalised(const std::string& text) {
  static const std::regex changing(
      "([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
      "|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{3}Z");
  std::map<std::string, size_t> ids;
  std::string out;
  auto end = text.cbegin();
  for (std::sregex_iterator match(text.begin(), text.end(), changing), none; match != none;
       ++match) {
    out.append(end, (*match)[0].first);
    end = (*match)[0].second;
    if ((*match)[1].matched) {
      out += fmt::format("id-{}", ids.try_emplace((*match)[1], ids.size() + 1).first->second);
    } else {
      out += "TIME";
    }
  }
  return out.append(end, text.cend());
}

std::string paragraph_of(const Json& instance, const std::vector<Json>& history) {
  std::string text =
      fmt::format("{} {}: {}\n", instance.at("workflow").get<std::string>(),
                  instance.at("id").get<std::string>(), instance.at("status").get<std::string>());
  for (const char* const member : {"input", "output", "error"}) {
    if (instance.contains(member)) {
      text += fmt::format("  {:<6} {}\n", member, instance[member].dump());
    }
  }
  for (const Json& record : history) {
    std::string line = fmt::format("  {:<16} {:<9} {}", record.value("state", "-"),
                                   record.at("kind").get<std::string>(),
                                   record.contains("detail") ? record["detail"].dump() : "");
    if (record.contains("data")) line += fmt::format(" data {}", record["data"].dump());
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::string trace_of(const MillraceServer& millrace, const std::vector<std::string>& instances) {
  std::string text;
  for (const std::string& id : instances) {
    if (!text.empty()) text += "\n";
    text += paragraph_of(millrace.instance(id), millrace.history(id));
  }
  return normalised(text);
}

void expect_golden(const std::string& path, const std::string& actual) {
  if (const char* const update = std::getenv("UPDATE_GOLDEN"); update != nullptr && *update != 0) {
    std::ofstream(path, std::ios::binary) << actual;
  }
  EXPECT_EQ(actual, read_repository_file(path))
      << path << " differs; UPDATE_GOLDEN=1 writes it again";
}

}  // namespace millrace
