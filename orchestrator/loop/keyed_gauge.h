// KeyedGauge: a gauge of Prometheus with a value for each key; NamespaceGauge: one for each
// namespace. For one thread at a time.
#pragma once

#include <map>
#include <string>
#include <utility>

#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/labels.h>
#include <prometheus/registry.h>

namespace millrace {

template <class Key>
class KeyedGauge {
 public:
  /// The registry outlives the object.
  KeyedGauge(prometheus::Registry& registry, const char* name, const char* help)
      : family_(prometheus::BuildGauge().Name(name).Help(help).Register(registry)) {}

  /// Sets the values; a key that `values` lacks loses its value. T is a type of numbers.
  /// `labels_of(key)` gives the labels of a key, which differ from those of any other.
  template <class T, class LabelsOf>
  void set(const std::map<Key, T>& values, const LabelsOf& labels_of) {
    std::erase_if(gauges_, [&](const auto& known) {
      if (values.contains(known.first)) return false;
      family_.Remove(known.second);
      return true;
    });
    for (const auto& [key, value] : values) {
      prometheus::Gauge*& gauge = gauges_[key];
      if (gauge == nullptr) gauge = &family_.Add(labels_of(key));
      gauge->Set(static_cast<double>(value));
    }
  }

 private:
  prometheus::Family<prometheus::Gauge>& family_;
  std::map<Key, prometheus::Gauge*> gauges_;
};

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
