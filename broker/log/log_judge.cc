#include "broker/log/log_judge.h"

#include <utility>

#include <fmt/format.h>

#include "broker/log/log_payload.h"

namespace millrace {
namespace {

tl::unexpected<Error> diverged(std::string why) { return fail("log.diverged", std::move(why)); }

/// A message in a sentence.
std::string described(const LogMessage& message) {
  return fmt::format(
      "message {} of the log (a {}, epoch {}, incarnation {}, commit {}, part {}/{})",
      message.expected + 1, name_of(message.kind), message.epoch, to_hex(message.incarnation),
      message.commit, message.part.number, message.part.count);
}

/// Whether `next` is the part behind `part`.
bool is_next_part(const LogMessage& part, const LogMessage& next) {
  return next.part.number == part.part.number + 1 && next.part.count == part.part.count &&
         next.commit == part.commit && next.is_packed == part.is_packed &&
         next.format == part.format;
}

}  // namespace

Result<LogSeen> LogJudge::see(uint64_t sequence, NatsMessage message) {
  if (failed_) return tl::unexpected<Error>(*failed_);
  Result<LogSeen> seen = judge(sequence, std::move(message));
  if (!seen) failed_ = seen.error();
  return seen;
}

Result<LogSeen> LogJudge::judge(uint64_t sequence, NatsMessage message) {
  if (sequence != history_.place.sequence + 1) {
    return diverged(
        fmt::format("the next message of the log is {}; expected {}: the log was "
                    "trimmed behind this node, has lost messages or was deleted",
                    sequence, history_.place.sequence + 1));
  }
  Result<LogMessage> read = read_log_message(key_, sequence, std::move(message));
  if (!read) return pass_over(sequence, std::move(read).error().message);
  if (read->previous != history_.place.chain) {
    // A part is sent before the part before it is certain, so it may stand behind something else.
    if (read->part.number > 1) {
      return pass_over(sequence, described(*read) + " does not follow the part before it");
    }
    return diverged(fmt::format("{} follows the chain {}; expected {}, which this node has read",
                                described(*read), to_hex(read->previous),
                                to_hex(history_.place.chain)));
  }
  if (read->format > newest_format_) {
    return fail("store.version",
                fmt::format("{} is for stores of the format {}; this release reads {} at most: "
                            "install a newer release on this node",
                            described(*read), read->format, newest_format_));
  }
  TRY(check_number(*read));
  const LogPlace place{sequence, read->chain};
  LogMessage copy = *read;
  Result<LogSeen> seen;
  if (read->kind == LogKind::kCommit) {
    seen = add_part(*std::move(read));
  } else {
    part_.reset();
    joined_.clear();
    if (read->kind == LogKind::kBegin) {
      seen = begin_epoch(*read);
    } else {
      seen = LogSeen{read->kind == LogKind::kBeat ? LogSeen::What::kBeat : LogSeen::What::kEnd};
    }
  }
  if (!seen) return seen;
  history_.place = place;
  seen->message = std::move(copy);
  return seen;
}

LogSeen LogJudge::pass_over(uint64_t sequence, std::string why) {
  ++foreign_;
  history_.place.sequence = sequence;
  return {.what = LogSeen::What::kForeign, .why = std::move(why)};
}

/// Whether the `begin` may have a later epoch than the next one: it is the first one of a log, or
/// one with which an operator continues a log that has lost epochs.
bool LogJudge::leaves_epochs_out(const LogMessage& message) const {
  if (history_.epoch == 0) return message.epoch > 0;
  if (message.epoch <= history_.epoch) return false;
  const Result<LogBegin> begin = decode_log_begin(message.payload);
  return begin && begin->base.has_value();
}

/// The message follows the one before it; so its numbers follow too, unless its writer has a bug.
Status LogJudge::check_number(const LogMessage& message) const {
  const bool is_begin = message.kind == LogKind::kBegin;
  const uint64_t epoch = history_.epoch + (is_begin ? 1 : 0);
  const uint64_t commit =
      is_begin ? 0 : history_.commit + (message.kind == LogKind::kCommit ? 1 : 0);
  const bool is_epoch = message.epoch == epoch || (is_begin && leaves_epochs_out(message));
  if (!is_epoch || message.commit != commit) {
    return diverged(fmt::format("{} does not follow: expected epoch {}, commit {}",
                                described(message), epoch, commit));
  }
  if (!is_begin && message.incarnation != history_.incarnation) {
    return diverged(
        fmt::format("{} does not follow: expected the incarnation {}, which began the "
                    "epoch",
                    described(message), to_hex(history_.incarnation)));
  }
  return {};
}

Result<LogSeen> LogJudge::add_part(LogMessage message) {
  const bool follows =
      message.part.number == 1 || (part_.has_value() && is_next_part(*part_, message));
  if (!follows) {
    return diverged(fmt::format("{} does not follow: expected part {}", described(message),
                                part_ ? part_->part.number + 1 : 1));
  }
  if (message.part.number == 1) joined_.clear();
  if (message.payload.size() > kMostLogCommitBytes - joined_.size()) {
    return fail("log.unreadable", fmt::format("{}: the commit has more than {} bytes",
                                              described(message), kMostLogCommitBytes));
  }
  joined_ += message.payload;
  message.payload.clear();
  if (message.part.number < message.part.count) {
    part_ = std::move(message);
    return LogSeen{LogSeen::What::kPart};
  }
  part_.reset();
  Result<std::string> write_set =
      unpack_log_payload(message.is_packed, std::exchange(joined_, std::string()));
  if (!write_set) return fail_in(described(message), std::move(write_set).error());
  history_.commit = message.commit;
  return LogSeen{.what = LogSeen::What::kCommit, .write_set = *std::move(write_set)};
}

Result<LogSeen> LogJudge::begin_epoch(const LogMessage& message) {
  Result<LogBegin> begin = decode_log_begin(message.payload);
  if (!begin) return fail_in(described(message), std::move(begin).error());
  if (begin->behind_epoch != history_.epoch || begin->behind_incarnation != history_.incarnation) {
    return diverged(fmt::format("{} names epoch {} of {} as the one before it; expected {} of {}",
                                described(message), begin->behind_epoch,
                                to_hex(begin->behind_incarnation), history_.epoch,
                                to_hex(history_.incarnation)));
  }
  history_.epoch = message.epoch;
  history_.incarnation = message.incarnation;
  history_.node = begin->node;
  history_.commit = 0;
  return LogSeen{.what = LogSeen::What::kBegin, .begin = *std::move(begin)};
}

}  // namespace millrace
