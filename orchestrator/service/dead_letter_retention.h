// DeadLetterRetention: deletes dead letters that the settings of their namespace no longer keep
// (DeadLetterRule). Once in a minute a pass looks through the namespaces with such a rule. It works
// in portions, so that a namespace with many old dead letters does not delay the others and no
// request keeps the broker busy for long. The thread `dead letters` makes the passes, because each
// request waits for the broker.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/definition/retention_settings.h"
#include "orchestrator/loop/metrics.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/dead_letter_queue.h"
#include "orchestrator/store/disk/environment.h"
#include "policies/duration.h"

namespace millrace {

/// The bounds of a pass.
struct DeadLetterPassBounds {
  /// How many dead letters a portion deletes at most by each member of a rule. Must be at least 1.
  /// To delete up to a sequence, nats-server 2.9 reads all dead letters of the namespace, so many
  /// small portions would take longer than a few large ones.
  uint64_t portion = 50'000;
  size_t portions = 1'000;  ///< how many portions one pass has at most
};

class DeadLetterRetention {
 public:
  /// The first four arguments outlive the object.
  DeadLetterRetention(const Environment& environment, const Clock& clock, DeadLetterQueue& queue,
                      Metrics& metrics, DeadLetterPassBounds bounds = {})
      : environment_(environment),
        clock_(clock),
        queue_(queue),
        metrics_(metrics),
        bounds_(bounds) {}

  /// Ends the thread; waits for the portion that it deletes.
  ~DeadLetterRetention();
  DeadLetterRetention(const DeadLetterRetention&) = delete;
  DeadLetterRetention& operator=(const DeadLetterRetention&) = delete;

  /// Starts the thread, which makes the first pass at once, or as soon as the queue is usable. To
  /// be called once.
  void start();

  /// Makes one pass, if the queue is usable; returns whether it is. The metrics show whether a pass
  /// is running, and when the last one ended and the next one begins. A namespace gets another
  /// portion after all others have had one. If the pass ends before all portions are done, the next
  /// pass begins with the next namespace. A failure is counted, and logged if the pass before did
  /// not fail with the same code; the next pass tries again. Not to be called after start().
  bool pass();

 private:
  /// By the name of the namespace.
  using Rules = std::map<std::string, DeadLetterRule, std::less<>>;

  void run();
  bool is_stopping();
  Status delete_portions();
  Result<Rules> read_rules() const;
  Result<bool> delete_portion(const std::string& ns, const DeadLetterRule& rule, TimePoint now);
  Result<bool> delete_by_count(const std::string& ns, uint64_t count);
  Result<bool> delete_by_age(const std::string& ns, const Span& age, TimePoint now);

  const Environment& environment_;
  const Clock& clock_;
  DeadLetterQueue& queue_;
  Metrics& metrics_;
  const DeadLetterPassBounds bounds_;

  // Only for the thread that makes the passes.
  std::string next_;     ///< the next pass begins with the first namespace from this name on
  std::string failure_;  ///< the error code of the last pass; empty: it did not fail
  PassTimes passes_;     ///< as the metrics have them

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace millrace
