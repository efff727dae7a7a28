#include "orchestrator/size/row_copy.h"

#include <optional>
#include <string>

#include <fmt/format.h>

#include "orchestrator/store/disk/page_check.h"
#include "orchestrator/store/disk/table.h"
#include "orchestrator/store/tables.h"

namespace millrace {
namespace {

/// How many bytes one transaction of the copy may change. The pages of a transaction are in memory
/// until it is committed.
constexpr uint64_t kStepBytes = uint64_t{16} << 20;

constexpr uint64_t kRowsPerCall = 4096;

KeyRange whole_table(Table table) {
  const auto letter = static_cast<char>(table);
  return {std::string(1, letter), std::string(1, static_cast<char>(letter + 1))};
}

/// Counts rows, and reports their number now and then.
class RowCounter {
 public:
  explicit RowCounter(const OnRows& report) : report_(report) {}

  void count() {
    if (++rows_ % kRowsPerCall == 0 && report_) report_(rows_);
  }
  uint64_t rows() const { return rows_; }

 private:
  const OnRows& report_;
  uint64_t rows_ = 0;
};

/// Writes rows into a file, in transactions of about kStepBytes.
class StepWriter {
 public:
  explicit StepWriter(LmdbFile& file) : file_(file) {}

  Status write(Table table, std::string_view key, std::string_view value) {
    if (!writer_) writer_.emplace(TRY(LmdbWriter::begin(file_)));
    bytes_ += TRY(writer_->write(AbsoluteKey(table, key).view(), value));
    if (bytes_ < kStepBytes) return {};
    return commit();
  }

  /// Commits the rest of the rows together with the number of the last commit; 0: there is none.
  Status finish(uint64_t checkpointed) {
    if (!writer_) writer_.emplace(TRY(LmdbWriter::begin(file_)));
    if (checkpointed > 0) TRY(writer_->set_checkpointed(checkpointed));
    return commit();
  }

 private:
  Status commit() {
    Status done = writer_->commit();
    writer_.reset();
    bytes_ = 0;
    return done;
  }

  LmdbFile& file_;
  std::optional<LmdbWriter> writer_;
  uint64_t bytes_ = 0;
};

tl::unexpected<Error> differs(std::string_view what) {
  return fail(std::string(kCopyDiffers),
              fmt::format("the compact copy is not equal to the store: {}; the store was not "
                          "changed: check it with `millrace verify`, and the disk",
                          what));
}

/// Compares the rows of one table.
Status check_table(const Snapshot& from, const LmdbReader& copy, Table table, RowCounter& rows) {
  const KeyRange range = whole_table(table);
  LmdbCursor copied(copy, range, Direction::kForward);
  bool is_equal = true;
  from.scan(table, {}, [&](std::string_view key, std::string_view value) {
    is_equal = copied.valid() && copied.key() == key && copied.value() == value;
    if (is_equal) copied.next();
    rows.count();
    return is_equal;
  });
  TRY(from.status());
  TRY(copy.status());
  if (is_equal && !copied.valid()) return {};
  return differs(
      fmt::format("after {} equal rows, a row of the table {} is missing, is another "
                  "one, or has another value",
                  rows.rows() - (is_equal ? 0 : 1), table_name(table)));
}

}  // namespace

Result<uint64_t> copy_rows(const Snapshot& from, LmdbFile& to, const OnRows& copied) {
  RowCounter rows(copied);
  StepWriter writer(to);
  for (const Table table : tables_in_order()) {
    Status written;
    from.scan(table, {}, [&](std::string_view key, std::string_view value) {
      written = writer.write(table, key, value);
      rows.count();
      return written.has_value();
    });
    TRY(std::move(written));
    TRY(from.status());
  }
  TRY(writer.finish(from.commit()));
  return rows.rows();
}

Status check_copy(const Snapshot& from, const LmdbFile& copy, const OnRows& compared) {
  const PageReport pages = TRY(copy.check_pages({.most_damages = 1}));
  if (pages.count > 0) return differs(to_string(pages.damages.front()));
  LmdbReader reader(copy);
  if (!reader.begin()) return reader.status();
  RowCounter rows(compared);
  for (const Table table : tables_in_order()) TRY(check_table(from, reader, table, rows));
  return {};
}

}  // namespace millrace
