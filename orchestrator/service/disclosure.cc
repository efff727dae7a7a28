#include "orchestrator/service/disclosure.h"

#include <utility>
#include <variant>

#include "model/service_url.h"
#include "model/task.h"
#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/secret_rows.h"

namespace millrace {
namespace {

/// Adds the credentials in the URLs of the services of one namespace. Damaged settings have none
/// that are known.
Status add_credentials(const View& view, std::string_view ns, std::vector<std::string>& found) {
  const auto record = read_namespace(view, ns);
  if (!record) return is_damaged_row(record.error()) ? Status() : tl::unexpected(record.error());
  // Most settings have no URL, and a query should not parse them for nothing.
  if (!*record || (*record)->settings.find("\"url\"") == std::string::npos) return {};
  const Result<NamespaceSettings> settings = read_settings((*record)->settings);
  if (!settings) return {};
  for (const auto& [name, service] : settings->services) {
    const auto* const http = service.target ? std::get_if<HttpService>(&*service.target) : nullptr;
    if (http == nullptr) continue;
    for (std::string& one : url_credentials(http->url)) {
      if (one.size() >= SecretMasks::kLeastBytes) found.push_back(std::move(one));
    }
  }
  return {};
}

}  // namespace

Json Disclosure::over(Json value) const {
  if (hides_) return kWithheld;
  if (masks_ == nullptr) return value;
  std::optional<Json> masked = masks_->mask_json(value, *budget_);
  return masked ? *std::move(masked) : Json(kWithheld);
}

bool Disclosure::shows(const std::string& text) const {
  return !hides_ && (masks_ == nullptr || over(text) == Json(text));
}

Result<Disclosures> Disclosures::read(const View& view, std::string_view ns,
                                      NamespaceNumber number) {
  Disclosures made(view, ns, number);
  TRY(add_credentials(view, ns, made.credentials_));
  if (ns != kDefaultNamespace) TRY(add_credentials(view, kDefaultNamespace, made.credentials_));
  return made;
}

Disclosure Disclosures::of(Sealing sealing) {
  if (sealing && !sealing.is_masked()) return true;
  std::optional<Treatment>& treatment = sealing ? masked_ : open_;
  if (!treatment) treatment = sealing ? of_masked_data() : of_open_data();
  if (treatment->hides || !treatment->masks) return treatment->hides;
  return {*treatment->masks, budget_};
}

void Disclosures::hide_masked() {
  masked_ = Treatment{.hides = true, .masks = {}};
  open_ = Treatment{};
}

/// Hides the data if it cannot be masked.
Disclosures::Treatment Disclosures::treatment_with(std::optional<SecretMasks> masks) {
  const bool hides = !masks;
  return {.hides = hides, .masks = std::move(masks)};
}

Disclosures::Treatment Disclosures::of_open_data() const {
  if (credentials_.empty()) return {};
  return treatment_with(SecretMasks::make(credentials_));
}

/// What cannot be read does not make a query fail: then data is hidden.
Disclosures::Treatment Disclosures::of_masked_data() const {
  const auto record = read_namespace(view_, ns_);
  if (!record || !*record) return {.hides = true, .masks = {}};
  const Result<NamespaceSettings> settings = read_settings((*record)->settings);
  if (!settings || settings->hides_sealed) return {.hides = true, .masks = {}};
  Result<SecretValues> secrets = read_secret_values(view_, number_);
  if (!secrets || !secrets->is_complete) return {.hides = true, .masks = {}};
  secrets->values.insert(secrets->values.end(), credentials_.begin(), credentials_.end());
  return treatment_with(SecretMasks::make(secrets->values));
}

}  // namespace millrace
