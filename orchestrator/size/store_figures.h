// Store figures: how large a store and its archive are, and how many instances of each namespace it
// has. They are read from the index rows (index_rows.h), from sizes that the store keeps, and from
// the list of the archive's files, without a scan of the instances. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/rows/index_rows.h"

namespace millrace {

struct NamespaceUsage {
  std::string ns;
  Usage usage;
  std::optional<TimePoint> oldest_ended = {};  ///< as StoreFigures::oldest_ended
};

struct StoreFigures {
  StoreSize size;
  std::optional<uint64_t> checkpoint_rate;  ///< Environment::checkpoint_rate()
  std::chrono::nanoseconds commit_waits{};  ///< the time of Environment::commit_waits()
  /// Each namespace, in the order of the names. nullopt: the index that counts the instances is not
  /// complete (index_build.h).
  std::optional<std::vector<NamespaceUsage>> namespaces;
  /// The lowest time in the id of an ended instance that the store still has, which is about the
  /// time of its start; nullopt: the store has no ended instance.
  std::optional<TimePoint> oldest_ended;
  std::optional<uint64_t> archive_bytes;  ///< see archive_bytes() in archive_files.h
};

/// The figures after the last commit. A namespace whose row of `usage` is damaged is left out.
/// Errors: those of check_known_numbers(), a damaged row of `namespaces`, and those of the store.
Result<StoreFigures> read_figures(const Environment& environment);

/// {"dataBytes","usedBytes","freeBytes","journalBytes","waitingRows","waitingBytes",
/// "checkpointBytesPerSecond"?,"archiveBytes"?,"oldestEnded"?,"namespaces"?:[{"namespace","live",
/// "ended","rowBytes","historyBytes","otherBytes","oldestEnded"?}]}
Json to_json(const StoreFigures& figures);

}  // namespace millrace
