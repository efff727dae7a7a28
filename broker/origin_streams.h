// JetStreamOrigins: the OriginStreams of JetStream. A stream is read through a pull consumer
// without acknowledgements, which the broker removes some time after its reader has ended.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "broker/connection.h"
#include "broker/stream_options.h"
#include "orchestrator/ports/origin_streams.h"

namespace millrace {

/// Reads the answer to STREAM.INFO. Errors: `broker.protocol`. Pure.
Result<OriginState> read_origin_state(const Json& answer);

/// Whether the stream is one of the streams of millrace servers with that prefix. Pure.
bool is_own_stream(std::string_view prefix, std::string_view stream);

class JetStreamOrigins final : public OriginStreams {
 public:
  /// `connection` must outlive this object.
  JetStreamOrigins(Connection& connection, const StreamOptions& streams)
      : connection_(connection), prefix_(streams.prefix) {}

  Result<OriginState> find(const std::string& stream) override;
  Result<std::optional<TimePoint>> stamp_of(const std::string& stream, uint64_t sequence) override;
  Result<uint64_t> sequence_before(const std::string& stream, TimePoint time) override;
  Result<std::unique_ptr<OriginReader>> open(const OriginWish& wish) override;

 private:
  Connection& connection_;
  const std::string prefix_;  ///< of the names of millrace's own streams
};

}  // namespace millrace
