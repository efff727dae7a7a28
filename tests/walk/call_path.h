// CallPath: the path of an event through the source files, computed from traced calls. A source and
// its header count as one file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/walk/call_trace.h"

namespace millrace {

/// The place where a function is defined.
struct CodePlace {
  std::string file;  ///< path from the root without extension; empty: outside the project
  std::string function;
};

using CodePlaceOf = std::function<const CodePlace&(const void* function)>;

/// A call from one file into another: a visit of the called file, until the call returns. A step of
/// the path stands for several visits.
struct FileVisit {
  std::string thread;
  std::optional<size_t> parent;  ///< the index of the visit that made the call
  CodePlace from;
  CodePlace to;
  std::vector<std::string> functions = {};  ///< for a step: the called functions, each once
};

/// The visits that started at a time within [from, to), in nanoseconds, and the parents of these
/// visits, thread by thread. A call by a function outside the project counts as a call by the
/// project function that called it.
std::vector<FileVisit> visits_of(const std::vector<TracedThread>& threads, int64_t from, int64_t to,
                                 const CodePlaceOf& place_of);

/// Which visits are not steps of the path.
struct PathRules {
  /// Folders and files whose visits are not steps: values, checks of bytes, the clock.
  std::vector<std::string> ignored;
  /// Folders of libraries: a call into a library is a step, the calls within it are not.
  std::vector<std::string> libraries;
};

/// The name of a function without arguments, template arguments and unnamed namespaces: `a::b::e`
/// for `a::b<c::d>::e(f)`.
std::string bare_name(const std::string& function);

/// The steps of the path: for each visit, one step for each file that it calls. Calls of
/// constructors, destructors and assignments are no steps.
std::vector<FileVisit> steps_of(const std::vector<FileVisit>& visits, const PathRules& rules);

}  // namespace millrace
