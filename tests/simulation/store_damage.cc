#include "tests/simulation/store_damage.h"

#include "tests/support/index.h"
#include "tests/support/store_check.h"

namespace millrace {

void expect_each_found(std::span<const Plant> plants) {
  const auto environment =
      Environment::open(RichStore::instance().folder(), {.checkpoints_at_close = false});
  ASSERT_TRUE(environment) << environment.error().message;
  Transaction tx(**environment);
  for (const Plant& plant : plants) {
    SCOPED_TRACE(plant.name);
    plant.damage(tx);
    if (!plant.is_of_index) build_index(tx);
    const auto report = check_store(tx, test_check_options());  // a transaction is a view
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(codes_of(*report), plant.codes) << lines_of(*report);
    for (const StoreFinding& finding : report->findings) {
      EXPECT_FALSE(finding.found.empty() || finding.key.empty()) << to_string(finding);
    }
    tx.drop();
  }
}

}  // namespace millrace
