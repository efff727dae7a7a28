// BatchNotes: notes belong to one batch, and to none while there is none.
#include "base/batch_notes.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Notes = std::vector<int>;

TEST(BatchNotes, AreNotTakenBeforeABatchBegins) {
  BatchCount batches;
  BatchNotes<Notes> notes(batches);
  EXPECT_EQ(notes.now(), nullptr);
  EXPECT_THAT(notes.take(), IsEmpty());
}

TEST(BatchNotes, AreThoseOfTheBatchInHand) {
  BatchCount batches;
  BatchNotes<Notes> notes(batches);
  batches.begin();
  notes.now()->push_back(1);
  notes.now()->push_back(2);
  EXPECT_THAT(*notes.now(), ElementsAre(1, 2));
  batches.begin();
  EXPECT_THAT(*notes.now(), IsEmpty()) << "the batch before is on disk";
}

TEST(BatchNotes, AreTakenOnce) {
  BatchCount batches;
  BatchNotes<Notes> notes(batches);
  batches.begin();
  notes.now()->push_back(1);
  EXPECT_THAT(notes.take(), ElementsAre(1));
  EXPECT_THAT(notes.take(), IsEmpty());
}

TEST(BatchNotes, AreNotThoseOfABatchBeforeTheStoreWasReadAnew) {
  BatchCount batches;
  BatchNotes<Notes> notes(batches);
  batches.begin();
  notes.now()->push_back(1);
  batches.end();
  EXPECT_EQ(notes.now(), nullptr);
  EXPECT_THAT(notes.take(), IsEmpty());
  batches.begin();
  EXPECT_THAT(*notes.now(), IsEmpty());
}

}  // namespace
}  // namespace millrace
