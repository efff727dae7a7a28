// The work with which one namespace may slow down others (neighbours.cc). An attack prepares what
// it needs, begins on command, and counts what the server has done for it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness.h"

namespace millrace {

/// Where an attack runs. Broker and server outlive the attack; the server may have ended when the
/// attack is destroyed.
struct AttackSite {
  const Site& site;
  MillraceProcess& server;
  std::string ns;
  /// Seconds between the end of the last prepare() and begin(), at most.
  double until_begin = 0;
};

/// What the server has done since the attacks began.
struct AttackProgress {
  std::string before;         ///< the metrics of the server before the attacks began
  std::string after;          ///< its metrics now
  size_t victim_started = 0;  ///< instances that the victim has started in between

  /// By how much a metric has grown.
  double grown(std::string_view name) const { return sum_of(after, name) - sum_of(before, name); }
};

class Attack {
 public:
  virtual ~Attack() = default;

  /// Applies workflows and makes instances, but no load that lasts.
  virtual void prepare() = 0;
  /// Begins the load. It ends when the attack is destroyed, at the latest.
  virtual void begin() = 0;
  /// Whether an attack of a certain size is over. The progress has no figures of the victim.
  virtual bool is_over(const AttackProgress&) const { return false; }
  /// What the server has committed for the attack since begin(), in units().
  virtual double work(const AttackProgress& progress) = 0;
  virtual std::string_view units() const = 0;
};

struct AttackKind {
  std::string_view name;   ///< for the command line
  std::string_view label;  ///< for the table
  std::unique_ptr<Attack> (*make)(const AttackSite& site);
};

/// The kinds that also run at the same time, in the order in which they must be prepared then.
const std::vector<AttackKind>& attack_kinds();

/// A kind that runs alone only: it measures bytes that pass beside the engine thread.
const AttackKind& transfer_attack();

}  // namespace millrace
