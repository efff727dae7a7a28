// The part of Model for `batch`: docs/language.md, heading "Batched starts".
#include <utility>

#include "tests/simulation/queue_model.h"

namespace millrace::queue_model {
namespace {

/// The start of the instance that gets the inputs. No caller waits for it: "the call ends when its
/// input is in the batch".
Start start_of_batch(const std::vector<Start>& inputs) {
  Start start = inputs.front();
  start.by = By::kCall;
  for (size_t i = 1; i < inputs.size(); ++i) start.order += kAndOrder + inputs[i].order;
  return start;
}

}  // namespace

Answer Model::join_batch(const Start& start) {
  const std::string key = definition_.batch_keyed ? start.customer : "";
  if (definition_.rate_limit > 0) starts_[rate_key(start)].push_back(now_);
  const auto [place, is_first] = pending_.try_emplace(key);
  Pending& batch = place->second;
  if (is_first) batch.chain = ++chains_;
  // "How long after the first input of a batch the instance starts at the latest."
  if (is_first || fault_ == Fault::kTimeoutMoves) batch.at = now_ + definition_.batch_timeout;
  batch.inputs.push_back(start);
  batch.start = start_of_batch(batch.inputs);
  answer_caller(start, {""});
  const auto most =
      static_cast<size_t>(definition_.batch_size + (fault_ == Fault::kOneInputMore ? 1 : 0));
  const bool is_full = batch.inputs.size() >= most;
  if (is_full) batch.at = now_;
  const Answer answer{.put_off = true, .starts_at = batch.at, .chain = batch.chain};
  if (!is_full) return answer;
  // "Beside a full batch the next one begins."
  const std::string name = "full " + std::to_string(answer.chain);
  auto full = pending_.extract(place);
  full.key() = name;
  pending_.insert(std::move(full));
  try_pending(name);
  return answer;
}

void Model::set_batch(int size, Duration timeout) {
  definition_.batch_size = size;
  definition_.batch_timeout = timeout;
}

}  // namespace millrace::queue_model
