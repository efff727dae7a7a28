// NamespaceGauge: a gauge of Prometheus with a value for each namespace. For one thread at a time.
#pragma once

#include <map>
#include <string>
#include <utility>

#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

namespace millrace {

class NamespaceGauge {
 public:
  /// The registry outlives the object. Each value has the further labels, too.
  NamespaceGauge(prometheus::Registry& registry, const char* name, const char* help,
                 prometheus::Labels further = {})
      : family_(prometheus::BuildGauge().Name(name).Help(help).Register(registry)),
        further_(std::move(further)) {}

  /// Sets the values; a namespace that `values` lacks loses its value. T is a type of numbers.
  template <class T>
  void set(const std::map<std::string, T>& values) {
    std::erase_if(gauges_, [&](const auto& known) {
      if (values.contains(known.first)) return false;
      family_.Remove(known.second);
      return true;
    });
    for (const auto& [ns, value] : values) {
      prometheus::Gauge*& gauge = gauges_[ns];
      if (gauge == nullptr) {
        prometheus::Labels labels = further_;
        labels["namespace"] = ns;
        gauge = &family_.Add(labels);
      }
      gauge->Set(static_cast<double>(value));
    }
  }

 private:
  prometheus::Family<prometheus::Gauge>& family_;
  prometheus::Labels further_;
  std::map<std::string, prometheus::Gauge*> gauges_;
};

}  // namespace millrace
