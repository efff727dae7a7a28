// Evaluator: the port to the workers that run jq and JSON Schema.
#pragma once

#include <functional>

#include "expressions/evaluation.h"

namespace millrace {

/// Runs expressions outside the process (expressions/workers). Any thread; never blocks.
using Evaluator =
    std::function<void(Evaluation evaluation, std::function<void(EvaluationResult)> done)>;

}  // namespace millrace
