// A test case as the definition that an engine loads.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/model/case.h"

namespace millrace::reference {

// How the definition is written where the documents leave it open.
struct Rendering {
  // the body of a function whose tasks go to workers outside
  std::vector<std::pair<std::string, std::string>> function = {{"type", "reusable"},
                                                               {"image", "test/worker"}};
};

// A time as definitions write it: "1500ms".
std::string ms(Ms time);

std::string to_yaml(const Case& c, const Rendering& rendering = {});

}  // namespace millrace::reference
