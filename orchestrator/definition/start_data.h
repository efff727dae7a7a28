// What lint knows of the data with which instances start. Private to orchestrator/definition/.
// Pure.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "expressions/template.h"
#include "language/document.h"

namespace millrace {

/// What is known of the data with which instances start.
struct StartData {
  std::set<std::string> members;
  std::string by;    ///< what makes the data, for a message
  std::string path;  ///< the path to the payload; empty: there is none
};

/// The data of a start by the events or by the schedule of the workflow; nullopt: only calls start
/// it.
std::optional<StartData> data_of_starts(const Node& document);

/// The data of an instance that such a start begins: with `batch`, that of several of them.
std::optional<StartData> data_of_instances(const Node& document);

/// A member that the value reads and the data does not have, if it reads no other member; nullopt:
/// it may depend on the data. lint.split_key reports the first part of a type with dots.
std::optional<std::string> missing_member(const Result<Template>& value, const StartData& data);

/// The jq program of the value with the path to the data before the path that it reads: for
/// `.customer // "none"` it is `.["cart.left"].customer // "none"`. If the value is more than a
/// program that begins with its only path, the path to `member`.
std::string corrected(const Result<Template>& value, const std::string& member,
                      const StartData& data);

}  // namespace millrace
