// Metrics by namespace whose number of label values has a bound.
#include <map>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/loop/evaluation_levels.h"
#include "orchestrator/loop/metrics.h"
#include "orchestrator/loop/namespace_labels.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

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

TEST(NamespaceMetrics, CountTheEventsOfEachNamespace) {
  Metrics metrics;
  EXPECT_THAT(metrics.text(),
              HasSubstr("millrace_namespace_events_total{namespace=\"(other)\"} 0\n"));
  metrics.count_traffic("shop", {.applied = 5, .unmatched = 2});
  metrics.count_traffic("shop", {.applied = 1, .published = 3});
  metrics.count_traffic(kOtherNamespaces, {.published = 4});
  const std::string text = metrics.text();
  for (const char* const line :
       {"millrace_namespace_events_total{namespace=\"shop\"} 6\n",
        "millrace_namespace_events_unmatched_total{namespace=\"shop\"} 2\n",
        "millrace_namespace_events_published_total{namespace=\"shop\"} 3\n",
        "millrace_namespace_events_published_total{namespace=\"(other)\"} 4\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(NamespaceMetrics, CountTheEventsOfFurtherNamespacesTogether) {
  Metrics metrics;
  for (size_t i = 0; i < kMostNamespaceLabels + 3; ++i) {
    metrics.count_traffic(numbered_namespace(i), {.applied = 1});
  }
  EXPECT_THAT(metrics.text(),
              HasSubstr("millrace_namespace_events_total{namespace=\"(other)\"} 3\n"));
}

TEST(NamespaceMetrics, CountTheRequestsOfFurtherInboundWebhooksTogether) {
  Metrics metrics;
  const auto line = [](const std::string& name, int number) {
    return fmt::format(
        "millrace_inbound_webhook_requests_total{{namespace=\"{0}\",outcome="
        "\"accepted\",webhook=\"{0}\"}} {1}\n",
        name, number);
  };
  EXPECT_THAT(metrics.text(), HasSubstr(line(kOtherNamespaces, 0)));
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < kMostWebhookLabels + 3; ++i) {
      const std::string name = numbered_namespace(i);
      metrics.count_inbound_outcome(name, name, InboundOutcome::kAccepted);
    }
  }
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr(line(numbered_namespace(kMostWebhookLabels - 1), 2)));
  EXPECT_THAT(text, Not(HasSubstr(numbered_namespace(kMostWebhookLabels))));
  EXPECT_THAT(text, HasSubstr(line(kOtherNamespaces, 6)));
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

TEST(NamespaceMetrics, ShowWhoseEvaluationsOccupyTheJqWorkers) {
  Metrics metrics;
  metrics.set_evaluations(
      {{"shop", {.fast_waiting = 1, .fast_running = 2, .slow_waiting = 3, .slow_running = 4}}});
  const std::string text = metrics.text();
  for (const char* const line :
       {"millrace_namespace_evaluations_waiting{namespace=\"shop\",worker=\"fast\"} 1\n",
        "millrace_namespace_evaluations_running{namespace=\"shop\",worker=\"fast\"} 2\n",
        "millrace_namespace_evaluations_waiting{namespace=\"shop\",worker=\"slow\"} 3\n",
        "millrace_namespace_evaluations_running{namespace=\"shop\",worker=\"slow\"} 4\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  metrics.set_evaluations({});
  EXPECT_THAT(metrics.text(), Not(HasSubstr("shop"))) << "it has no evaluations any more";
}

TEST(NamespaceMetrics, ShowTheBusiestNamespacesAndTheSumOfTheOthers) {
  std::map<std::string, EvaluationLevels> all;
  for (size_t i = 0; i < kMostNamespaceLabels + 2; ++i) {
    all[numbered_namespace(i)] = {.fast_waiting = 2};
  }
  EXPECT_THAT(busiest({{"shop", {.fast_waiting = 1}}}), SizeIs(1));
  all["quiet"] = {.fast_running = 1};
  all["slow"] = {.slow_running = 1};
  const auto shown = busiest(all);
  EXPECT_THAT(shown, SizeIs(kMostNamespaceLabels + 1));
  EXPECT_EQ(shown.at("slow").slow_running, 1U) << "a slow jq worker counts more than all others";
  EXPECT_TRUE(shown.contains("n098"));
  EXPECT_FALSE(shown.contains("n099")) << "of equally busy ones, those with the lower names";
  EXPECT_EQ(shown.at(kOtherNamespaces), (EvaluationLevels{.fast_waiting = 6, .fast_running = 1}));
  all[kOtherNamespaces] = {.slow_running = 5};
  EXPECT_EQ(busiest(all).at(kOtherNamespaces).slow_running, 5U) << "what is of no namespace";
}

}  // namespace
}  // namespace millrace
