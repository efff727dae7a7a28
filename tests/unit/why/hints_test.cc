// The hint for a predicate that does not hold, by what the event has instead.
#include "orchestrator/why/hints.h"

#include <gtest/gtest.h>

#include "orchestrator/why/predicates.h"
#include "tests/unit/why/situations.h"

namespace millrace {
namespace {

/// The hint as `kind` or `kind name`; `holds`, if the predicate holds; empty: no hint.
std::string hint_of(const Predicate& predicate, const JudgedEvent& event) {
  JudgedPatterns patterns;
  FilterResult result = judge({.type = "paid", .predicates = {predicate}}, event, patterns);
  add_hints(result, event, patterns);
  const PredicateResult& one = result.predicates.front();
  if (one.holds) return "holds";
  if (!one.hint) return "";
  const std::string kind(to_string(one.hint->kind));
  return one.hint->name.empty() ? kind : kind + " " + one.hint->name;
}

TEST(Hints, NameTheProbableMistake) {
  struct Row {
    std::string what;
    Predicate predicate;
    JudgedEvent event;
    std::string hint;
  };
  const std::string long_text(5'000, 'a');
  const Row rows[] = {
      {"equal", is("orderid", "o-1"), paid({{"orderid", "o-1"}}), "holds"},
      {"matches", like("source", "^bank\\."), paid({}), "holds"},
      {"upper case", is("orderid", "o-1"), paid({{"orderid", "O-1"}}), "case"},
      {"lower case", is("orderid", "O-1"), paid({{"orderid", "o-1"}}), "case"},
      {"mixed case", is("orderid", "oA-bC"), paid({{"orderid", "Oa-Bc"}}), "case"},
      {"case of a text", like("orderid", "shop"), paid({{"orderid", "my SHOP"}}), "case"},
      {"case of a beginning", like("orderid", "^Shop"), paid({{"orderid", "shop-1"}}), "case"},
      {"case of an end", like("orderid", "Shop$"), paid({{"orderid", "my shop"}}), "case"},
      {"case of a whole text", like("orderid", "^aB$"), paid({{"orderid", "Ab"}}), "case"},
      {"case of a pattern", like("orderid", "^o-[0-9]+$"), paid({{"orderid", "O-17"}}), "case"},
      {"upper case in a pattern", like("orderid", "^[A-Z]+$"), paid({{"orderid", "abc"}}), "case"},
      {"not only the case", is("orderid", "o-1"), paid({{"orderid", "O-2"}}), ""},
      {"a letter that is not ASCII", is("orderid", "Ä"), paid({{"orderid", "ä"}}), ""},
      {"a space at the end", is("orderid", "o-1"), paid({{"orderid", "o-1 "}}), "space"},
      {"a space at the begin", is("orderid", "o-1"), paid({{"orderid", " o-1"}}), "space"},
      {"a space is asked for", is("orderid", "o-1 "), paid({{"orderid", "o-1"}}), "space"},
      {"a tab", is("orderid", "o-1"), paid({{"orderid", "\to-1"}}), "space"},
      {"a space and a pattern", like("orderid", "^o-[0-9]$"), paid({{"orderid", "o-1 "}}), "space"},
      {"a space within", is("orderid", "o1"), paid({{"orderid", "o 1"}}), ""},
      {"zeros of the value", is("orderid", "7"), paid({{"orderid", "007"}}), "zeros"},
      {"zeros that are asked for", is("orderid", "0042"), paid({{"orderid", "42"}}), "zeros"},
      {"only zeros", is("orderid", "0"), paid({{"orderid", "000"}}), "zeros"},
      {"zeros and a pattern", like("orderid", "^[1-9][0-9]$"), paid({{"orderid", "042"}}), "zeros"},
      {"zeros of another number", is("orderid", "7"), paid({{"orderid", "008"}}), ""},
      {"zeros of a text", is("orderid", "a"), paid({{"orderid", "0a"}}), ""},
      {"in the data", is("orderid", "o-1"), paid({}, R"({"orderid":"o-1"})"), "data orderid"},
      {"in the data with another value", is("orderid", "o-1"), paid({}, R"({"orderid":2})"), ""},
      {"in the data as a number", is("orderid", "7"), paid({}, R"({"orderid":7})"), "data orderid"},
      {"in the data as a list", is("orderid", "o-1"), paid({}, R"({"orderid":["o-1"]})"), ""},
      {"in the data with another case", is("orderid", "o-1"), paid({}, R"({"orderid":"O-1"})"), ""},
      {"in the data, and a pattern fits", like("orderid", "^o-"), paid({}, R"({"orderId":"o-1"})"),
       "data orderId"},
      {"in the data in camel case", is("orderid", "o-1"), paid({}, R"({"orderId":"o-1"})"),
       "data orderId"},
      {"within the data", is("orderid", "o-1"), paid({}, R"({"order":{"orderid":"o-1"}})"), ""},
      {"data that is a list", is("orderid", "o-1"), paid({}, R"(["orderid"])"), ""},
      {"no data", is("orderid", "o-1"), paid({}), ""},
      {"in the attribute and in the data", is("orderid", "o-1"),
       paid({{"orderid", "x"}}, R"({"orderid":"o-1"})"), ""},
      {"anchored at the begin", like("orderid", "^42"), paid({{"orderid", "o-42"}}), "anchored"},
      {"anchored at the end", like("orderid", "o$"), paid({{"orderid", "o-42"}}), "anchored"},
      {"anchored at both ends", like("orderid", "^[0-9]+$"), paid({{"orderid", "o-42"}}),
       "anchored"},
      {"an escaped dollar", like("orderid", "a\\$"), paid({{"orderid", "a"}}), ""},
      {"only an anchor", like("orderid", "^$"), paid({{"orderid", "a"}}), ""},
      {"anchored, and elsewhere not", like("orderid", "^x"), paid({{"orderid", "o-42"}}), ""},
      {"in the subject", is("orderid", "o-1"), paid({{"subject", "o-1"}}), "attribute subject"},
      {"in an extension", is("orderid", "o-1"), paid({{"order", "o-1"}}), "attribute order"},
      {"in the source", like("orderid", "^bank"), paid({{"orderid", "o"}}), "attribute source"},
      {"a pattern for any value", like("orderid", ".*"), paid({{"subject", "o-1"}}), ""},
      {"the type is no candidate", is("orderid", "paid"), paid({}), ""},
      {"a typo: transposed", is("orderid", "A-1031"), paid({{"orderid", "A-1301"}}), "typo"},
      {"a typo: one too many", is("orderid", "A-1031"), paid({{"orderid", "A-10311"}}), "typo"},
      {"a typo: one is missing", is("orderid", "A-1031"), paid({{"orderid", "A-131"}}), "typo"},
      {"a typo and a whole text", like("orderid", "^A-1031$"), paid({{"orderid", "A-1301"}}),
       "typo"},
      {"a typo and a text", like("orderid", "A-1031"), paid({{"orderid", "A-1301"}}), "typo"},
      {"a typo, and another attribute fits", is("orderid", "A-1031"),
       paid({{"orderid", "A-1301"}, {"order", "A-1031"}}), "typo"},
      {"another order", is("orderid", "A-1043"), paid({{"orderid", "A-1044"}}), ""},
      {"another order of a text", like("orderid", "^A-1043$"), paid({{"orderid", "A-1044"}}), ""},
      {"a typo and another pattern", like("orderid", "^A-[0-9]031$"), paid({{"orderid", "A-1301"}}),
       ""},
      {"a typo in a short value", is("orderid", "o-1"), paid({{"orderid", "o1-"}}), ""},
      {"a typo in a value of 257 bytes", is("orderid", std::string(256, 'a')),
       paid({{"orderid", std::string(257, 'a')}}), ""},
      {"zeros rather than a typo", is("orderid", "1031"), paid({{"orderid", "01031"}}), "zeros"},
      {"a space rather than a typo", is("orderid", "1031"), paid({{"orderid", "1031 "}}), "space"},
      {"a long value", is("orderid", "b"), paid({{"orderid", long_text}}), ""},
  };
  for (const Row& row : rows) EXPECT_EQ(hint_of(row.predicate, row.event), row.hint) << row.what;
}

TEST(Hints, HaveAValueThatFits) {
  struct Row {
    std::string what;
    Predicate predicate;
    JudgedEvent event;
    std::string fits;  ///< empty: none is known
  };
  const Row rows[] = {
      {"asked for", is("orderid", "o-1"), paid({{"orderid", "O-1"}}), "o-1"},
      {"in lower case", like("orderid", "^o-[0-9]+$"), paid({{"orderid", "O-17"}}), "o-17"},
      {"in upper case", like("orderid", "^[A-Z]+$"), paid({{"orderid", "abc"}}), "ABC"},
      {"in mixed case", like("orderid", "^Shop"), paid({{"orderid", "shop-1"}}), ""},
      {"without spaces", like("orderid", "^o-[0-9]$"), paid({{"orderid", "o-1 "}}), "o-1"},
      {"without zeros", like("orderid", "^[1-9][0-9]$"), paid({{"orderid", "042"}}), "42"},
      {"in the data", like("orderid", "^o-"), paid({}, R"({"orderId":"o-7"})"), "o-7"},
      {"a number in the data", like("orderid", "^7$"), paid({}, R"({"orderid":7})"), "7"},
      {"of another attribute", like("orderid", "^bank"), paid({{"orderid", "o"}}), "bank.eu"},
      {"of an anchored pattern", like("orderid", "^42"), paid({{"orderid", "o-42"}}), ""},
      {"without a hint", is("orderid", "o-1"), paid({{"orderid", "x"}}), ""},
  };
  for (const Row& row : rows) {
    JudgedPatterns patterns;
    FilterResult result =
        judge({.type = "paid", .predicates = {row.predicate}}, row.event, patterns);
    add_hints(result, row.event, patterns);
    EXPECT_EQ(result.predicates.front().fits.value_or(""), row.fits) << row.what;
  }
}

TEST(Hints, AreSentencesThatNameTheAttribute) {
  EXPECT_EQ(sentence_of({Hint::Kind::kCase, ""}, "orderid"),
            "the two differ in upper and lower case only");
  EXPECT_EQ(sentence_of({Hint::Kind::kSpace, ""}, "orderid"),
            "the two differ in white space at the ends only");
  EXPECT_EQ(sentence_of({Hint::Kind::kZeros, ""}, "orderid"),
            "the two differ in leading zeros only");
  EXPECT_EQ(sentence_of({Hint::Kind::kInData, "orderId"}, "orderid"),
            "the data of the event has the member `orderId` with a value that fits, but a context "
            "compares context attributes only: send the value as the attribute `orderid`");
  EXPECT_EQ(sentence_of({Hint::Kind::kInData, "orderId"}, "orderid", "o-1"),
            "the data of the event has the member `orderId` with the value \"o-1\", but a context "
            "compares context attributes only: send the value as the attribute `orderid`");
  EXPECT_EQ(sentence_of({Hint::Kind::kAnchored, ""}, "orderid"),
            "the pattern matches inside the value, but `^` or `$` ties it to the begin or the end");
  EXPECT_EQ(sentence_of({Hint::Kind::kAttribute, "subject"}, "orderid"),
            "the attribute `subject` has a value that fits");
  EXPECT_EQ(sentence_of({Hint::Kind::kTypo, ""}, "orderid"),
            "the two differ in one typo only: two neighbouring characters are transposed, or one "
            "character is missing or too many");
}

TEST(Hints, HaveNames) {
  EXPECT_EQ(to_string(Hint::Kind::kCase), "case");
  EXPECT_EQ(to_string(Hint::Kind::kSpace), "space");
  EXPECT_EQ(to_string(Hint::Kind::kZeros), "zeros");
  EXPECT_EQ(to_string(Hint::Kind::kInData), "data");
  EXPECT_EQ(to_string(Hint::Kind::kAnchored), "anchored");
  EXPECT_EQ(to_string(Hint::Kind::kAttribute), "attribute");
  EXPECT_EQ(to_string(Hint::Kind::kTypo), "typo");
  EXPECT_EQ(hint_names().size(), static_cast<size_t>(Hint::Kind::kTypo) + 1);
}

}  // namespace
}  // namespace millrace
