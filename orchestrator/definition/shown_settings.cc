#include "orchestrator/definition/shown_settings.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/service_url.h"
#include "orchestrator/definition/invalid_setting.h"

namespace millrace {
namespace {

using SeenUrl = std::function<void(const std::string& where, std::string& url)>;

/// The member `url` of a service or webhook; null: it has none that is a string.
std::string* url_of(Json& owner) {
  if (!owner.is_object()) return nullptr;
  const auto found = owner.find("url");
  return found == owner.end() ? nullptr : found->get_ptr<std::string*>();
}

/// Visits each URL of a service, with its place such as `services.charge.url`.
void each_service_url(Json& settings, const SeenUrl& see) {
  if (!settings.is_object() || !settings.contains("services")) return;
  Json& services = settings["services"];
  if (!services.is_object()) return;
  for (auto one = services.begin(); one != services.end(); ++one) {
    if (std::string* const url = url_of(one.value())) {
      see(fmt::format("services.{}.url", one.key()), *url);
    }
  }
}

/// Visits each URL of a webhook, with its place such as `webhooks[0].url`.
void each_webhook_url(Json& settings, const SeenUrl& see) {
  if (!settings.is_object() || !settings.contains("webhooks")) return;
  Json& webhooks = settings["webhooks"];
  if (!webhooks.is_array()) return;
  for (size_t i = 0; i < webhooks.size(); ++i) {
    if (std::string* const url = url_of(webhooks[i])) see(fmt::format("webhooks[{}].url", i), *url);
  }
}

tl::unexpected<Error> not_stored(const std::string& where) {
  return invalid_setting(
      where, fmt::format("{} stands in place of a part of the URL that is not shown, and it is not "
                         "clear which stored URL is meant; write the whole URL",
                         kUrlMask));
}

Status restore_service_urls(Json& settings, Json& stored) {
  std::map<std::string, std::string> known;
  each_service_url(stored, [&](const std::string& where, std::string& url) { known[where] = url; });
  Status done;
  each_service_url(settings, [&](const std::string& where, std::string& url) {
    if (!done || !is_masked_url(url)) return;
    const auto found = known.find(where);
    if (found != known.end() && shown_url(found->second) == url) {
      url = found->second;
    } else {
      done = not_stored(where);
    }
  });
  return done;
}

Status restore_webhook_urls(Json& settings, Json& stored) {
  std::map<std::string, std::vector<std::string>> known;  // by their shown form, in their order
  each_webhook_url(
      stored, [&](const std::string&, std::string& url) { known[shown_url(url)].push_back(url); });
  std::map<std::string, size_t> wanted;
  each_webhook_url(settings, [&](const std::string&, std::string& url) {
    if (is_masked_url(url)) ++wanted[url];
  });
  std::map<std::string, size_t> taken;
  Status done;
  each_webhook_url(settings, [&](const std::string& where, std::string& url) {
    if (!done || !is_masked_url(url)) return;
    const auto found = known.find(url);
    if (found == known.end()) {
      done = not_stored(where);
      return;
    }
    // Of several URLs that are shown in the same form, some may have been removed.
    const std::vector<std::string>& urls = found->second;
    const bool are_equal = std::equal(urls.begin() + 1, urls.end(), urls.begin());
    if (!are_equal && wanted[url] != urls.size()) {
      done = not_stored(where);
      return;
    }
    url = are_equal ? urls.front() : urls[taken[found->first]++];
  });
  return done;
}

}  // namespace

Json shown_settings(Json settings) {
  // Settings of a later release may have URLs in other places.
  if (std::string* const url = url_of(settings)) *url = shown_url(*url);
  if (!settings.is_structured()) return settings;
  for (Json& value : settings) value = shown_settings(std::move(value));
  return settings;
}

Status restore_urls(Json& settings, const Json& stored) {
  Json before = stored;
  TRY(restore_service_urls(settings, before));
  return restore_webhook_urls(settings, before);
}

}  // namespace millrace
