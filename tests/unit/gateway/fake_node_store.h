// FakeNodeStore: the store of a standby, in which the instance of FakeService is paused. Any
// thread.
#pragma once

#include <memory>
#include <optional>

#include "gateway/node_front.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {

class FakeNodeStore final : public NodeStore {
 public:
  Result<Copy> copy() const override {
    if (failure) return tl::unexpected(*failure);
    auto reads = std::make_unique<FakeService>();
    reads->instance_status = "paused";
    return Copy{.reads = std::move(reads), .position = 1204, .age = Duration(2'345)};
  }

  std::optional<Error> failure;
};

}  // namespace millrace
