// The fixture with an open store.
#pragma once

#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/transaction.h"
#include "tests/support/folder.h"

namespace millrace {

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    auto opened = Environment::open(folder.path());
    EXPECT_TRUE(opened) << opened.error().message;
    environment = std::move(*opened);
    tx.emplace(*environment);
  }

  void commit() {
    const Status done = tx->commit();
    ASSERT_TRUE(done) << done.error().message;
  }

  Folder folder;
  std::unique_ptr<Environment> environment;
  std::optional<Transaction> tx;
};

}  // namespace millrace
