// What FakeService answers of things that no command of a test makes.
#pragma once

#include "base/json.h"

namespace millrace {

inline Json fake_listener() {
  return {{"kind", "start"},
          {"workflow", "order"},
          {"type", "order.placed"},
          {"context", {{"source", "shop"}}}};
}

inline Json fake_group() {
  return {{"workflow", "ship"},
          {"correlate", {{"order", "o-1"}}},
          {"entries", {{{"type", "paid"}, {"waiting", 1}}, {{"type", "packed"}, {"waiting", 0}}}},
          {"expiresAt", "2021-09-01T12:00:00.000Z"}};
}

inline Json fake_schedule() {
  return {{"workflow", "report"},
          {"cron", "CRON_TZ=Europe/Vienna 0 7 * * *"},
          {"zone", "Europe/Vienna"},
          {"nextTick", "2021-09-01T05:00:00.000Z"}};
}

inline Json fake_dead_letter() {
  return {{"id", "12"},
          {"reason", "event.time"},
          {"detail", "no time"},
          {"time", "2021-09-01T12:00:00.000Z"},
          {"subject", "millrace.events.default.x"},
          {"size", 3},
          {"data", "AP8Q"}};
}

}  // namespace millrace
