#include "cluster/node_answer.h"

#include <algorithm>
#include <cstdint>

namespace millrace {
namespace {

uint64_t number_in(const Json& state, const char* name) {
  const auto at = state.find(name);
  const bool is_there = at != state.end() && at->is_number_unsigned();
  return is_there ? at->get<uint64_t>() : 0;
}

}  // namespace

std::string text_in(const Json& state, const char* name) {
  const auto at = state.find(name);
  const bool is_there = at != state.end() && at->is_string();
  return is_there ? at->get<std::string>() : std::string();
}

std::string error_in(const Json& state) {
  const auto error = state.find("error");
  return error != state.end() && error->is_object() ? text_in(*error, "code") : std::string();
}

RankedNode rank_in(const Json& state) {
  return {.node = text_in(state, "node"),
          .rank = {.epoch = number_in(state, "epoch"),
                   .sequence = number_in(state, "position") + number_in(state, "behindCommits")},
          .address = text_in(state, "address"),
          .is_diverged = error_in(state) == "log.diverged"};
}

std::vector<RankedNode> ranks_in(std::span<const Json> states) {
  std::vector<RankedNode> ranked;
  ranked.reserve(states.size());
  for (const Json& state : states) ranked.push_back(rank_in(state));
  return ranked;
}

const Json* active_in(std::span<const Json> states) {
  const auto active = std::find_if(states.begin(), states.end(), [](const Json& one) {
    return text_in(one, "role") == "active";
  });
  return active == states.end() ? nullptr : &*active;
}

}  // namespace millrace
