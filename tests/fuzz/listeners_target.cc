// Listeners and events, one command in each line, for the naive matcher and the index of listeners,
// which must find the same targets:
//   +TYPE NAME=TEXT NAME~PATTERN …  adds a listener, with fields between tabs
//   -N                              removes the listener N, counted from 0
//   ?TYPE NAME=TEXT …               matches an event
// Covers: matchers/listener_index.cc matchers/naive_matcher.cc matchers/packed_predicates.cc
// Covers: matchers/pattern_set.cc matchers/pattern_results.cc matchers/match_budget.cc
#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/characters.h"
#include "matchers/listener_index.h"
#include "matchers/naive_matcher.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

std::vector<std::string_view> fields_between_tabs(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const size_t end = std::min(line.find('\t'), line.size());
    fields.push_back(line.substr(0, end));
    if (end == line.size()) return fields;
    line.remove_prefix(end + 1);
  }
}

/// The lower-case form of a name, as context attributes have it.
std::string attribute_name(std::string_view text) {
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(), lower_case);
  return name;
}

class BothMatchers {
 public:
  void run(std::string_view line) {
    if (line.empty()) return;
    const std::vector<std::string_view> fields = fields_between_tabs(line.substr(1));
    if (line.front() == '+') add(fields);
    if (line.front() == '-') remove(fields.front());
    if (line.front() == '?') match(fields);
  }

 private:
  void add(const std::vector<std::string_view>& fields) {
    if (listeners_.size() >= 32) return;
    EventFilter filter{.type = std::string(fields.front()), .predicates = {}};
    for (size_t i = 1; i < fields.size() && i <= 4; ++i) {
      const size_t at = fields[i].find_first_of("=~");
      if (at == std::string_view::npos || at == 0) return;
      const bool is_pattern = fields[i][at] == '~';
      filter.predicates.push_back(
          {.attribute = attribute_name(fields[i].substr(0, at)),
           .kind = is_pattern ? Predicate::Kind::kPattern : Predicate::Kind::kEquals,
           .text = std::string(fields[i].substr(at + 1))});
    }
    const uint64_t target = next_target_++;
    const auto naive = naive_.add("default", filter, target);
    const auto indexed = index_.add("default", filter, target);
    CHECK(naive.has_value() == indexed.has_value(), "only one matcher accepts the filter {}",
          filter.type);
    if (naive) listeners_.push_back({*naive, *indexed});
  }

  void remove(std::string_view text) {
    size_t which = 0;
    std::from_chars(text.data(), text.data() + text.size(), which);
    if (which >= listeners_.size()) return;
    const auto listener = listeners_.begin() + static_cast<std::ptrdiff_t>(which);
    naive_.remove(listener->first);
    index_.remove(listener->second);
    listeners_.erase(listener);
    CHECK(index_.size() == listeners_.size(), "the index has {} listeners, expected {}",
          index_.size(), listeners_.size());
  }

  void match(const std::vector<std::string_view>& fields) {
    std::map<std::string, std::string> texts{{"type", std::string(fields.front())}};
    for (size_t i = 1; i < fields.size() && i <= 8; ++i) {
      const size_t at = fields[i].find('=');
      if (at == std::string_view::npos || at == 0) continue;
      texts.emplace(attribute_name(fields[i].substr(0, at)), fields[i].substr(at + 1));
    }
    std::vector<Attribute> attributes;
    for (const auto& [name, text] : texts) attributes.emplace_back(name, text);
    const Attributes event(attributes);
    std::vector<uint64_t> expected;
    std::vector<uint64_t> found;
    naive_.match("default", event, expected);
    index_.match("default", event, found);
    CHECK(naive_.over_limit() > 0 || index_.over_limit() > 0 || found == expected,
          "the index finds {} listeners, expected {}", found.size(), expected.size());
    CHECK(std::is_sorted(found.begin(), found.end()), "the targets are not sorted");
    check_within(event, expected);
  }

  /// With little budget, what is found is right, and all that is not found is undecided.
  void check_within(const Attributes& event, const std::vector<uint64_t>& expected) {
    std::vector<uint64_t> found;
    std::vector<uint64_t> undecided;
    index_.match_within("default", event, {.steps = 64, .bytes = 200}, found, undecided);
    if (naive_.over_limit() > 0 || index_.over_limit() > 0) return;
    CHECK(std::includes(expected.begin(), expected.end(), found.begin(), found.end()),
          "a listener is found within a budget that does not match");
    std::vector<uint64_t> all;
    std::set_union(found.begin(), found.end(), undecided.begin(), undecided.end(),
                   std::back_inserter(all));
    CHECK(std::includes(all.begin(), all.end(), expected.begin(), expected.end()),
          "a listener that matches is neither found nor undecided");
  }

  NaiveMatcher naive_;
  ListenerIndex index_;
  std::vector<std::pair<Matcher::Handle, Matcher::Handle>> listeners_;
  uint64_t next_target_ = 0;
};

}  // namespace

FUZZ_TARGET(listeners) {
  if (bytes.size() > 4096 || !is_utf8(bytes)) return;
  BothMatchers matchers;
  std::string_view rest = bytes;
  for (size_t lines = 0; !rest.empty() && lines < 128; ++lines) {
    const auto [line, behind] = first_line_and_rest(rest);
    rest = behind;
    matchers.run(line);
  }
}

}  // namespace millrace::fuzz
