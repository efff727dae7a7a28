// Short functions that make predicates, and an event for them, for the tests of the matchers.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/event.h"
#include "matchers/event_filter.h"

namespace millrace {

using FoundTargets = std::vector<uint64_t>;

inline Predicate equals(std::string attribute, std::string text) {
  return {std::move(attribute), Predicate::Kind::kEquals, std::move(text)};
}

inline Predicate pattern(std::string attribute, std::string text) {
  return {std::move(attribute), Predicate::Kind::kPattern, std::move(text)};
}

inline Event order_event() {
  return {.id = "e1",
          .source = "https://shop.example/eu",
          .type = "order.paid",
          .subject = "order-42",
          .time = "2021-09-01T12:00:00Z",
          .extensions = {{"customer", std::string("c7")}, {"express", true}, {"items", -3}}};
}

}  // namespace millrace
