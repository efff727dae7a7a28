// AnswerStager: between the runners of tasks and the intake. If the files of an answer are large,
// their bytes go to the intake before it, in pieces: one report after the other, each as soon as
// the commit with the one before is done. So no commit is as large as the files, and the work of
// others comes between. All other reports are passed on as they are. Any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/task.h"
#include "orchestrator/ports/task_runner.h"

namespace millrace {

/// The bytes of the variables of an answer that are stored with it.
inline constexpr size_t kMostBytesWithAnswer = size_t{1} << 20;
/// Of an answer with more, the smaller values are stored with it in any case.
inline constexpr size_t kLeastStagedBytes = size_t{4} << 10;
/// The bytes of the pieces in one report; a value has the fewest pieces that this permits.
inline constexpr size_t kMostBytesInPieces = size_t{256} << 10;

class AnswerStager final : public TaskSink {
 public:
  using Then = std::function<void(Result<std::vector<TaskVariable>> variables)>;

  /// `sink` must outlive this object.
  explicit AnswerStager(TaskSink& sink) : sink_(sink) {}

  void report(TaskReport report, std::function<void()> stored) override;

  /// Passes the bytes of the variables to the sink if they are many. Then calls `then` once, on any
  /// thread, with the variables as the report or the command with the answer should have them.
  /// Error `stopping`, in `then`: see end().
  void stage(const InstanceId& task, std::vector<TaskVariable> variables, Then then);

  /// To be called when the sink takes no report any more: answers that are under way, and later
  /// ones, get the error `stopping`.
  void end();

 private:
  struct Staging;
  using StagingPtr = std::shared_ptr<Staging>;

  void go_on(const StagingPtr& staging);

  TaskSink& sink_;
  std::mutex mutex_;
  std::set<StagingPtr> under_way_;  ///< guarded by mutex_
  bool has_ended_ = false;          ///< guarded by mutex_
};

}  // namespace millrace
