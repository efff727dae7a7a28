// The command line as a whole: which verbs there are, what they are told, what they come to.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/serve.h"
#include "cli/verbs.h"

namespace millrace {

/// Verbs that need more of the program than a client does. One that is null is not there.
struct ProgramVerbs {
  LoadDefinition load = nullptr;                              ///< for `lint`
  int (*serve)(const ServeOptions&) = nullptr;                ///< run_serve
  int (*dev)(const DevOptions&) = nullptr;                    ///< run_dev
  Ended (*test)(Console&, const TestOptions&) = nullptr;      ///< test_workflows
  Ended (*verify)(Session&, const VerifyOptions&) = nullptr;  ///< verify_store
};

/// Runs one command, `arguments` being without the program's name; the exit code.
int run_app(std::vector<std::string> arguments, Console& console, const ProgramVerbs& hooks);

}  // namespace millrace
