// Schemas of schedules.
#include "gateway/api_schemas.h"
#include "gateway/schema_parts.h"

namespace millrace {

void add_schedule_schemas(ApiSchemas& all) {
  using namespace schema;
  const Json head = object({
      {"workflow", text("The id of the workflow.")},
      {"paused", flag("Whether the workflow is paused.")},
      {"cron?", text("The cron expression; missing: the workflow starts by calls only.")},
      {"zone?", text("The time zone of the cron expression.")},
      {"lastTick?", instant()},
      {"nextTick?", instant()},
  });
  all["ScheduleHead"].schema = head;
  all["Schedules"].schema = page(ref("ScheduleHead"));
  all["Schedule"].schema = extended(head, {{"upcoming?", list(instant(), "The next ticks.")}});
}

}  // namespace millrace
