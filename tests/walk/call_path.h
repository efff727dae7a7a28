// CallPath: the way of an event through the files, from the calls that were traced while it went.
// A source and its header are one file here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/walk/call_trace.h"

namespace millrace {

/// Where a function is written.
struct CodePlace {
  std::string file;  ///< from the root, without its extension; empty: not of this project
  std::string function;
};

using CodePlaceOf = std::function<const CodePlace&(const void* function)>;

/// A call from one file into another: a visit of that file, which lasts until the call returns. A
/// step of the way stands for several.
struct FileVisit {
  std::string thread;
  std::optional<size_t> parent;  ///< the visit in which the call was made, by its index
  CodePlace from;
  CodePlace to;
  std::vector<std::string> functions = {};  ///< of a step: all that are called, each once
};

/// The visits that began within [from, to) nanoseconds and those in which they began, thread by
/// thread. Functions outside the project are passed through: what they call was called by the
/// function that called them.
std::vector<FileVisit> visits_of(const std::vector<TracedThread>& threads, int64_t from, int64_t to,
                                 const CodePlaceOf& place_of);

/// What a reader of the way steps over.
struct WalkRules {
  /// Folders and files whose functions are words, not steps: values, checks of bytes, the clock.
  std::vector<std::string> words;
  /// Folders whose rooms are gone into, not through: a call of one counts, its own calls do not.
  std::vector<std::string> libraries;
};

/// `a::b<c::d>::e(f)` without what stands in brackets: `a::b::e`; an unnamed namespace is left out.
std::string bare_name(const std::string& function);

/// The steps of the way: of each visit, the files that are called from it, each once. Constructors,
/// destructors and assignments are no steps.
std::vector<FileVisit> steps_of(const std::vector<FileVisit>& visits, const WalkRules& rules);

}  // namespace millrace
