// ProgramVerbs: the functions of the verbs that need the server, the engine or the store. The
// program passes them to the command line, which defines the grammar of all verbs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cli/console.h"
#include "cli/output.h"
#include "cli/serve_options.h"
#include "cli/session.h"

namespace millrace {

struct Loaded;

/// Loads a definition as a server does.
using LoadDefinition = Loaded (*)(std::string_view text);

/// The options of `millrace test`.
struct TestOptions {
  std::vector<std::string> paths;  ///< scenario files, and folders that contain them
  std::string only;                ///< runs only scenarios whose names contain this
  bool as_junit = false;
};

/// The options of `millrace verify`.
struct VerifyOptions {
  std::string data;             ///< folder of the store; empty: the store of the server
  std::string secret_key_file;  ///< empty: the key in the folder `data`
};

/// The options of `millrace backup`.
struct BackupOptions {
  std::string destination;  ///< a new or empty folder; `-`: a tar stream on standard output
  std::string data;         ///< folder of the store; empty: the store of the server
  uint64_t rate = 0;        ///< bytes per second at most; 0: no limit
};

/// The options of `millrace restore`.
struct RestoreOptions {
  std::string backup;           ///< folder; `-`: a tar stream on standard input
  std::string data;             ///< folder of the store to make
  std::string secret_key_file;  ///< the key of the store; empty: not given
  bool copy_key = false;        ///< writes the key into the folder `data`
  bool take_over = false;       ///< keeps the id of the store
  bool keep = false;            ///< keeps the temporary folder of a restore that failed
};

/// The options of `millrace store info`.
struct StoreInfoOptions {
  std::string data;  ///< folder of the store; empty: the store of the server
};

/// The options of `millrace store compact`.
struct CompactOptions {
  std::string data;  ///< folder of the store
};

/// The options of `millrace cluster leave`.
struct LeaveOptions {
  std::string data;  ///< folder of a stopped node
};

/// A verb whose function is null does not exist.
struct ProgramVerbs {
  LoadDefinition load = nullptr;  ///< for `lint` and `graph`
  Json (*api)() = nullptr;        ///< the OpenAPI document, for `openapi`
  int (*serve)(const ServeOptions&) = nullptr;
  int (*dev)(const DevOptions&) = nullptr;
  Ended (*test)(Console&, const TestOptions&) = nullptr;
  Ended (*verify)(Session&, const VerifyOptions&) = nullptr;
  Ended (*backup)(Session&, const BackupOptions&) = nullptr;
  Ended (*restore)(Console&, Output&, const RestoreOptions&) = nullptr;
  Ended (*store_info)(Session&, const StoreInfoOptions&) = nullptr;
  Ended (*compact)(Console&, Output&, const CompactOptions&) = nullptr;
  Ended (*leave)(Console&, Output&, const LeaveOptions&) = nullptr;
};

}  // namespace millrace
