// LiveReader: the LiveReads of a server: a thread of its own reads from the broker, so that the
// thread of the live messages does not wait. The thread starts with the first question.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "orchestrator/service/live_reads.h"

namespace millrace {

class LiveReader final : public LiveReads {
 public:
  /// The arguments outlive the object.
  LiveReader(StoredEvents& events, StoredLetters& letters, const Clock& clock)
      : events_(events), letters_(letters), clock_(clock) {}
  ~LiveReader() override { stop(); }
  LiveReader(const LiveReader&) = delete;
  LiveReader& operator=(const LiveReader&) = delete;

  // Any thread.
  void ask(LiveQuestion question) override;
  std::vector<LiveAnswer> take() override;

  /// Ends the thread; waits for its request to the broker. Questions without an answer are dropped.
  /// May be called again.
  void stop();

 private:
  void run();
  LiveAnswer answer(LiveQuestion question);

  StoredEvents& events_;
  StoredLetters& letters_;
  const Clock& clock_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  bool stopping_ = false;
  std::vector<LiveQuestion> asked_;
  std::vector<LiveAnswer> answers_;
  std::thread thread_;
};

}  // namespace millrace
