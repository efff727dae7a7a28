// What the texts of the answers of `why` about events and about instances share. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/json.h"
#include "cli/why_text.h"

namespace millrace {

/// How many commands are shown that do the same for different names.
inline constexpr size_t kMostCommands = 3;

/// The text of a member; empty if it is missing.
std::string member_text(const Json& object, const char* key);

/// The list in a member; empty if it is missing or no list.
const Json& member_list(const Json& object, const char* key);

/// The texts of a list, with commas between them.
std::string joined(const Json& list);

/// `Event #18  type paid  source bank  id e-1  stored 10:22`, as a line.
std::string event_line(const Json& event);

/// The verdict, its sentence and the predicates.
std::string verdict_lines(const Json& one);

/// What the limits would do with the start that the event would cause, as a line: `Limits: waits
/// for concurrency (limit 2, key "a"), 3 starts before it`; empty: the answer does not say it.
std::string limits_line(const Json& one);

/// Whether a replay can set the attribute.
bool is_correctable(const std::string& name);

/// The command that sends a stored event again, up to its options.
std::string replay_command(std::string_view ns, const Json& event);

/// The command that sends a stored event again with the values that a listener asks for; empty: a
/// value is not known, the wait is over, or something else than a value excludes the listener.
std::string correction_line(const Json& event, const Json& one, const WhyTextOptions& options);

/// Numbered items, the nearest first: the effects and the nearest misses whole, of the other misses
/// a line each.
class NearList {
 public:
  explicit NearList(const WhyTextOptions& options) : options_(options) {}

  /// `whole`: its title and lines; `name`: what names it on one line.
  void add(const Json& one, const std::string& whole, const std::string& name);

  /// The lines of all items.
  std::string text() const;

 private:
  const WhyTextOptions& options_;
  std::string text_;
  size_t number_ = 0;
  size_t misses_ = 0;
};

}  // namespace millrace
