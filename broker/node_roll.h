// NodeRoll: how the nodes of a cluster ask one another for their state, by a request to which every
// node answers. The answers are for people to read, keep a node from being the active, and let a
// node continue a log that has lost something (cluster/log_recovery.h). So each answer has a keyed
// hash over the question and the state: no other program can make one, or repeat one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "broker/connection.h"
#include "broker/nats_handles.h"
#include "broker/stream_options.h"

namespace millrace {

class Listening;

/// The subject on which the nodes of that cluster answer.
std::string node_roll_subject(std::string_view cluster, const StreamOptions& options = {});

class NodeRoll {
 public:
  /// The most answers that ask() takes, and the most bytes of one.
  static constexpr size_t kMostNodes = 64;
  static constexpr size_t kMostBytes = 16'384;

  /// `connection` must outlive this object. `key`: 32 bytes, the same for all nodes. `describe`
  /// returns the state of this node, a JSON object; it is called on a thread of nats.c and must not
  /// block.
  NodeRoll(Connection& connection, std::string subject, std::string key,
           std::function<Json()> describe);

  ~NodeRoll();
  NodeRoll(const NodeRoll&) = delete;
  NodeRoll& operator=(const NodeRoll&) = delete;

  /// Answers the others from now on, unless it does already. To be called every few seconds: a
  /// connection that is another one now needs a new subscription. Errors: `broker.unreachable`.
  Status answer();

  /// The states of all nodes whose answers came within `at_most`, this one included. Other answers
  /// are passed over, and the first of them is logged. Any thread; blocks that long. Errors:
  /// `broker.unreachable`.
  Result<std::vector<Json>> ask(Duration at_most);

 private:
  void on_question(const NatsMsgHandle& question);

  Connection& connection_;
  const std::string subject_;
  const std::string key_;
  const std::function<Json()> describe_;
  std::mutex mutex_;  ///< guards questions_
  std::unique_ptr<Listening> questions_;
  std::atomic<bool> has_warned_ = false;  ///< of an answer that is not of the cluster
};

}  // namespace millrace
