// NamespaceGauge: a gauge of Prometheus with a value for each namespace. For one thread at a time.
#pragma once

#include <map>
#include <string>
#include <utility>

#include <prometheus/labels.h>
#include <prometheus/registry.h>

#include "orchestrator/loop/keyed_gauge.h"

namespace millrace {

class NamespaceGauge {
 public:
  /// The registry outlives the object. Each value has the further labels, too.
  NamespaceGauge(prometheus::Registry& registry, const char* name, const char* help,
                 prometheus::Labels further = {})
      : gauge_(registry, name, help), further_(std::move(further)) {}

  /// Sets the values; a namespace that `values` lacks loses its value. T is a type of numbers.
  template <class T>
  void set(const std::map<std::string, T>& values) {
    gauge_.set(values, [this](const std::string& ns) {
      prometheus::Labels labels = further_;
      labels["namespace"] = ns;
      return labels;
    });
  }

 private:
  KeyedGauge<std::string> gauge_;
  prometheus::Labels further_;
};

}  // namespace millrace
