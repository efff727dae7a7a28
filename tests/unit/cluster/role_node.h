// RoleNode: a node of a cluster that has nothing but its role: it carries out the actions of a
// NodeRole on a RoleNet, and reports to it what happens. Its process dies, is stopped, loses its
// link, and is replaced; its folder stays. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/node_role.h"
#include "tests/unit/cluster/role_net.h"

namespace millrace {

class RoleNode {
 public:
  /// `number`: from 0; the node with the number 0 founds the cluster.
  RoleNode(RoleNet& net, uint8_t number);
  RoleNode(const RoleNode&) = delete;
  RoleNode& operator=(const RoleNode&) = delete;

  // What happens to the node.
  void start();
  /// The process dies, and another one starts after that time.
  void die(Duration time);
  void pause(Duration time);
  void resume();
  void cut_link(Duration time);
  void restore_link();
  void ask_to_stop();
  void hang_engine(Duration time) { hangs_until_ = net_.clock.now() + time; }
  void set_clock(Duration offset);
  /// The broker has elected a leader of the stream.
  void see_leader();

  bool is_running() const { return is_alive_ && !is_paused_; }
  /// Whether the latest action concerning effects permits them.
  bool is_serving() const { return is_running() && is_serving_; }
  bool may_serve() const { return is_running() && role_->may_serve(net_.clock.now()); }
  /// Expects that effects which the role permits now are those of the latest epoch.
  void check_effects() const;

 private:
  using Fact = std::function<void()>;
  /// An append that is repeated until its outcome is known, as a LogBook does it.
  struct Append {
    LogHeard::What what;
    NodeRole::Time sent;
    std::shared_ptr<CommitLog> lead;
    bool is_stored = false;
    bool is_refused = false;
    bool is_known = false;  ///< the node knows the outcome
  };
  struct Begin {
    uint64_t expects = 0;
    uint64_t unclean = 0;
    NodeRole::Time sent;
    bool is_known = false;
  };

  void after(Duration time, Fact what);
  void report(Fact fact);
  void pump();
  void perform(const NodeAction& action);

  void open_reader();
  void send_heartbeat(uint64_t reader);
  void send_messages();
  void send_to_reader(Fact fact);
  void receive(Fact fact, uint64_t reader);
  void read(uint64_t sequence, uint64_t pending);
  LogHeard heard(uint64_t sequence, uint64_t pending) const;
  void apply(uint64_t sequence);

  void begin(const NodeAction& action);
  void store_begin(const std::shared_ptr<Begin>& begin, uint64_t process,
                   const RandomName& incarnation);
  void end_begin(Begin& begin, bool is_taken);
  void append(LogHeard::What what);
  void send_append();
  void attempt(const std::shared_ptr<Append>& append);
  void store(const std::shared_ptr<Append>& append, uint64_t process);
  void end_append(const Append& append);

  void turn_later();
  void turn();

  RoleNet& net_;
  const uint8_t number_;
  uint64_t folder_ = 0;  ///< the folder has the log up to this sequence
  bool has_link_ = true;
  Duration clock_offset_{0};
  NodeRole::Time hangs_until_{};

  // Of the process.
  std::optional<NodeRole> role_;
  uint64_t process_ = 0;  ///< its number; what was meant for another one is dropped
  RandomName incarnation_{};
  bool is_alive_ = false;
  bool is_paused_ = false;
  bool is_serving_ = false;
  bool is_draining_ = false;
  std::vector<Fact> waiting_;  ///< what happened while the process was stopped
  std::vector<Fact> held_;     ///< what was sent to the reader while it had no link
  std::optional<NodeRole::Time> wakes_;
  bool is_open_ = false;
  uint64_t reader_ = 0;  ///< the number of the reader
  uint64_t read_ = 0;
  uint64_t sent_ = 0;  ///< the broker has sent the messages up to this one
  NodeRole::Time arrives_{};
  std::shared_ptr<CommitLog> lead_;
  std::deque<LogHeard::What> appends_;  ///< the first is under way
};

}  // namespace millrace
