// The durable consumers of MILLRACE_TASKS. millrace creates one consumer for each subject; all
// workers of that subject pull from it. The broker gives each task out once; a task ends at its own
// deadline, not at a limit of the broker. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "broker/connection.h"

namespace millrace {

/// Makes sure that consumer task_consumer(subject) exists. Errors: `broker.consumer` (the consumer
/// has settings with which workers can't take its tasks, or also get tasks of other subjects), and
/// those of Connection::api. `subject` is a subject inside millrace; the stream's name and subject
/// on the broker are those under `prefix`.
Status ensure_task_consumer(Connection& connection, std::string_view prefix,
                            const std::string& subject);

/// The sequence of the last message that the subject's consumer gave to a worker; 0: none. The
/// request may take `at_most`.
Result<uint64_t> last_given_out(Connection& connection, std::string_view prefix,
                                const std::string& subject, Duration at_most);

/// How many requests for tasks of the subject are open at its consumer: those of workers that have
/// nothing to do. 0: there is no consumer, because millrace has sent no task to the subject. The
/// request may take `at_most`. Errors: those of Connection::api.
Result<uint64_t> open_task_requests(const Connection& connection, std::string_view prefix,
                                    const std::string& subject, Duration at_most);

}  // namespace millrace
