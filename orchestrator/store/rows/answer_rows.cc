#include "orchestrator/store/rows/answer_rows.h"

#include <utility>

#include "base/codec.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

constexpr std::string_view kAnsweredKey = "given-answers/";

/// Version 1 does not say which way an answer came, and when.
constexpr uint8_t kAnswersVersion = 2;

/// How many rows a namespace has at most: one for each value of a byte.
constexpr size_t kMostAnswerRows = 256;

std::string answers_prefix(NamespaceNumber ns) {
  return std::string(kAnsweredKey).append(ns_prefix(ns));
}

std::string answers_key(NamespaceNumber ns, const InstanceId& task) {
  Writer key(answers_prefix(ns));
  key.u8(task.bytes.back());
  return key.take();
}

Result<std::optional<std::vector<GivenAnswer>>> read_answers(const View& view, NamespaceNumber ns,
                                                             const InstanceId& task) {
  return read(view, Table::kMeta, answers_key(ns, task), decode_answers);
}

}  // namespace

std::string encode_answers(const std::vector<GivenAnswer>& answers) {
  Writer writer = begin_record(kAnswersVersion);
  writer.varint(answers.size());
  for (const GivenAnswer& one : answers) {
    writer.id(one.task.bytes);
    writer.id(one.outcome);
    put_enum(writer, one.by);
    put_time(writer, one.at);
  }
  return writer.take();
}

Result<std::vector<GivenAnswer>> decode_answers(std::string_view bytes) {
  Reader reader(bytes);
  const uint8_t version = read_version(reader, kAnswersVersion);
  std::vector<GivenAnswer> answers;
  const size_t count = reader.count();
  if (count == 0 || count > kMostAnswersOfRow) reader.fail();
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    GivenAnswer one;
    one.task.bytes = reader.id();
    one.outcome = reader.id();
    if (version > 1) {
      one.by = get_enum(reader, AnsweredBy::kOperator);
      one.at = get_time(reader);
    }
    answers.push_back(one);
  }
  return end_record(reader, std::move(answers), "answers");
}

std::optional<AnswersPlace> answers_place(std::string_view key) {
  if (!key.starts_with(kAnsweredKey)) return std::nullopt;
  Reader reader(key.substr(kAnsweredKey.size()));
  AnswersPlace place;
  place.ns = NamespaceNumber(reader.u32());
  place.last = reader.u8();
  if (!reader.done() || place.ns == NamespaceNumber(0)) return std::nullopt;
  return place;
}

Result<std::optional<GivenAnswer>> read_answer(const View& view, NamespaceNumber ns,
                                               const InstanceId& task) {
  const auto answers = TRY(read_answers(view, ns, task));
  if (!answers) return std::optional<GivenAnswer>();
  for (const GivenAnswer& one : *answers) {
    if (one.task == task) return std::optional(one);
  }
  return std::optional<GivenAnswer>();
}

Status add_answer(Transaction& tx, NamespaceNumber ns, const GivenAnswer& answer) {
  auto read = read_answers(tx, ns, answer.task);
  if (!read && !is_damaged_row(read.error())) return tl::unexpected(std::move(read).error());
  std::vector<GivenAnswer> answers;
  if (read && *read) answers = **std::move(read);
  if (answers.size() >= kMostAnswersOfRow) answers.erase(answers.begin());
  answers.push_back(answer);
  tx.put(Table::kMeta, answers_key(ns, answer.task), encode_answers(answers));
  return {};
}

Status erase_answers(Transaction& tx, NamespaceNumber ns) {
  TRY(erase_some(tx, Table::kMeta, answers_prefix(ns), kMostAnswerRows));
  return {};
}

}  // namespace millrace
