#include "tests/support/judged_log.h"

#include <random>
#include <utility>

#include <fmt/format.h>

#include "broker/log_stream.h"
#include "broker/stored_message.h"

namespace millrace {
namespace {

std::string word_of(const LogSeen& seen, const LogHistory& history) {
  switch (seen.what) {
    case LogSeen::What::kBegin:
      return fmt::format("begin {}", history.epoch);
    case LogSeen::What::kCommit:
      return fmt::format("commit {}.{}", history.epoch, history.commit);
    case LogSeen::What::kBeat:
      return "beat";
    case LogSeen::What::kEnd:
      return "end";
    case LogSeen::What::kPart:
      return "part";
    case LogSeen::What::kForeign:
      break;
  }
  return "foreign";
}

}  // namespace

std::string random_bytes(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

std::vector<Fingerprint> contents_of(const std::vector<std::string>& write_sets) {
  std::vector<Fingerprint> contents;
  for (const std::string& write_set : write_sets) contents.push_back(fingerprint({write_set}));
  return contents;
}

Result<JudgedLog> judged_log(Connection& connection, const StreamSettings& log) {
  const StreamInfo stream = TRY(find_log(connection, log));
  LogJudge judge(kTestLogKey, kTestLogFormat, {});
  JudgedLog judged;
  for (uint64_t sequence = 1; sequence <= stream.last_sequence; ++sequence) {
    const Json query = {{"seq", sequence}};
    StoredMessage stored = TRY(fetch_stored(connection, log.name, query));
    LogSeen seen = TRY(judge.see(stored.sequence, std::move(stored.message)));
    judged.messages.push_back(word_of(seen, judge.history()));
    if (seen.what == LogSeen::What::kCommit) {
      judged.contents.push_back(fingerprint({seen.write_set}));
    }
  }
  judged.history = judge.history();
  return judged;
}

}  // namespace millrace
