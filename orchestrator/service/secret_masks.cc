#include "orchestrator/service/secret_masks.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/bytes.h"
#include "base/characters.h"
#include "orchestrator/service/decoded_text.h"

namespace millrace {
namespace {

/// The most values and parts of values that are masked.
constexpr size_t kMostParts = 4'000;

/// How deep JSON strings in JSON strings are decoded.
constexpr int kMostEscapes = 3;

/// How much of a value must be there so that it is masked although it is cut: half of it. If less
/// was enough, a caller who reads back texts of its own would see how far a guess is right.
size_t enough_of_a_cut(size_t value) { return std::max(SecretMasks::kLeastBytes, value / 2); }

/// A form in which a value may be in a text.
struct Form {
  std::string text;
  bool is_base64 = false;
};

/// The Base64 digits that a value has at each of the three places in a longer input, without the
/// digits that also depend on the bytes beside it.
std::array<std::string, 3> base64_parts(std::string_view value) {
  std::array<std::string, 3> parts;
  for (size_t offset = 0; offset < parts.size(); ++offset) {
    const std::string digits = base64_encode(std::string(offset, '\0').append(value));
    const size_t begin = (offset * 8 + 5) / 6;
    const size_t end = (offset + value.size()) * 8 / 6;
    parts[offset] = digits.substr(begin, end - begin);
  }
  return parts;
}

std::string with(std::string text, char from, char to) {
  std::replace(text.begin(), text.end(), from, to);
  return text;
}

std::string upper(std::string text) {
  for (char& byte : text) {
    if (byte >= 'a' && byte <= 'f') byte = static_cast<char>(byte - 'a' + 'A');
  }
  return text;
}

void add_leaves(const Json& json, std::set<std::string>& parts) {
  if (json.is_string()) {
    parts.insert(json.get<std::string>());
  } else if (json.is_number()) {
    parts.insert(json.dump());
  } else if (json.is_structured()) {
    for (const Json& one : json) add_leaves(one, parts);
  }
}

/// The value and its parts that are masked.
std::set<std::string> parts_of(const std::string& value) {
  std::set<std::string> parts = {value, std::string(trimmed(value))};
  for (size_t at = 0; at < value.size();) {
    const size_t end = std::min(value.find('\n', at), value.size());
    parts.emplace(trimmed(std::string_view(value).substr(at, end - at)));
    at = end + 1;
  }
  const std::string_view text = trimmed(value);
  if (text.starts_with('{') || text.starts_with('[')) {
    if (const Result<Json> json = parse_json(text)) add_leaves(*json, parts);
  }
  std::erase_if(parts,
                [](const std::string& one) { return one.size() < SecretMasks::kLeastBytes; });
  return parts;
}

/// A range of bytes that is masked.
struct MaskedRange {
  size_t begin = 0;
  size_t end = 0;
};

/// Adds a range, as a part of the last one if they overlap: a text may have one at each byte.
void add_range(std::vector<MaskedRange>& ranges, MaskedRange one) {
  const bool overlaps =
      !ranges.empty() && ranges.back().begin <= one.begin && one.begin <= ranges.back().end;
  if (overlaps) {
    ranges.back().end = std::max(ranges.back().end, one.end);
  } else {
    ranges.push_back(one);
  }
}

std::string masked(std::string_view text, std::vector<MaskedRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const MaskedRange& a, const MaskedRange& b) { return a.begin < b.begin; });
  std::string out;
  size_t at = 0;
  for (size_t i = 0; i < ranges.size();) {
    MaskedRange whole = ranges[i];
    for (++i; i < ranges.size() && ranges[i].begin <= whole.end; ++i) {
      whole.end = std::max(whole.end, ranges[i].end);
    }
    out.append(text.substr(at, whole.begin - at)).append(kMask);
    at = whole.end;
  }
  return out.append(text.substr(at));
}

bool is_base64_digit(char byte) {
  return is_letter(byte) || is_digit(byte) || byte == '+' || byte == '/' || byte == '-' ||
         byte == '_';
}

uint32_t first_bytes(const char* at) {
  uint32_t begin = 0;
  static_assert(sizeof begin == SecretMasks::kLeastBytes);
  std::memcpy(&begin, at, sizeof begin);
  return begin;
}

uint16_t first_two(const char* at) {
  uint16_t begin = 0;
  std::memcpy(&begin, at, sizeof begin);
  return begin;
}

}  // namespace

struct SecretMasks::Index {
  std::vector<Form> forms;
  /// The forms by their first kLeastBytes.
  std::unordered_map<uint32_t, std::vector<uint32_t>> by_begin;
  /// The first two bytes of all forms: most places of a text need no look into `by_begin`.
  std::vector<bool> begins = std::vector<bool>(size_t{1} << 16);

  void add(Form form) {
    begins[first_two(form.text.data())] = true;
    by_begin[first_bytes(form.text.data())].push_back(static_cast<uint32_t>(forms.size()));
    forms.push_back(std::move(form));
  }

  void add_forms(const std::string& value) {
    add({.text = value});
    const std::string hex = to_hex(std::string_view(value));
    add({.text = hex});
    add({.text = upper(hex)});
    for (const std::string& part : base64_parts(value)) {
      add({.text = part, .is_base64 = true});
      const std::string for_urls = with(with(part, '+', '-'), '/', '_');
      if (for_urls != part) add({.text = for_urls, .is_base64 = true});
    }
  }

  /// How many bytes of the form are at that place of the text; 0: the form is not there. A form
  /// that is cut counts.
  static size_t length_at(std::string_view text, size_t at, const Form& form, uint64_t& left) {
    const std::string_view rest = text.substr(at);
    const size_t most = std::min(rest.size(), form.text.size());
    const auto differs =
        std::mismatch(rest.begin(), rest.begin() + static_cast<ptrdiff_t>(most), form.text.begin());
    const auto common = static_cast<size_t>(differs.first - rest.begin());
    left -= std::min<uint64_t>(left, common + 1);
    if (common == form.text.size()) return common;
    const bool is_cut = common == rest.size() || rest.substr(common).starts_with("...");
    return is_cut && common >= enough_of_a_cut(form.text.size()) ? common : 0;
  }

  /// Adds what is masked in the text, as ranges of the original; false: `left` is used up. `origin`
  /// gives the place of a byte of the text in the original.
  template <class Origin>
  bool find(std::string_view text, const Origin& origin, std::vector<MaskedRange>& ranges,
            uint64_t& left) const {
    left -= std::min<uint64_t>(left, text.size() / 8);
    if (left == 0) return false;
    for (size_t at = 0; at + kLeastBytes <= text.size(); ++at) {
      if (!begins[first_two(text.data() + at)]) continue;
      const auto found = by_begin.find(first_bytes(text.data() + at));
      if (found == by_begin.end()) continue;
      for (const uint32_t number : found->second) {
        const Form& form = forms[number];
        size_t begin = at;
        size_t end = at + length_at(text, at, form, left);
        if (left == 0) return false;
        if (end == at) continue;
        if (form.is_base64) {  // the digits beside it also have some bits of the value
          if (begin > 0 && is_base64_digit(text[begin - 1])) --begin;
          if (end < text.size() && is_base64_digit(text[end])) ++end;
        }
        add_range(ranges, {origin(begin), origin(end)});
      }
    }
    return true;
  }

  bool find(const DecodedText& decoded, std::vector<MaskedRange>& ranges, uint64_t& left) const {
    return find(
        decoded.text(), [&](size_t at) { return decoded.origin(at); }, ranges, left);
  }

  /// Searches in what is behind the escapes of JSON strings and of patterns.
  bool find_escaped(std::string_view text, std::vector<MaskedRange>& ranges, uint64_t& left) const {
    DecodedText decoded(text);
    for (int i = 0; i < kMostEscapes && decoded.text().find('\\') != std::string_view::npos; ++i) {
      decoded = decoded.without_escapes();
      if (!find(decoded, ranges, left)) return false;
    }
    return true;
  }

  bool mask(std::string_view text, std::string& out, uint64_t& left) const {
    std::vector<MaskedRange> ranges;
    if (!find(
            text, [](size_t at) { return at; }, ranges, left))
      return false;
    if (text.find('%') != std::string_view::npos &&
        !find(DecodedText(text).without_percents(), ranges, left)) {
      return false;
    }
    if (text.find('\\') != std::string_view::npos && !find_escaped(text, ranges, left))
      return false;
    out = masked(text, ranges);
    return true;
  }

  bool mask(const Json& json, Json& out, uint64_t& left) const {
    if (json.is_string() || json.is_number()) {
      const std::string text = json.is_string() ? json.get<std::string>() : json.dump();
      std::string shown;
      if (!mask(text, shown, left)) return false;
      out = json;
      if (shown != text) out = json.is_string() ? shown : std::string(kMask);
      return true;
    }
    if (json.is_array()) {
      out = Json::array();
      for (const Json& one : json) {
        if (!mask(one, out.emplace_back(), left)) return false;
      }
      return true;
    }
    if (!json.is_object()) {
      out = json;
      return true;
    }
    out = Json::object();
    for (const auto& [name, one] : json.items()) {
      std::string shown;
      if (!mask(name, shown, left) || !mask(one, out[shown], left)) return false;
    }
    return true;
  }
};

std::optional<SecretMasks> SecretMasks::make(const std::vector<std::string>& values) {
  std::set<std::string> all;
  for (const std::string& value : values) {
    if (value.empty()) continue;
    if (value.size() < kLeastBytes) return std::nullopt;
    all.merge(parts_of(value));
    if (all.size() > kMostParts) return std::nullopt;
  }
  auto index = std::make_shared<Index>();
  for (const std::string& one : all) index->add_forms(one);
  return SecretMasks(std::move(index));
}

std::optional<std::string> SecretMasks::mask_text(std::string_view text, MaskBudget& budget) const {
  std::string shown;
  if (!index_->mask(text, shown, budget.left)) return std::nullopt;
  return shown;
}

std::optional<Json> SecretMasks::mask_json(const Json& json, MaskBudget& budget) const {
  Json shown;
  if (!index_->mask(json, shown, budget.left)) return std::nullopt;
  return shown;
}

}  // namespace millrace
