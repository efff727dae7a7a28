// What queries show of sealed data: masks where all values are known, and nothing elsewhere.
#include "orchestrator/service/disclosure.h"

#include <gtest/gtest.h>

#include "orchestrator/store/rows/secret_rows.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

class DisclosureTest : public QueryTest {
 protected:
  void put_secret(const std::string& name, const std::string& value) {
    write_secret(*tx, ns, name, value);
    commit();
  }
  Json shown(Sealing sealing, const Json& value, std::string_view of = "default") {
    Disclosures disclosures = *Disclosures::read(*tx, of, ns);
    return disclosures.of(sealing).over(value);
  }
  Json masked(const Json& value) { return shown(Sealing::kMasked, value); }

  const Json data_{{"url", "http://x?key=4711-0815&n=1"}};
};

TEST_F(DisclosureTest, MasksTheSecretsOfTheNamespaceInMaskedDataOnly) {
  put_secret("key", "4711-0815");
  write_secret(*tx, NamespaceNumber(77), "other", "http");
  EXPECT_EQ(shown(Sealing::kNone, data_), data_);
  EXPECT_EQ(shown(Sealing::kHidden, data_), "(sealed)");
  EXPECT_EQ(masked(data_), (Json{{"url", "http://x?key=***&n=1"}}));
  Disclosures disclosures = *Disclosures::read(*tx, "default", ns);
  EXPECT_TRUE(disclosures.of(Sealing::kNone).shows_all());
  EXPECT_TRUE(disclosures.of(Sealing::kHidden).hides());
  EXPECT_FALSE(disclosures.of(Sealing::kMasked).hides());
}

TEST_F(DisclosureTest, KnowsWhichTextsItShowsUnchanged) {
  put_secret("key", "4711-0815");
  Disclosures disclosures = *Disclosures::read(*tx, "default", ns);
  EXPECT_TRUE(disclosures.of(Sealing::kNone).shows("4711-0815"));
  EXPECT_FALSE(disclosures.of(Sealing::kMasked).shows("order 4711-0815"));
  EXPECT_TRUE(disclosures.of(Sealing::kMasked).shows("order 12"));
  EXPECT_FALSE(disclosures.of(Sealing::kHidden).shows("order 12"));
}

TEST_F(DisclosureTest, MasksValuesThatASecretHadBefore) {
  put_secret("key", "another value");
  ASSERT_TRUE(keep_former_value(*tx, ns, "4711-0815"));
  EXPECT_EQ(masked(data_), (Json{{"url", "http://x?key=***&n=1"}}));
}

TEST_F(DisclosureTest, HidesDataIfTheSettingsAskForIt) {
  put_secret("key", "4711-0815");
  set_settings(Json{{"sealed", true}});
  EXPECT_EQ(masked(data_), "(sealed)");
  set_settings(Json{{"sealed", false}});
  EXPECT_NE(masked(data_), "(sealed)");
}

TEST_F(DisclosureTest, HidesDataThatItCannotMask) {
  put_secret("pin", "123");
  EXPECT_EQ(masked(data_), "(sealed)") << "the value is too short";
  put_secret("pin", "1234");
  EXPECT_EQ(masked(data_), data_);
  EXPECT_EQ(shown(Sealing::kMasked, data_, "nowhere"), "(sealed)");
  for (size_t i = 0; i <= kMostFormerValues; ++i) {
    ASSERT_TRUE(keep_former_value(*tx, ns, "value " + std::to_string(i)));
  }
  EXPECT_EQ(masked(data_), "(sealed)") << "former values are missing";
}

TEST_F(DisclosureTest, HidesDataWhileASecretCannotBeRead) {
  put_secret("key", "4711-0815");
  std::string sealed = rows::sealed_bytes(*tx, Table::kSecrets, "another place", "v", true);
  tx->put(Table::kSecrets, rows::ns_prefix(ns) + "key", std::move(sealed));
  commit();
  EXPECT_EQ(masked(data_), "(sealed)");
}

TEST_F(DisclosureTest, MasksTheCredentialsInTheURLsOfServicesInAllData) {
  set_settings(Json::parse(R"({"services": {
    "pay": {"url": "http://bob:pass@host/a?key=0123456789abcdef&form=json"},
    "pin": {"url": "http://ann:abc@host"},
    "queue": {"queue": "millrace.tasks.hunter22@x"}}})"));
  const struct {
    const char* text;
    const char* shown;
  } rows[] = {
      {"Authorization: Basic Ym9iOnBhc3M=", "Authorization: Basic ***="},
      {"http://bob:pass@host?key=0123456789abcdef&form=json", "http://***@host?key=***&form=json"},
      {"the pass of bob", "the *** of bob"},
      {"Basic YW5uOmFiYw== for ann:abc, abc", "Basic ***== for ***, abc"},
      {"hunter22", "hunter22"},
  };
  put_secret("key", "4711-0815");
  for (const auto& row : rows) {
    EXPECT_EQ(shown(Sealing::kNone, row.text), row.shown) << row.text;
    EXPECT_EQ(masked(row.text), row.shown) << row.text;
  }
  EXPECT_EQ(shown(Sealing::kNone, data_), data_) << "the value of a secret, in open data";
  EXPECT_EQ(masked("4711-0815 pass"), "*** ***");
  EXPECT_EQ(shown(Sealing::kHidden, "pass"), "(sealed)");
}

TEST_F(DisclosureTest, MasksTheCredentialsOfServicesThatAllNamespacesCanUse) {
  set_settings(Json{{"services", {{"pay", {{"url", "http://bob:hunter22@host"}}}}}});
  EXPECT_EQ(shown(Sealing::kNone, "hunter22", "another"), "***");
  put_secret("key", "4711-0815");
  EXPECT_EQ(masked("hunter22"), "***");
}

TEST_F(DisclosureTest, ShowsOpenDataInFilesAsItIs) {
  set_settings(Json{{"services", {{"pay", {{"url", "http://bob:hunter22@host"}}}}}});
  Disclosures disclosures = *Disclosures::read(*tx, "default", ns);
  disclosures.hide_masked();
  EXPECT_EQ(disclosures.of(Sealing::kNone).over("hunter22"), "hunter22");
  EXPECT_EQ(disclosures.of(Sealing::kMasked).over("hunter22"), "(sealed)");
}

}  // namespace
}  // namespace millrace
