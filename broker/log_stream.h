// The stream that has the log of a cluster (docs/FORMATS.md). It is created once, when the cluster
// is founded: a node that does not find the stream must not create an empty log beside the commits
// that the nodes have. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "broker/connection.h"
#include "broker/stream_options.h"
#include "broker/streams.h"

namespace millrace {

/// The stream `MILLRACE_LOG_<cluster>_0`, with the subject `millrace.log.<cluster>.0`. `cluster`: a
/// name that check_cluster_name() accepts.
StreamSettings log_stream(std::string_view cluster, const StreamOptions& options = {});

/// Creates the log of a new cluster. An empty log of an earlier attempt is used. Errors:
/// `cluster.founded`, the log has messages already; those of ensure_stream().
Result<StreamInfo> found_log(Connection& connection, const StreamSettings& log);

/// The log of a cluster that was founded. Errors: `cluster.not_founded`, the stream does not exist;
/// those of find_stream().
Result<StreamInfo> find_log(Connection& connection, const StreamSettings& log);

/// The log, for a node that has it up to the sequence `behind`; 0: it has nothing of it. Errors:
/// `cluster.log_deleted`, the node has a part of it, and the stream does not exist; those of
/// find_log().
Result<StreamInfo> find_log_behind(Connection& connection, const StreamSettings& log,
                                   uint64_t behind);

/// The error `cluster.key` of a node that can read nothing of the log.
Error log_of_another_key(const StreamSettings& log);

/// Ok if no cluster was founded with the log: it does not exist, or is empty. Errors:
/// `cluster.founded`; those of find_stream().
Status check_not_founded(Connection& connection, const StreamSettings& log);

/// The time by the clock of the leader of the log. Errors: `cluster.broker`, the NATS server is
/// older than 2.10, which does not say its time; `cluster.not_founded`; those of Connection::api().
Result<TimePoint> time_of_log(Connection& connection, const StreamSettings& log);

/// Removes the messages of the log before the sequence `before`, which stays. `created`: of the log
/// (StreamInfo) that the caller means. Precondition: a complete snapshot has everything up to
/// `before`. Errors, with which nothing is removed: `log.recreated`, the stream is another one;
/// `log.lost`, the stream ends before that sequence; those of find_log(). After an error of
/// Connection::api() it is not known whether they were removed.
Status trim_log(Connection& connection, const StreamSettings& log, int64_t created,
                uint64_t before);

/// Removes all messages of a log that ends before the sequence `last`, so that the next message
/// gets the sequence last + 1. Precondition: an operator continues the log with a snapshot that has
/// everything up to `last`. `created`: as for trim_log(). Errors, with which nothing is removed:
/// `log.recreated`; `log.diverged`, the log has messages behind `last`; those of find_log(). After
/// an error of Connection::api() it is not known whether they were removed.
Status skip_log_to(Connection& connection, const StreamSettings& log, int64_t created,
                   uint64_t last);

}  // namespace millrace
