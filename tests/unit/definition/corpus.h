// The files of tests/corpus/definitions. Those in good/ load; files that share their name up to the
// first dot (`switch.yaml`, `switch.twin.json`) are one workflow. Those in bad/ hold, under each
// line, what the loader finds there, marked at its column:
//
//     transition: b0
//   #             ^ definition.no_state states[0].transition: there is no state "b0"; did …
//
// A finding in column 1 stands as `#< …`. UPDATE_GOLDEN=1 rewrites the marks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "language/findings.h"

namespace millrace {

/// The paths of the files in a folder of the corpus, sorted. Throws where there is none.
std::vector<std::string> corpus_files(std::string_view folder);

std::string read_text_file(const std::string& path);
void write_text_file(const std::string& path, std::string_view text);

/// The text without its marks.
std::string without_marks(std::string_view annotated);

/// The text with a mark for each finding.
std::string with_marks(std::string_view text, const Findings& findings);

}  // namespace millrace
