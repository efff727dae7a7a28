#include "cli/other_namespaces.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace millrace {
namespace {

/// How many other namespaces are looked at, and for how long.
constexpr size_t kMostOthers = 10;
constexpr std::chrono::seconds kOthersTime{2};

}  // namespace

std::vector<std::string> find_in_other_namespaces(Session& session, const ApiCall& call) {
  const std::string own = session.path({});
  if (!call.path.starts_with(own + "/")) return {};
  const std::string list = call.path.substr(own.size());
  ApiCall other;
  for (const auto& parameter : call.query) {
    if (parameter.first == "limit") {
      other.query.emplace_back("limit", "1");
    } else if (parameter.first != "cursor") {
      other.query.push_back(parameter);
    }
  }
  const auto known = session.client.send(
      {.path = "/v1/ns", .query = {{"limit", std::to_string(kMostOthers + 1)}}});
  if (!known) return {};
  const TimePoint began = session.console.now();
  std::vector<std::string> found;
  size_t looked = 0;
  for (const Json& one : known->body.value("items", Json::array())) {
    const std::string name = one.value("name", "");
    if (name == session.ns || ++looked > kMostOthers) continue;
    if (session.console.now() - began >= kOthersTime) break;
    other.path = Client::url_path({"v1", "ns", name}) + list;
    const auto reply = session.client.send(other);
    if (reply && !reply->body.value("items", Json::array()).empty()) found.push_back(name);
  }
  return found;
}

std::string other_namespaces_text(const std::vector<std::string>& names, std::string_view what) {
  std::string text;
  for (const std::string& name : names) {
    text += text.empty() ? fmt::format("; other namespaces have {}: ", what) : ", ";
    text += fmt::format("{} (-n {})", name, name);
  }
  return text;
}

tl::unexpected<Failure> instance_failure(Session& session, const std::string& id, Failure failure) {
  if (failure.error.code == "instance.not_found" && !id.empty()) {
    const ApiCall list{.path = session.path({"instances"}), .query = {{"id", id}, {"limit", "1"}}};
    failure.error.message += other_namespaces_text(find_in_other_namespaces(session, list), "it");
  }
  return tl::unexpected<Failure>(std::move(failure));
}

}  // namespace millrace
