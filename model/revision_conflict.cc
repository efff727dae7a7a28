#include "model/revision_conflict.h"

#include <string>

#include <fmt/format.h>

namespace millrace {
namespace {

std::string name_of(uint64_t revision) {
  return revision == 0 ? "no revision" : fmt::format("revision {}", revision);
}

}  // namespace

std::optional<Error> revision_conflict(std::string_view workflow, std::string_view text,
                                       const std::optional<uint64_t>& base,
                                       const NewestRevision& newest) {
  if (!base || *base == newest.number) return std::nullopt;
  if (newest.number > 0 && newest.text == text) return std::nullopt;
  return Error{"workflow.revision_conflict",
               fmt::format("workflow \"{}\" has {} now, and the definition was made from {}; read "
                           "the newest revision, and apply the change to it",
                           workflow, name_of(newest.number), name_of(*base))};
}

}  // namespace millrace
