#include "orchestrator/service/disclosure.h"

#include <utility>

#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/secret_rows.h"

namespace millrace {

Json Disclosure::over(Json value) const {
  if (hides_) return kWithheld;
  if (masks_ == nullptr) return value;
  std::optional<Json> masked = masks_->mask_json(value, *budget_);
  return masked ? *std::move(masked) : Json(kWithheld);
}

bool Disclosure::shows(const std::string& text) const {
  return !hides_ && (masks_ == nullptr || over(text) == Json(text));
}

Disclosure Disclosures::of(Sealing sealing) {
  if (!sealing.is_masked()) return static_cast<bool>(sealing);
  if (!std::exchange(has_read_, true)) masks_ = read_masks();
  if (!masks_) return true;
  return {*masks_, budget_};
}

/// nullopt: masked data is hidden. What cannot be read does not make a query fail: then data is
/// hidden.
std::optional<SecretMasks> Disclosures::read_masks() const {
  const auto record = read_namespace(view_, ns_);
  if (!record || !*record) return std::nullopt;
  const Result<NamespaceSettings> settings = read_settings((*record)->settings);
  if (!settings || settings->hides_sealed) return std::nullopt;
  const Result<SecretValues> secrets = read_secret_values(view_, number_);
  if (!secrets || !secrets->is_complete) return std::nullopt;
  return SecretMasks::make(secrets->values);
}

}  // namespace millrace
