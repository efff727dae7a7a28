// Events and predicates for the tables of tests/unit/why.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/why/judged_event.h"

namespace millrace {

/// An event of the type `paid` with these extension attributes and this data.
inline JudgedEvent paid(std::vector<std::pair<std::string, std::string>> attributes,
                        std::optional<std::string> data = std::nullopt) {
  Event event{.id = "e1", .source = "bank.eu", .type = "paid"};
  event.data = std::move(data);
  for (auto& [name, value] : attributes) {
    if (name == "subject") {
      event.subject = std::move(value);
    } else {
      event.extensions[name] = std::move(value);
    }
  }
  return JudgedEvent(std::move(event));
}

inline Predicate is(std::string attribute, std::string text) {
  return {std::move(attribute), Predicate::Kind::kEquals, std::move(text)};
}
inline Predicate like(std::string attribute, std::string text) {
  return {std::move(attribute), Predicate::Kind::kPattern, std::move(text)};
}

}  // namespace millrace
