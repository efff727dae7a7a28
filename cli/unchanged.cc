#include "cli/unchanged.h"

#include <cstddef>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/why_parts.h"

namespace millrace {

bool is_unchanged(std::string_view verb, const Json& answer) {
  if (verb == "cancel") return !answer.value("cancelled", true);
  return verb == "pause" && !answer.value("paused", true);
}

std::string unchanged_line(std::string_view verb, const Json& instance, const std::string& ns) {
  const std::string id = member_text(instance, "id");
  const Json cancelling = instance.value("cancelling", Json());
  if (cancelling.is_object()) {
    const auto tasks = cancelling.value("tasks", size_t{0});
    const std::string since = member_text(cancelling, "since");
    return fmt::format(
        "nothing is changed: the instance is already being cancelled{}, and ends when its running "
        "{}; `millrace -n {} instance cancel {} --now` does not wait for {}\n",
        since.empty() ? "" : ", since " + since,
        tasks == 1 ? "task has ended (1)" : fmt::format("tasks have ended ({})", tasks),
        shell_word(ns), id, tasks == 1 ? "it" : "them");
  }
  if (verb != "pause" || member_text(instance, "status") != "paused") return "";
  return fmt::format(
      "nothing is changed: the instance is already paused; `millrace -n {} instance why {}` shows "
      "what resumes it\n",
      shell_word(ns), id);
}

}  // namespace millrace
