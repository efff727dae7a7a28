// MemoryStoredEvents: the StoredEvents of a MemoryBroker, for tests and the simulation. On the
// thread of the broker.
#pragma once

#include "broker/memory_broker.h"
#include "orchestrator/ports/stored_events.h"

namespace millrace {

class MemoryStoredEvents final : public StoredEvents {
 public:
  /// `broker` must outlive this object.
  explicit MemoryStoredEvents(const MemoryBroker& broker) : broker_(broker) {}

  Result<StreamSpan> span() override;
  Result<StoredEvent> get(uint64_t sequence) override;
  Result<Page> read(const Range& range) override;

 private:
  Status check_connected() const;

  const MemoryBroker& broker_;
};

}  // namespace millrace
