// Whether a jq program names `$instance`: the variable that millrace binds to facts about the
// instance (states/instance_value.h). Only such a program gets the value, so it costs others
// nothing. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// The name of the variable, without the `$`.
inline constexpr std::string_view kInstanceVariable = "instance";

/// True if the jq program uses the variable `$instance` and binds no variable of that name itself
/// (`as $instance`, also in a pattern, `def f($instance)`, `label $instance`). A program that binds
/// one never gets millrace's value: it means what it meant before that value existed.
/// Precondition: check_program_text() accepts the program.
bool names_instance(std::string_view program);

/// The members of the variable that the jq program reads as `$instance.NAME`, in the order of the
/// program. Empty if names_instance() is false. Precondition: as of names_instance().
std::vector<std::string> instance_members_of(std::string_view program);

}  // namespace millrace
