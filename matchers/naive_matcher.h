// NaiveMatcher: defines what matching means; it compares every listener with every event. It is for
// tests and for readers; the engine uses listener_index.h.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "matchers/matcher.h"
#include "matchers/pattern.h"

namespace millrace {

class NaiveMatcher final : public Matcher {
 public:
  Result<Handle> add(std::string_view ns, const EventFilter& filter, uint64_t target) override;
  void remove(Handle handle) override;
  void match(std::string_view ns, const Attributes& event, std::vector<uint64_t>& targets) override;
  uint64_t over_limit() const override { return over_limit_; }

 private:
  struct Listener {
    std::string ns;
    EventFilter filter;
    std::vector<std::shared_ptr<const Pattern>> patterns;  // by predicate; null for an equality
    uint64_t target;
  };

  bool concerns(const Attributes& event, const Listener& listener);

  std::map<uint32_t, Listener> listeners_;
  uint32_t next_slot_ = 0;
  uint64_t over_limit_ = 0;
};

}  // namespace millrace
