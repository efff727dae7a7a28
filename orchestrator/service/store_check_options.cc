#include "orchestrator/service/store_check_options.h"

#include "base/json.h"
#include "orchestrator/definition/loader.h"
#include "orchestrator/definition/namespace_settings.h"

namespace millrace {

StoreCheckOptions store_check_options() {
  return {.load = load_stored, .check_settings = [](std::string_view settings) -> Status {
            TRY(parse_settings(TRY(parse_own_json(settings))));
            return {};
          }};
}

}  // namespace millrace
