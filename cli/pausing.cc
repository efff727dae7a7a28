#include "cli/pausing.h"

#include <fmt/format.h>

namespace millrace {

void add_pausing(CommandLine& noun, const std::string& name, const std::string& of,
                 const std::string& example, const std::string& id,
                 Ended (*control)(Session&, const std::string& verb, const std::string& id)) {
  for (const std::string verb : {"pause", "resume"}) {
    auto [added, what] =
        noun.asking<std::string>(verb, (verb == "pause" ? "Pauses " : "Resumes ") + of,
                                 fmt::format("millrace {} {} {}", name, verb, example),
                                 [verb, control](Session& session, const std::string& given) {
                                   return control(session, verb, given);
                                 });
    added.option("id", what, id, "ID").required();
  }
}

}  // namespace millrace
