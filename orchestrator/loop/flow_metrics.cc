#include "orchestrator/loop/flow_metrics.h"

#include "orchestrator/loop/plain_metrics.h"

namespace millrace {

FlowMetrics::FlowMetrics(prometheus::Registry& registry)
    : skipped_(
          plain_counter(registry, "millrace_starts_skipped_total",
                        "Starts that were skipped, because the singular workflow has a live "
                        "instance or the workflow has no free slot: by an event or a tick, and "
                        "of subflows that `onLimit: skip` has dropped.")),
      rejected_(
          plain_counter(registry, "millrace_starts_rejected_total",
                        "Starts by calls and of subflows that were refused, because the singular "
                        "workflow has a live instance or the workflow has no free slot.")),
      timed_out_(plain_counter(registry, "millrace_start_waits_timed_out_total",
                               "Starts whose wait for a slot or the throttle of their workflow "
                               "reached its timeout.")),
      limited_(plain_counter(registry, "millrace_starts_limited_total",
                             "Starts that the `rateLimit` of their workflow refused.")),
      debounced_(plain_counter(registry, "millrace_starts_debounced_total",
                               "Pending starts that a newer one of their key has replaced.")),
      batched_(plain_counter(registry, "millrace_starts_batched_total",
                             "Inputs that were put into batches of starts.")),
      cancelled_(plain_counter(registry, "millrace_pending_starts_cancelled_total",
                               "Pending starts that were cancelled before they started; a batch "
                               "counts once.")),
      refused_(plain_counter(registry, "millrace_pending_starts_refused_total",
                             "How often a pending start was due and not permitted, by `singular`, "
                             "a quota or the `rateLimit`, so that it is tried again.")),
      waited_(
          plain_counter(registry, "millrace_starts_queued_total",
                        "Starts that had to wait for a slot or the throttle of their workflow; one "
                        "that waited for both counts twice.")),
      admitted_(
          plain_counter(registry, "millrace_starts_admitted_total",
                        "Starts that waited for a slot and got it, or that the throttle of their "
                        "workflow let begin.")),
      replaced_(
          plain_counter(registry, "millrace_starts_replaced_total",
                        "Instances that were cancelled for another start of their workflow.")),
      calls_waited_(
          plain_counter(registry, "millrace_calls_queued_total",
                        "Attempts of calls that had to wait for a slot or the throttle of "
                        "their service; one that waited for both counts twice.")),
      calls_admitted_(plain_counter(registry, "millrace_calls_admitted_total",
                                    "Attempts of calls that waited for a slot of their service and "
                                    "got it, or that the throttle of their service let pass.")),
      calls_timed_out_(plain_counter(registry, "millrace_call_waits_timed_out_total",
                                     "Attempts of calls whose wait for a slot or the throttle of "
                                     "their service reached its timeout.")),
      pending_(
          plain_gauge(registry, "millrace_pending_starts",
                      "Starts that the `debounce` or the `batch` of their workflow has put off, "
                      "and that have not started; a batch counts once.")),
      queued_(registry, "millrace_namespace_queued_starts",
              "Starts that wait for a slot or the throttle of their workflow, by the namespace."),
      queued_calls_(
          registry, "millrace_namespace_queued_calls",
          "Calls that wait for a slot or the throttle of their service, by the namespace.") {}

void FlowMetrics::add(const BatchCounts& counts) {
  skipped_.Increment(static_cast<double>(counts.starts_skipped));
  rejected_.Increment(static_cast<double>(counts.starts_rejected));
  timed_out_.Increment(static_cast<double>(counts.starts_timed_out));
  limited_.Increment(static_cast<double>(counts.starts_limited));
  debounced_.Increment(static_cast<double>(counts.starts_debounced));
  batched_.Increment(static_cast<double>(counts.starts_batched));
  cancelled_.Increment(static_cast<double>(counts.starts_cancelled));
  refused_.Increment(static_cast<double>(counts.pending_refused));
  waited_.Increment(static_cast<double>(counts.starts_queued));
  admitted_.Increment(static_cast<double>(counts.starts_admitted));
  replaced_.Increment(static_cast<double>(counts.starts_replaced));
  calls_waited_.Increment(static_cast<double>(counts.calls_queued));
  calls_admitted_.Increment(static_cast<double>(counts.calls_admitted));
  calls_timed_out_.Increment(static_cast<double>(counts.calls_timed_out));
}

}  // namespace millrace
