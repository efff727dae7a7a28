// ThreadTimes: how long the threads of a process have run, and how long they have waited for a
// processor although they could run, as Linux counts both.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

/// Both in seconds.
struct ThreadTime {
  double runs = 0;   ///< the processor time
  double waits = 0;  ///< for a processor; waits for a lock, a message or the disk do not count
};

/// By the name of the thread; the times of threads with one name are added up.
using ThreadTimes = std::map<std::string, ThreadTime>;

/// The times in the text of a file `schedstat`; nullopt: it has none.
std::optional<ThreadTime> parse_schedstat(std::string_view text);

/// The times of all threads that the process has now; empty: the kernel does not count them.
ThreadTimes thread_times(int pid);

/// What has been added between two readings.
ThreadTimes added_between(const ThreadTimes& before, const ThreadTimes& after);

/// "runs + waits" in percent of an interval of so many seconds; "-": no thread has that name.
std::string in_percent(const ThreadTimes& times, const std::string& thread, double seconds);

/// The threads that have run or waited longest, except one, as "name runs + waits" in percent of an
/// interval of so many seconds, at most `most` of them.
std::string busiest(ThreadTimes times, const std::string& except, double seconds, size_t most);

}  // namespace millrace
