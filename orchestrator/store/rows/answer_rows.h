// Answer rows: the newest answers that callbacks and operators have given to tasks, so that the
// repetition of an answer is recognised, and another answer gets to know what came before. Rows
// `given-answers/` of table `meta`: each namespace has at most 256 of them, by the last byte of the
// action id, which is random, and a row has the newest answers to tasks with that byte. A damaged
// row gives an error that names it (damage.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "model/answered_by.h"
#include "model/instance.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The first minor number of a store with such rows.
inline constexpr uint64_t kMinorOfAnswers = 9;

/// The first minor number of a store whose rows say which way an answer came, and when.
inline constexpr uint64_t kMinorOfAnswerTimes = 13;

/// The most answers in one row; a further one replaces the oldest.
inline constexpr size_t kMostAnswersOfRow = 16;

/// The answer that a callback or an operator has given to a task.
struct GivenAnswer {
  InstanceId task;        ///< its action id
  Fingerprint outcome{};  ///< of what the answer said; keyed, because the row is not sealed
  AnsweredBy by = AnsweredBy::kRunner;  ///< kRunner: not known, an older release wrote the row
  TimePoint at{};                       ///< the engine time of the answer, if `by` is known

  bool operator==(const GivenAnswer&) const = default;
};

/// The answers of one row, the oldest first; a task is in it once.
std::string encode_answers(const std::vector<GivenAnswer>& answers);
/// Decoding fails with `store.corrupt`.
Result<std::vector<GivenAnswer>> decode_answers(std::string_view bytes);

/// The namespace and the last byte of the action ids in the key of a row.
struct AnswersPlace {
  NamespaceNumber ns{};
  uint8_t last = 0;

  bool operator==(const AnswersPlace&) const = default;
};
/// nullopt: the key of such a row has another form.
std::optional<AnswersPlace> answers_place(std::string_view key);

/// The answer that a callback or an operator has given to the task; nullopt: none has, or newer
/// answers have replaced it.
Result<std::optional<GivenAnswer>> read_answer(const View& view, NamespaceNumber ns,
                                               const InstanceId& task);
/// Adds an answer. What a damaged row had is lost. Errors: those of the store.
Status add_answer(Transaction& tx, NamespaceNumber ns, const GivenAnswer& answer);
/// Erases the answers of a namespace, at most 256 rows. Errors: those of the store.
Status erase_answers(Transaction& tx, NamespaceNumber ns);

}  // namespace millrace
