#include "orchestrator/batch/unit_kind.h"

#include <array>

namespace millrace {
namespace {

constexpr std::array<std::string_view, kUnitKinds> kUnitKindNames = {
    "event",   "timer", "command", "evaluation", "report", "continuation", "instance_message",
    "fan_out", "purge", "commit",  "other"};

}  // namespace

std::string_view to_string(UnitKind kind) { return kUnitKindNames[static_cast<size_t>(kind)]; }

}  // namespace millrace
