// Writes the workflow of a test case as the YAML text that an engine loads.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/model/case.h"

namespace millrace::reference {

// The parts of a definition's text that the documents leave open.
struct Rendering {
  // the keys of a function that workers execute
  std::vector<std::pair<std::string, std::string>> function = {{"type", "reusable"},
                                                               {"image", "test/worker"}};
};

// A time as definitions write it: "1500ms".
std::string ms(Ms time);

std::string to_yaml(const Case& c, const Rendering& rendering = {});

}  // namespace millrace::reference
