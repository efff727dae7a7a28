// JetStreamStoredLetters: the StoredLetters in the stream MILLRACE_DLQ. Any thread.
// orchestrator/outgoing/messages creates dead letters; dead_letter_queue.h deletes old ones.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "broker/connection.h"
#include "broker/stream_options.h"
#include "broker/streams.h"
#include "orchestrator/ports/stored_letters.h"

namespace millrace {

/// The subjects on the broker of all dead letters of a namespace, with a wildcard.
std::string dead_letter_subjects(std::string_view prefix, std::string_view ns);

class JetStreamStoredLetters final : public StoredLetters {
 public:
  /// Reads with `reading`, and deletes with `working`, which is usable only while this process owns
  /// the streams. Both must outlive this object.
  JetStreamStoredLetters(Connection& reading, Connection& working, const StreamOptions& streams);

  Result<StreamSpan> span() override;
  Result<std::map<std::string, uint64_t>> count(std::string_view ns) override;
  Result<std::map<std::string, uint64_t>> count_by_namespace(std::string_view reason) override;
  Result<StoredEvent> get(std::string_view ns, uint64_t sequence) override;
  Result<StoredEvents::Page> read(const Range& range) override;
  Status remove(uint64_t sequence) override;
  Result<uint64_t> remove_all(std::string_view ns, std::string_view reason, uint64_t last) override;

 private:
  std::string subjects_of(std::string_view ns, std::string_view reason) const;

  Connection& reading_;
  Connection& working_;
  const std::string prefix_;
  const StreamSettings stream_;
};

}  // namespace millrace
