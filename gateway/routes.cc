#include "gateway/routes.h"

#include <utility>

namespace millrace {

Handler reading(std::function<Result<Json>(const Request&)> read) {
  return [read = std::move(read)](const std::shared_ptr<Exchange>& exchange) -> Status {
    exchange->reply(read(exchange->request()));
    return {};
  };
}

Router make_router(Service& service, const RequestLimits& limits,
                   std::function<std::string()> gateway_metrics) {
  Router router;
  add_event_routes(router, service, limits);
  add_why_routes(router, service, limits);
  add_namespace_routes(router, service);
  add_workflow_routes(router, service, limits);
  add_start_route(router, service, limits);
  add_schedule_routes(router, service);
  add_instance_routes(router, service);
  add_variable_routes(router, service, limits);
  add_secret_routes(router, service);
  add_system_routes(router, service, std::move(gateway_metrics));
  add_backup_routes(router, service);
  add_replay_routes(router, service);
  add_letter_routes(router, service, limits);
  add_find_route(router, service);
  add_language_routes(router, service, limits);
  add_stream_routes(router, service);
  add_work_routes(router, service);
  add_openapi_route(router);  // the last: it describes the others
  return router;
}

}  // namespace millrace
