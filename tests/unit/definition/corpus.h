// The files of tests/corpus/definitions. The files in good/ load without findings; files that
// share their name up to the first dot (`switch.yaml`, `switch.twin.json`) define equal workflows.
// The files in bad/ contain a mark below each line that has a finding, at the finding's column:
//
//     transition: b0
//   #             ^ definition.no_state states[0].transition: there is no state "b0"; did …
//
// The mark of a finding in column 1 is `#< …`. UPDATE_GOLDEN=1 rewrites the marks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "language/findings.h"

namespace millrace {

/// The sorted paths of the files in a folder of the corpus. Throws if the folder has no files.
std::vector<std::string> corpus_files(std::string_view folder);

std::string read_text_file(const std::string& path);
void write_text_file(const std::string& path, std::string_view text);

/// The text without its marks.
std::string without_marks(std::string_view annotated);

/// The text with a mark for each finding.
std::string with_marks(std::string_view text, const Findings& findings);

}  // namespace millrace
