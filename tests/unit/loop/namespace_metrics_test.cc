// Metrics by namespace whose number of label values has a bound.
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/loop/metrics.h"
#include "orchestrator/loop/namespace_labels.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string numbered_namespace(size_t number) { return fmt::format("n{:03}", number); }

TEST(NamespaceMetrics, ShowWhatQuotasRefusedByNamespace) {
  Metrics metrics;
  EXPECT_THAT(metrics.text(), HasSubstr("millrace_namespace_quota_refusals_total{"
                                        "namespace=\"(other)\",quota=\"calls\"} 0\n"));
  metrics.count_over_quota("shop", Quota::kCalls, 2);
  metrics.count_over_quota("shop", Quota::kCalls, 1);
  metrics.count_over_quota("shop", Quota::kInstances, 0);
  metrics.count_over_quota("default", Quota::kInstances, 5);
  metrics.count_over_quota(kOtherNamespaces, Quota::kCalls, 4);
  const std::string text = metrics.text();
  for (const char* const line :
       {"millrace_quota_refusals_total{quota=\"calls\"} 7\n",
        "millrace_quota_refusals_total{quota=\"instances\"} 5\n",
        "millrace_namespace_quota_refusals_total{namespace=\"shop\",quota=\"calls\"} 3\n",
        "millrace_namespace_quota_refusals_total{namespace=\"shop\",quota=\"instances\"} 0\n",
        "millrace_namespace_quota_refusals_total{namespace=\"default\",quota=\"instances\"} 5\n",
        "millrace_namespace_quota_refusals_total{namespace=\"(other)\",quota=\"calls\"} 4\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(NamespaceMetrics, CountTheRefusalsOfFurtherNamespacesTogether) {
  Metrics metrics;
  for (size_t i = 0; i < kMostNamespaceLabels + 3; ++i) {
    metrics.count_over_quota(numbered_namespace(i), Quota::kCalls, 1);
  }
  metrics.count_over_quota(numbered_namespace(0), Quota::kCalls, 1);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("{namespace=\"n000\",quota=\"calls\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("{namespace=\"n099\",quota=\"calls\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("{namespace=\"(other)\",quota=\"calls\"} 3\n"));
  EXPECT_THAT(text, Not(HasSubstr("n100")));
}

}  // namespace
}  // namespace millrace
