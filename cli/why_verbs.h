// What the verbs `event why`, `event try` and `instance why` share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "cli/command_line.h"
#include "cli/session.h"

namespace millrace {

/// The listener that the user expected to get the event, and how many listeners are shown.
struct ExpectedListener {
  std::string instance;
  std::string attribute;
  std::string value;
  std::string limit;
  bool all = false;  ///< show the misses whole that would be one line
};

void add_expected_listener(Verb& verb, ExpectedListener& expected);
std::vector<std::pair<std::string, std::string>> parameters_of(const ExpectedListener& expected);

/// Prints the answer about an event: in the format table as text, else as the other formats do.
/// `shows_all`: WhyTextOptions::shows_all.
void show_why_of_event(Session& session, const Json& answer, bool shows_all);

/// Adds the verb `why` to the noun `event`, or to the noun `instance`.
void add_event_why_verb(CommandLine& event);
void add_instance_why_verb(CommandLine& instance);

}  // namespace millrace
