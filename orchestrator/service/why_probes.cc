#include "orchestrator/service/why_probes.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "orchestrator/why/typo.h"

namespace millrace {
namespace {

std::string mapped(std::string_view text, char from, char to) {
  std::string result(text);
  for (char& letter : result) {
    if (letter >= from && letter <= to) letter = static_cast<char>(letter ^ 0x20);
  }
  return result;
}

std::string_view stripped(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

class ProbeList {
 public:
  void add(std::string_view attribute, std::string_view value) {
    if (value.empty() || value.size() > kMostOfAProbe || list_.size() == kMostProbes) return;
    const auto [place, is_new] = known_.emplace(attribute, value);
    if (is_new) list_.push_back({place->first, place->second});
  }

  void add_variants(std::string_view attribute, std::string_view value) {
    if (value.size() > kMostOfAProbe) return;
    for (const std::string& variant : variants_of(value)) add(attribute, variant);
  }

  void add_typos(std::string_view attribute, std::string_view value) {
    for (const std::string& typo : typos_of(value, kMostTypos)) add(attribute, typo);
  }

  std::vector<ListenerIndex::Probe> take() && { return std::move(list_); }

 private:
  std::set<std::pair<std::string, std::string>> known_;
  std::vector<ListenerIndex::Probe> list_;
};

/// The value of a member of the data as an attribute would have it; empty: no attribute has it.
std::string text_of_member(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_integer() || value.is_boolean() ? dump_json(value) : "";
}

}  // namespace

std::vector<std::string> variants_of(std::string_view value) {
  std::vector<std::string> variants = {std::string(value), mapped(value, 'A', 'Z'),
                                       mapped(value, 'a', 'z'), std::string(stripped(value))};
  const size_t digit = value.find_first_not_of('0');
  if (digit != std::string_view::npos && digit > 0) variants.emplace_back(value.substr(digit));
  return variants;
}

std::vector<ListenerIndex::Probe> probes_of(const JudgedEvent& event, const WhyFilter& filter) {
  ProbeList list;
  if (!filter.attribute.empty()) list.add(filter.attribute, filter.value);
  for (const auto& [name, value] : event.event.extensions) {
    if (const auto text = event.attributes.find(name)) list.add_variants(name, *text);
  }
  if (event.event.subject) list.add_variants("subject", *event.event.subject);
  if (event.data.is_object()) {
    size_t looked = 0;
    for (const auto& [name, value] : event.data.items()) {
      if (++looked > kMostProbes) break;
      const std::string attribute = mapped(name, 'A', 'Z');
      if (!event.attributes.find(attribute)) list.add_variants(attribute, text_of_member(value));
    }
  }
  list.add_variants("source", event.event.source);
  list.add_variants("id", event.event.id);
  for (const auto& [name, value] : event.event.extensions) {
    if (const auto text = event.attributes.find(name)) list.add_typos(name, *text);
  }
  if (event.event.subject) list.add_typos("subject", *event.event.subject);
  return std::move(list).take();
}

}  // namespace millrace
