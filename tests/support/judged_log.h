// Reads the whole log of a cluster without the LogReader, and judges it: what a test compares with
// what was appended and read. Also makes the payloads of commits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "broker/connection.h"
#include "broker/log/log_judge.h"
#include "broker/streams.h"
#include "orchestrator/ports/commit_log.h"

namespace millrace {

/// The key of the logs in tests, and the format of their stores.
inline const std::string kTestLogKey(32, 'k');
inline constexpr uint64_t kTestLogFormat = 7;

/// A name of a node or an incarnation.
inline RandomName random_name_of(uint8_t number) {
  RandomName name{};
  name.back() = number;
  return name;
}

/// That many bytes, which cannot be compressed; equal for equal arguments.
std::string random_bytes(size_t size, uint32_t seed);

/// The fingerprint of each of these write-sets.
std::vector<Fingerprint> contents_of(const std::vector<std::string>& write_sets);

struct JudgedLog {
  /// For each message: "begin <epoch>", "commit <epoch>.<number>", "part", "beat", "end",
  /// "foreign".
  std::vector<std::string> messages;
  std::vector<Fingerprint> contents;  ///< of the write-sets of the commits
  LogHistory history;
};

/// Reads the stream from its first message to its last one. Errors: those of find_log(), of
/// fetch_stored() and of LogJudge::see().
Result<JudgedLog> judged_log(Connection& connection, const StreamSettings& log);

}  // namespace millrace
