// EarlyEventThread: the thread that searches the event stream for early events (`lookback`), so
// that the engine thread does not wait for the broker, nor for the start of a thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/early_events.h"
#include "model/effect.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/stored_events.h"
#include "orchestrator/service/early_event_feed.h"
#include "orchestrator/service/early_event_search.h"

namespace millrace {

class EarlyEventThread {
 public:
  using Done = EarlyEventSearch::Done;

  /// The arguments outlive the object. `feed`: see EarlyEventSearch. Throws std::system_error if
  /// the system has no more threads.
  EarlyEventThread(StoredEvents& events, const Clock& clock, EarlyEventFeed* feed = nullptr);
  /// Ends the thread; waits for its request to the broker. Searches that were not answered are
  /// dropped: the next process asks again.
  ~EarlyEventThread();
  EarlyEventThread(const EarlyEventThread&) = delete;
  EarlyEventThread& operator=(const EarlyEventThread&) = delete;

  /// As EarlyEventFinder. `done` is called on the thread. A search that fails is repeated every
  /// half second.
  void ask(LookBack asked, Done done);

  /// How many searches were not answered yet. Any thread.
  size_t waiting() const;

 private:
  void run();
  void note(const Status& turned);

  const Clock& clock_;

  // Only for the thread.
  EarlyEventSearch search_;
  bool failing_ = false;  ///< the last turn failed

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  bool stopping_ = false;
  std::vector<std::pair<LookBack, Done>> asked_;
  size_t searching_ = 0;  ///< the searches of search_
  std::thread thread_;
};

}  // namespace millrace
