// JetStreamOrigins: the OriginStreams of JetStream. A stream that keeps its messages is read
// through a pull consumer without acknowledgements, which the broker removes some time after its
// reader has ended.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "broker/connection.h"
#include "broker/stream_options.h"
#include "orchestrator/ports/origin_streams.h"

namespace millrace {

/// Reads the answer to STREAM.INFO. Errors: `broker.protocol`. Pure.
Result<OriginState> read_origin_state(const Json& answer);

/// The name of the stream of millrace servers with that prefix, in the same account, of which the
/// stream in the answer to STREAM.INFO is a mirror or a copy; empty: there is none. Pure.
std::string own_stream_behind(std::string_view prefix, const Json& answer);

/// Whether the stream is one of the streams of millrace servers with that prefix. Pure.
bool is_own_stream(std::string_view prefix, std::string_view stream);

class JetStreamOrigins final : public OriginStreams {
 public:
  /// `connection` must outlive this object.
  /// `inbox_prefix`: of the inboxes of this server.
  JetStreamOrigins(Connection& connection, const StreamOptions& streams, std::string inbox_prefix)
      : connection_(connection), options_(streams), inbox_prefix_(std::move(inbox_prefix)) {}

  Result<OriginState> find(const std::string& stream) override;
  Result<std::optional<OriginMessage>> message_at(const std::string& stream,
                                                  uint64_t sequence) override;
  Result<uint64_t> sequence_before(const std::string& stream, TimePoint time) override;
  Result<std::unique_ptr<OriginReader>> open(const OriginWish& wish) override;
  Status release_consumer(const std::string& stream, const std::string& consumer) override;
  std::string source_stream_name(std::string_view ns, std::string_view source) const override;
  Result<OriginState> find_source_stream(std::string_view ns, std::string_view source) override;
  Result<OriginState> ensure_source_stream(const SourceStream& wanted) override;
  Status remove_source_stream(std::string_view ns, std::string_view source) override;

 private:
  Connection& connection_;
  const StreamOptions options_;  ///< of millrace's own streams
  const std::string inbox_prefix_;
};

}  // namespace millrace
