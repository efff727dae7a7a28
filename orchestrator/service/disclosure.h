// Disclosure: what a query shows of data that may have data of a secret, or the credentials in the
// URL of a service. Disclosures: the disclosures of one namespace during one query. For one thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/instance.h"
#include "model/sealing.h"
#include "orchestrator/service/secret_masks.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// What is shown in place of hidden data.
inline constexpr std::string_view kWithheld = "(sealed)";

class Disclosure {
 public:
  /// Shows nothing if `hides`, else everything.
  Disclosure(bool hides) : hides_(hides) {}  // NOLINT(google-explicit-constructor)
  /// Masks values. The arguments outlive the Disclosure.
  Disclosure(const SecretMasks& masks, MaskBudget& budget) : masks_(&masks), budget_(&budget) {}

  bool hides() const { return hides_; }
  bool shows_all() const { return !hides_ && masks_ == nullptr; }

  /// The value as it is shown: unchanged, with masks, or kWithheld. kWithheld also if the masks
  /// would take too long.
  Json over(Json value) const;

  /// Whether the text is shown unchanged. A filter that compares values finds only such texts:
  /// otherwise it would confirm a guess at a text that is masked or hidden.
  bool shows(const std::string& text) const;

 private:
  bool hides_ = false;
  const SecretMasks* masks_ = nullptr;
  MaskBudget* budget_ = nullptr;
};

class Disclosures {
 public:
  /// Of the namespace with that name and number. `view` and `ns` outlive the Disclosures. Fails if
  /// a read fails.
  static Result<Disclosures> read(const View& view, std::string_view ns, NamespaceNumber number);

  /// The disclosure of data with that sealing. In all data that is shown, the credentials are
  /// masked (url_credentials()) that are in the URLs of the services of the namespace, and of those
  /// that all namespaces can use; credentials shorter than SecretMasks::kLeastBytes are not. Data
  /// that is not sealed is hidden if they have too many parts (SecretMasks::make). Masked data is
  /// hidden if the settings of the namespace ask for it, or if it cannot be masked: if not all
  /// values that secrets of the namespace have or had are known, or one of them is too short
  /// (SecretMasks::make). The secrets are read when they are needed first.
  Disclosure of(Sealing sealing);

  /// From now on, masked data is hidden, and data that is not sealed has no masks: for files, in
  /// which a value in a form that has no mask would stay, and what a mask covers is lost.
  void hide_masked();

 private:
  /// What is done with data of one sealing.
  struct Treatment {
    bool hides = false;
    std::optional<SecretMasks> masks;  ///< nullopt: nothing is masked
  };
  static Treatment treatment_with(std::optional<SecretMasks> masks);
  Treatment of_open_data() const;
  Treatment of_masked_data() const;
  Disclosures(const View& view, std::string_view ns, NamespaceNumber number)
      : view_(view), ns_(ns), number_(number) {}

  const View& view_;
  const std::string_view ns_;
  const NamespaceNumber number_;
  std::vector<std::string> credentials_;  ///< in the URLs of services; those that can be masked
  std::optional<Treatment> open_;         ///< of data that is not sealed; nullopt: not known yet
  std::optional<Treatment> masked_;       ///< of masked data; nullopt: not known yet
  MaskBudget budget_;
};

}  // namespace millrace
