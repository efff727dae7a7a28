#include "app/store_info.h"

#include <spdlog/spdlog.h>

#include "app/folder_owner.h"
#include "orchestrator/size/store_figures.h"
#include "orchestrator/store/disk/environment.h"

namespace millrace {
namespace {

Fallible<Json> figures_of_server(Session& session) {
  const Json info = TRY(session.client.send({.path = "/v1/info"})).body;
  if (!info.contains("store")) {
    return give_up(ExitCode::kFailed, "store.unmeasured",
                   "the server does not report the size of its store: it is an earlier release, or "
                   "it cannot read its store; see its log, or stop it and name its folder by "
                   "--data");
  }
  Json figures = info.at("store");
  figures["data"] = info.value("data", "");
  // An earlier release does not report it.
  if (info.contains("retention")) figures["retention"] = info.at("retention");
  return figures;
}

Result<Json> figures_of_folder(const std::string& data) {
  const auto environment = TRY(Environment::open(data, {.read_only = true}));
  Json figures = to_json(TRY(read_figures(*environment)));
  figures["data"] = data;
  return figures;
}

Fallible<Json> find_figures(Session& session, const std::string& data) {
  if (data.empty()) return figures_of_server(session);
  Result<Json> figures = figures_of_folder(data);
  if (figures) return *std::move(figures);
  TRY(find_folder_owner(session, data, figures.error(), "the size of the store", "ask again"));
  return figures_of_server(session);
}

}  // namespace

Ended show_store_info(Session& session, const StoreInfoOptions& options) {
  spdlog::set_level(spdlog::level::off);
  const Json figures = TRY(find_figures(session, options.data));
  session.output.item(figures, "usedBytes", {"namespaces", "retention"});
  return ExitCode::kOk;
}

}  // namespace millrace
