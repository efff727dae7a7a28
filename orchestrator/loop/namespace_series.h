// NamespaceSeries: the counters of each namespace in a metric. The first kMostNamespaceLabels
// namespaces keep series of their own, because a counter must not decrease; all others are counted
// together, as kOtherNamespaces. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <prometheus/counter.h>

#include "orchestrator/loop/namespace_labels.h"

namespace millrace {

/// N: how many counters a namespace has.
template <size_t N>
class NamespaceSeries {
 public:
  using Counters = std::array<prometheus::Counter*, N>;

  /// `make`: adds the series with that label `namespace`. Those of kOtherNamespaces are added at
  /// once.
  explicit NamespaceSeries(std::function<Counters(const std::string& label)> make)
      : make_(std::move(make)), others_(make_(kOtherNamespaces)) {}

  /// The counters of the namespace, which stay valid.
  const Counters& of(const std::string& ns) {
    const std::lock_guard lock(lock_);
    auto known = namespaces_.find(ns);
    if (known == namespaces_.end() && ns != kOtherNamespaces &&
        namespaces_.size() < kMostNamespaceLabels) {
      known = namespaces_.emplace(ns, make_(ns)).first;
    }
    return known == namespaces_.end() ? others_ : known->second;
  }

 private:
  const std::function<Counters(const std::string& label)> make_;
  std::mutex lock_;  // guards namespaces_
  std::map<std::string, Counters> namespaces_;
  const Counters others_;
};

}  // namespace millrace
