#include "tests/fuzz/yaml_mutator.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::fuzz {
namespace {

using YamlLines = std::vector<std::string>;

/// Values that are right, or nearly right, for some kind of key.
constexpr auto kYamlValues = std::to_array<std::string_view>({"a",
                                                              "b",
                                                              "order.paid",
                                                              "1",
                                                              "0",
                                                              "-1",
                                                              "1.5",
                                                              "true",
                                                              "no",
                                                              "null",
                                                              "PT1H",
                                                              "P1M",
                                                              "500",
                                                              "10s",
                                                              ".",
                                                              ".a > 1",
                                                              "jq(.)",
                                                              "'x jq(.a) y'",
                                                              "\"%s\"",
                                                              "^a$",
                                                              "'(?=a)b'",
                                                              "\"*\"",
                                                              "'0 * * * *'",
                                                              "@every 5s",
                                                              "[]",
                                                              "{}",
                                                              "[a, b]",
                                                              "{a: 1}",
                                                              "{type: a, source: /s}",
                                                              "application/json",
                                                              "|\n  text",
                                                              "https://a.example/b",
                                                              "9223372036854775808",
                                                              "1e400"});

/// The characters before the first one that is not a blank.
size_t blanks_before(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

bool is_blank_line(std::string_view line) { return blanks_before(line) == line.size(); }

class YamlChange {
 public:
  YamlChange(YamlLines lines, unsigned seed, std::span<const Mapping* const> mappings)
      : lines_(std::move(lines)), random_(seed), mappings_(mappings) {}

  YamlLines make() {
    if (lines_.empty()) lines_ = {"id: a", "states:", "- id: a", "  type: noop"};
    for (size_t changes = 1 + below(3); changes > 0 && !lines_.empty(); --changes) change();
    return std::move(lines_);
  }

 private:
  /// The lines of an entry or item: `first` and the lines that are indented more.
  struct YamlBlock {
    size_t first = 0;
    size_t past = 0;
  };

  size_t below(size_t end) { return end == 0 ? 0 : random_() % end; }

  YamlBlock block_at(size_t first) const {
    size_t past = first + 1;
    const size_t indent = blanks_before(lines_[first]);
    while (past < lines_.size() &&
           (is_blank_line(lines_[past]) || blanks_before(lines_[past]) > indent)) {
      ++past;
    }
    return {first, past};
  }

  YamlLines copy_of(YamlBlock block) const {
    return {lines_.begin() + static_cast<std::ptrdiff_t>(block.first),
            lines_.begin() + static_cast<std::ptrdiff_t>(block.past)};
  }

  void erase(YamlBlock block) {
    lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(block.first),
                 lines_.begin() + static_cast<std::ptrdiff_t>(block.past));
  }

  void insert(size_t at, const YamlLines& lines) {
    lines_.insert(lines_.begin() + static_cast<std::ptrdiff_t>(at), lines.begin(), lines.end());
  }

  /// The lines with the indentation of their first line changed to `indent`.
  static YamlLines indented(YamlLines lines, size_t indent) {
    const size_t before = lines.empty() ? 0 : blanks_before(lines.front());
    for (std::string& line : lines) {
      line.erase(0, std::min(before, blanks_before(line)));
      line.insert(0, indent, ' ');
    }
    return lines;
  }

  std::string value_for(const KeyRule& rule) {
    if (!rule.words.empty() && below(4) > 0) {
      return std::string(rule.words[below(rule.words.size())].word);
    }
    return std::string(kYamlValues[below(kYamlValues.size())]);
  }

  /// An entry with a key of the grammar; the kinds of a mapping with a `type` are chosen by it.
  std::string entry() {
    const Mapping& mapping = *mappings_[below(mappings_.size())];
    if (!mapping.types[0].empty() && below(4) == 0) return "type: " + std::string(mapping.types[0]);
    const std::vector<const KeyRule*> keys = mapping.keys();
    if (keys.empty()) return "a: 1";
    const KeyRule& rule = *keys[below(keys.size())];
    return std::string(rule.name) + ": " +
           (rule.list ? "[" + value_for(rule) + "]" : value_for(rule));
  }

  void change() {
    const size_t at = below(lines_.size());
    const YamlBlock block = block_at(at);
    const bool is_item =
        std::string_view(lines_[at]).substr(blanks_before(lines_[at])).starts_with("- ");
    const size_t indent = blanks_before(lines_[at]);
    switch (below(8)) {
      case 0:
        return erase(block);
      case 1:
        return insert(block.past, copy_of(block));
      case 2: {
        if (block.past >= lines_.size()) return;
        const YamlBlock next = block_at(block.past);
        YamlLines moved = copy_of(block);
        insert(next.past, moved);
        return erase(block);
      }
      case 3:
        return insert(block.past, {std::string(is_item ? indent + 2 : indent, ' ') + entry()});
      case 4:
        return insert(block.past, {std::string(indent, ' ') + "- " + entry()});
      case 5: {
        const size_t colon = lines_[at].find(": ");
        if (colon == std::string::npos) return;
        lines_[at].replace(colon + 2, std::string::npos,
                           std::string(kYamlValues[below(kYamlValues.size())]));
        return;
      }
      case 6: {
        const std::string added = entry();
        lines_[at] = std::string(indent, ' ') + (is_item ? "- " : "") + added;
        return;
      }
      default: {
        const size_t to = below(lines_.size());
        return insert(to, indented(copy_of(block), blanks_before(lines_[to])));
      }
    }
  }

  YamlLines lines_;
  std::mt19937 random_;
  std::span<const Mapping* const> mappings_;
};

YamlLines lines_of(std::string_view text) {
  YamlLines lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

size_t mutate_yaml(uint8_t* data, size_t size, size_t max_size, unsigned seed,
                   std::span<const Mapping* const> mappings) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string changed;
  for (const std::string& line : YamlChange(lines_of(text), seed, mappings).make()) {
    changed += line;
    changed += '\n';
  }
  if (changed.size() > max_size) return size;
  std::copy(changed.begin(), changed.end(), data);
  return changed.size();
}

}  // namespace millrace::fuzz
