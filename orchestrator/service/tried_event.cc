#include "orchestrator/service/tried_event.h"

#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "cloudevents/json_format.h"
#include "orchestrator/service/shapes.h"
#include "orchestrator/why/verdict.h"

namespace millrace {
namespace {

/// The largest event whose data is shown, in bytes of JSON.
constexpr size_t kShownEventBytes = size_t{16} << 10;

/// Whether a verdict of that name is an effect.
bool is_effect_name(std::string_view name) {
  for (const Verdict verdict :
       {Verdict::kWoke, Verdict::kStarted, Verdict::kFilled, Verdict::kGrouped, Verdict::kPaused}) {
    if (name == to_string(verdict)) return true;
  }
  return false;
}

}  // namespace

Result<Event> tried_too_long() {
  return fail("mapping.failed",
              fmt::format("the mappings of the messages took longer than {} s; try again, or write "
                          "simpler jq queries",
                          kTryTime.count()));
}

Result<Json> tried_event(std::string_view ns, Result<Event> event, const JudgeEvent& judge) {
  if (!event) {
    return Json{{"error", to_json(event.error())}};
  }
  Json item{{"event", event_to_json(*event)}};
  if (dump_json(item["event"]).size() > kShownEventBytes) {
    item["event"].erase("data");
    item["event"].erase("data_base64");
    item["cut"] = true;
  }
  const Json judged = TRY(judge(ns, *std::move(event)));
  Json would = Json::array();
  for (const Json& near : judged.value("near", Json::array())) {
    if (!is_effect_name(near.value("verdict", ""))) continue;
    Json one = {{"verdict", near["verdict"]}, {"workflow", near.value("workflow", Json())}};
    if (near.contains("instance")) one["instance"] = near["instance"];
    would.push_back(std::move(one));
  }
  item["would"] = std::move(would);
  if (judged.value("duplicate", false)) item["duplicate"] = true;
  if (judged.contains("similarTypes")) item["similarTypes"] = judged["similarTypes"];
  return item;
}

}  // namespace millrace
