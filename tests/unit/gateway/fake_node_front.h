// FakeNodeFront: a NodeFront whose answers the test sets. Any thread.
#pragma once

#include <array>
#include <mutex>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "gateway/node_front.h"

namespace millrace {

class FakeNodeFront final : public NodeFront {
 public:
  struct State {
    bool may_serve = false;
    bool is_active = false;
    Status ready;
    std::string active_url;
    Json cluster = Json::object();
    const NodeStore* store = nullptr;
    Status may_remove;
    Result<Json> loss = fail("cluster.nothing_lost", "the log has lost nothing");
  };

  explicit FakeNodeFront(std::string node) : node_(std::move(node)) {}

  void set(State state) {
    const std::lock_guard lock(lock_);
    state_ = std::move(state);
  }

  bool may_serve() const override { return state().may_serve; }
  bool is_active() const override { return state().is_active; }
  Status ready() const override { return state().ready; }
  std::string node() const override { return node_; }
  std::string active_url() const override { return state().active_url; }
  Json cluster() const override { return state().cluster; }
  Result<std::array<uint8_t, 16>> may_remove(std::string_view node, bool is_forced) const override {
    if (!is_forced) TRY(state().may_remove);
    std::array<uint8_t, 16> id{};
    if (!read_hex(node, id)) return fail("cluster.node_not_found", "it is not the id of a node");
    return id;
  }
  Result<Json> accept_loss() override { return state().loss; }
  void note_registered(const Result<Json>& answer) override {
    const std::lock_guard lock(lock_);
    ++noted_;
    if (answer) state_.cluster = *answer;
  }
  /// How often the registered nodes have changed.
  int noted() const {
    const std::lock_guard lock(lock_);
    return noted_;
  }
  Json info() const override { return {{"version", "standby"}}; }
  const NodeStore* store() const override { return state().store; }
  std::string metrics() const override { return "millrace_cluster_active 0\n"; }

 private:
  State state() const {
    const std::lock_guard lock(lock_);
    return state_;
  }

  const std::string node_;
  mutable std::mutex lock_;
  State state_;  ///< guarded by lock_, like noted_
  int noted_ = 0;
};

}  // namespace millrace
