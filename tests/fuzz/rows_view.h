// RowsView: a View of rows in memory, also of rows that no release writes. For one thread.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "orchestrator/store/transaction.h"

namespace millrace::fuzz {

class RowsView final : public View {
 public:
  using Rows = std::map<std::string, std::string, std::less<>>;

  explicit RowsView(std::map<Table, Rows> rows) : rows_(std::move(rows)), seal_(Seal::make()) {}

  const std::map<Table, Rows>& rows() const { return rows_; }

  std::optional<std::string_view> get(Table table, std::string_view key) const override {
    const Rows& rows = rows_of(table);
    const auto found = rows.find(key);
    return found == rows.end() ? std::nullopt : std::optional<std::string_view>(found->second);
  }

  using View::scan;
  void scan(Table table, std::string_view prefix, std::string_view from, Direction direction,
            const Visitor& visit) const override {
    const Rows& rows = rows_of(table);
    if (direction == Direction::kForward) {
      for (auto row = rows.lower_bound(std::max(prefix, from));
           row != rows.end() && row->first.starts_with(prefix); ++row) {
        if (!visit(row->first, row->second)) return;
      }
      return;
    }
    auto row = from.empty() ? rows.end() : rows.lower_bound(from);
    while (row != rows.begin()) {
      --row;
      if (row->first < prefix) return;
      if (row->first.starts_with(prefix) && !visit(row->first, row->second)) return;
    }
  }

  size_t about_rows(Table table) const override { return rows_of(table).size(); }
  const Seal& seal() const override { return seal_; }
  const Status& status() const override { return status_; }

 private:
  const Rows& rows_of(Table table) const {
    static const Rows none;
    const auto found = rows_.find(table);
    return found == rows_.end() ? none : found->second;
  }

  std::map<Table, Rows> rows_;
  Seal seal_;
  Status status_;
};

}  // namespace millrace::fuzz
