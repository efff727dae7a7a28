#include "orchestrator/definition/removed_settings.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "model/service_url.h"
#include "orchestrator/definition/inbound_webhooks.h"

namespace millrace {
namespace {

constexpr std::array<const char*, 3> kTargetKeys = {"url", "request", "queue"};

/// The member; null: `owner` is not an object, or lacks it.
const Json* setting_in(const Json& owner, std::string_view key) {
  if (!owner.is_object()) return nullptr;
  const auto found = owner.find(key);
  return found == owner.end() ? nullptr : &*found;
}

/// The URL of a service or webhook; empty: it has none that is a string.
std::string former_url(const Json& owner) {
  const Json* const url = setting_in(owner, "url");
  return url != nullptr && url->is_string() ? url->get<std::string>() : std::string();
}

/// Whether the setting is as if it were not set.
bool has_no_effect(const Json& setting) {
  return setting.is_null() || setting == Json(false) ||
         (setting.is_structured() && setting.empty());
}

class Removed {
 public:
  void add(std::string path, const std::string& url = "") {
    Json one{{"path", std::move(path)}};
    if (!url.empty()) one["url"] = shown_url(url);
    all_.push_back(std::move(one));
  }

  /// Adds the members of an object of services or inbound webhooks that `next` lacks.
  void add_names(std::string_view setting, const Json& former, const Json* next) {
    for (const auto& [name, one] : former.items()) {
      const Json* const now = next == nullptr ? nullptr : setting_in(*next, name);
      if (now == nullptr) {
        add(fmt::format("{}.{}", setting, name), former_url(one));
      } else if (setting == "services") {
        add_target(name, one, *now);
      }
    }
  }

  /// Adds the webhooks whose URL `next` lacks.
  void add_webhooks(const Json& former, const Json* next) {
    std::set<std::string> kept;
    if (next != nullptr && next->is_array()) {
      for (const Json& one : *next) kept.insert(former_url(one));
    }
    for (size_t i = 0; i < former.size(); ++i) {
      const std::string url = former_url(former[i]);
      if (!kept.contains(url)) add(fmt::format("webhooks[{}]", i), url);
    }
  }

  Json all() && { return std::move(all_); }

 private:
  /// Adds the target of a service that has no target any more.
  void add_target(const std::string& name, const Json& former, const Json& next) {
    const bool has_target =
        std::any_of(kTargetKeys.begin(), kTargetKeys.end(),
                    [&](const char* key) { return setting_in(next, key) != nullptr; });
    if (has_target) return;
    for (const char* const key : kTargetKeys) {
      if (setting_in(former, key) == nullptr) continue;
      add(fmt::format("services.{}.{}", name, key), former_url(former));
    }
  }

  Json all_ = Json::array();
};

}  // namespace

Json removed_settings(const Json& former, const Json& next) {
  Removed removed;
  if (!former.is_object()) return Json::array();
  for (const auto& [setting, value] : former.items()) {
    const Json* const now = setting_in(next, setting);
    if (value.is_object() && (setting == "services" || setting == kInboundSetting)) {
      removed.add_names(setting, value, now);
    } else if (value.is_array() && setting == "webhooks") {
      removed.add_webhooks(value, now);
    } else if (now == nullptr && !has_no_effect(value)) {
      removed.add(setting);
    }
  }
  return std::move(removed).all();
}

}  // namespace millrace
