#include "language/findings.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "base/check.h"
#include "base/similar_names.h"

namespace millrace {
namespace {

/// Keys longer than this are quoted in a path.
constexpr size_t kLongestKey = 64;

bool is_word(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      return "note";
  }
  return "";
}

Finding doubtful(Severity severity, std::string code, std::string path, Position at,
                 std::string_view doubt, std::string mend) {
  CHECK(!mend.empty());
  std::string message = fmt::format("{}; {}", doubt, mend);
  return {severity, std::move(code), std::move(path), at, std::move(message), std::move(mend)};
}

}  // namespace

void Findings::error(std::string code, std::string path, Position at, std::string message) {
  add({Severity::kError, std::move(code), std::move(path), at, std::move(message)});
}

void Findings::warning(std::string code, std::string path, Position at, std::string_view doubt,
                       std::string mend) {
  add(doubtful(Severity::kWarning, std::move(code), std::move(path), at, doubt, std::move(mend)));
}

void Findings::note(std::string code, std::string path, Position at, std::string_view doubt,
                    std::string mend) {
  add(doubtful(Severity::kNote, std::move(code), std::move(path), at, doubt, std::move(mend)));
}

void Findings::fact(std::string code, std::string path, Position at, std::string message) {
  add({Severity::kNote, std::move(code), std::move(path), at, std::move(message)});
}

void Findings::add(Finding finding) {
  has_errors_ = has_errors_ || finding.severity == Severity::kError;
  has_warnings_ = has_warnings_ || finding.severity == Severity::kWarning;
  if (full()) {
    ++omitted_;
  } else {
    findings_.push_back(std::move(finding));
  }
}

std::vector<Finding> Findings::sorted() const {
  std::set<std::tuple<Position, std::string_view, std::string_view, std::string_view>> seen;
  std::vector<Finding> out;
  for (const Finding& finding : findings_) {
    if (seen.emplace(finding.at, finding.code, finding.path, finding.message).second) {
      out.push_back(finding);
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Finding& a, const Finding& b) { return a.at < b.at; });
  return out;
}

std::string render_text(const Findings& findings, std::string_view file) {
  std::string out;
  for (const Finding& finding : findings.sorted()) {
    out += fmt::format("{}:{}:{}: {}: {}{}{} [{}]\n", file, finding.at.line, finding.at.column,
                       name_of(finding.severity), finding.path, finding.path.empty() ? "" : ": ",
                       finding.message, finding.code);
  }
  if (findings.omitted() > 0) out += fmt::format("{}: and {} more\n", file, findings.omitted());
  return out;
}

Json to_json(const Findings& findings) {
  Json errors = Json::array();
  for (const Finding& finding : findings.sorted()) {
    errors.push_back({{"path", finding.path},
                      {"line", finding.at.line},
                      {"column", finding.at.column},
                      {"message", finding.message},
                      {"code", finding.code},
                      {"severity", name_of(finding.severity)}});
  }
  Json out = {{"errors", std::move(errors)}};
  if (findings.omitted() > 0) out["omitted"] = findings.omitted();
  return out;
}

std::string path_of(std::string_view parent, std::string_view key) {
  if (!is_word(key) || key.size() > kLongestKey)
    return fmt::format("{}[{}]", parent, in_quotes(key));
  return fmt::format("{}{}{}", parent, parent.empty() ? "" : ".", key);
}

std::string path_of(std::string_view parent, size_t index) {
  return fmt::format("{}[{}]", parent, index);
}

std::string in_quotes(std::string_view text) {
  constexpr size_t kMost = 60;
  size_t end = std::min(text.size(), kMost);
  // A cut within a character would make the text invalid UTF-8.
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  std::string out = "\"";
  for (const char c : text.substr(0, end)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + (end < text.size() ? "…\"" : "\"");
}

std::optional<std::string> likely(std::string_view given,
                                  const std::vector<std::string_view>& candidates) {
  return nearest_name(given, candidates);
}

std::string did_you_mean(std::string_view given, const std::vector<std::string_view>& candidates) {
  const std::optional<std::string> name = likely(given, candidates);
  return name ? fmt::format("; did you mean {}?", in_quotes(*name)) : std::string();
}

std::string mend_of_name(std::string_view given, const std::vector<std::string_view>& candidates,
                         std::string_view what, std::string_view otherwise) {
  const std::optional<std::string> name = likely(given, candidates);
  if (!name) return std::string(otherwise);
  return fmt::format("did you mean {}? If not, remove {}", in_quotes(*name), what);
}

}  // namespace millrace
