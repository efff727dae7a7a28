// The fixture for whole batches that apply events of one event stream.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "orchestrator/batch/batch.h"
#include "orchestrator/definition/loader.h"
#include "tests/unit/support/batch_store.h"

namespace millrace {

class BatchEventsTest : public BatchStoreTest {
 protected:
  BatchEventsTest() { restart(); }

  /// Starts a new process, which opens the event stream at its beginning.
  void restart() {
    batch = std::make_unique<Batch>(parts(), BatchLimits());
    ASSERT_TRUE(batch->load());
    reopen();
  }
  /// Opens the event stream at its beginning, as after a loss of the broker.
  void reopen() {
    ASSERT_TRUE(batch->stream_opened({.stream_created = 9, .sequence = 0, .stamped = stored}));
  }
  void define(const std::string& text) {
    auto workflow = load_stored(text);
    ASSERT_TRUE(workflow) << workflow.error().message;
    const Command command =
        ApplyWorkflow{.ns = "default", .text = text, .workflow = std::move(*workflow)};
    ASSERT_TRUE(batch->apply(now, CommandInput{1, command}));
    end_batch();
  }
  void end_batch() {
    ASSERT_TRUE(batch->finish(now));
    commit();
    batches.begin();
  }

  const TimePoint stored = now;  ///< the time of the begin of the stream
  std::unique_ptr<Batch> batch;
};

}  // namespace millrace
