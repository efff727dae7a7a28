// Evaluator: the port to the jq workers, which run jq programs and check JSON Schemas.
#pragma once

#include <functional>

#include "expressions/evaluation.h"

namespace millrace {

/// Runs an evaluation outside the process (expressions/workers). Any thread; never blocks.
using Evaluator =
    std::function<void(Evaluation evaluation, std::function<void(EvaluationResult)> done)>;

}  // namespace millrace
