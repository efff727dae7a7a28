// The durable consumers of MILLRACE_TASKS: one for each subject, made by us, that all workers of
// that subject pull from. The broker gives a task out once: when it is given up is for its deadline
// to say. Private to broker/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "broker/connection.h"

namespace millrace {

/// task_consumer(subject) is there. Errors: `broker.consumer` (it is set so that workers can't take
/// tasks from it, or tasks of other subjects come with them), and those of Connection::api.
/// `subject` is as inside millrace, the stream's name and subject are those under `prefix`.
Status ensure_task_consumer(Connection& connection, std::string_view prefix,
                            const std::string& subject);

/// The last message that its consumer has given to a worker; 0: none. The server may take `at_most`
/// to say it.
Result<uint64_t> last_given_out(Connection& connection, std::string_view prefix,
                                const std::string& subject, Duration at_most);

}  // namespace millrace
