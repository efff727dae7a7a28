// ProgramVerbs: the verbs that need more of the program than a client does (the server, the engine,
// the store), as functions that the program hands in. Their grammar is the command line's, like
// that of all verbs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"
#include "cli/serve_options.h"
#include "cli/session.h"

namespace millrace {

struct Loaded;

/// Loads a definition as a server would.
using LoadDefinition = Loaded (*)(std::string_view text);

/// `millrace test`.
struct TestOptions {
  std::vector<std::string> paths;  ///< scenario files, and folders that hold some
  std::string only;                ///< a part of the names of those that are wanted
  bool as_junit = false;
};

/// `millrace verify`.
struct VerifyOptions {
  std::string data;             ///< folder of the store; empty: the server's
  std::string secret_key_file;  ///< empty: the one in the folder
};

/// A verb whose function is null does not exist.
struct ProgramVerbs {
  LoadDefinition load = nullptr;  ///< for `lint` and `graph`
  int (*serve)(const ServeOptions&) = nullptr;
  int (*dev)(const DevOptions&) = nullptr;
  Ended (*test)(Console&, const TestOptions&) = nullptr;
  Ended (*verify)(Session&, const VerifyOptions&) = nullptr;
};

}  // namespace millrace
