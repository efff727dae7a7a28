// BatchNotes records the changes of the current batch. Without a current batch it records nothing.
#include "base/batch_notes.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Notes = std::vector<int>;

TEST(BatchNotes, AreEmptyBeforeABatchBegins) {
  BatchCount batches;
  BatchNotes<Notes> notes(batches);
  EXPECT_EQ(notes.now(), nullptr);
  EXPECT_THAT(notes.take(), IsEmpty());
}

TEST(BatchNotes, HoldOnlyTheNotesOfTheCurrentBatch) {
  BatchCount batches;
  BatchNotes<Notes> notes(batches);
  batches.begin();
  notes.now()->push_back(1);
  notes.now()->push_back(2);
  EXPECT_THAT(*notes.now(), ElementsAre(1, 2));
  batches.begin();
  EXPECT_THAT(*notes.now(), IsEmpty()) << "the notes of the previous batch are dropped";
}

TEST(BatchNotes, AreReturnedByTheFirstTakeOnly) {
  BatchCount batches;
  BatchNotes<Notes> notes(batches);
  batches.begin();
  notes.now()->push_back(1);
  EXPECT_THAT(notes.take(), ElementsAre(1));
  EXPECT_THAT(notes.take(), IsEmpty());
}

TEST(BatchNotes, AreDroppedWhenTheBatchEnds) {
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
