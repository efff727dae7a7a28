// JetStreamDeadLetterQueue: the DeadLetterQueue in the stream MILLRACE_DLQ, by requests of the
// JetStream API. Any thread.
#pragma once

#include <string>

#include "base/json.h"
#include "broker/connection.h"
#include "broker/stream_options.h"
#include "orchestrator/ports/dead_letter_queue.h"

namespace millrace {

class JetStreamDeadLetterQueue final : public DeadLetterQueue {
 public:
  /// `connection` must outlive this object.
  JetStreamDeadLetterQueue(Connection& connection, const StreamOptions& streams);

  bool is_usable() const override;
  Result<uint64_t> count(std::string_view ns) override;
  Result<std::optional<LetterPlace>> next(std::string_view ns, uint64_t from) override;
  Result<uint64_t> delete_before(std::string_view ns, uint64_t sequence) override;
  Result<uint64_t> delete_all_but(std::string_view ns, uint64_t kept) override;

 private:
  Result<uint64_t> purge(const Json& request);

  Connection& connection_;
  const std::string prefix_;
  const std::string stream_;
};

}  // namespace millrace
