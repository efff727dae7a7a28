// Why a predicate does not hold, over HTTP on a running server: the verdict and the hint are the
// same for an event that is tried, from the event that was sent, and from the instance.
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/integration/why_situations.h"

namespace millrace {
namespace {

/// An instance with that `order` waits for an event with that context, and gets an event with these
/// members.
Situation waiting_for(std::string name, std::string_view context, std::string order, Json event,
                      std::string expected) {
  return {.name = std::move(name),
          .definition = fmt::format(R"(states:
  - {{id: wait, type: consumeEvent, event: {{type: NAME, context: {{{}}}}}, transition: rest}}
  - {{id: rest, type: delay, duration: PT1H}}
)",
                                    context),
          .steps = {steps::waits(std::move(order)), steps::tries_and_sends(std::move(event))},
          .expected = std::move(expected)};
}

constexpr std::string_view kAsksForOrder = "orderid: jq(.order)";

}  // namespace

std::vector<Situation> situations_of_predicates() {
  const std::string long_text = std::string(200, 'a') + "!";
  return {
      waiting_for("fits", kAsksForOrder, "o-1", {{"orderid", "o-1"}}, "woke"),
      waiting_for("fitspattern", "source: '^bank'", "", Json::object(), "woke"),
      // The value would fit, but for upper and lower case.
      waiting_for("upper", kAsksForOrder, "o-1", {{"orderid", "O-1"}}, "predicate case"),
      waiting_for("lower", kAsksForOrder, "O-1", {{"orderid", "o-1"}}, "predicate case"),
      waiting_for("casetext", "orderid: shop", "", {{"orderid", "my SHOP"}}, "predicate case"),
      waiting_for("casebegin", "orderid: '^Shop'", "", {{"orderid", "shop-1"}}, "predicate case"),
      waiting_for("casepattern", "orderid: '^o-[0-9]+$'", "", {{"orderid", "O-17"}},
                  "predicate case"),
      // White space at the ends.
      waiting_for("spacebefore", kAsksForOrder, "o-1", {{"orderid", " o-1"}}, "predicate space"),
      waiting_for("spacebehind", kAsksForOrder, "o-1", {{"orderid", "o-1 "}}, "predicate space"),
      waiting_for("spaceasked", kAsksForOrder, "o-1 ", {{"orderid", "o-1"}}, "predicate space"),
      waiting_for("spacepattern", "orderid: '^o-[0-9]$'", "", {{"orderid", "o-1 "}},
                  "predicate space"),
      waiting_for("spacewithin", kAsksForOrder, "o1", {{"orderid", "o 1"}}, "predicate -"),
      // Leading zeros.
      waiting_for("zeros", kAsksForOrder, "7", {{"orderid", "007"}}, "predicate zeros"),
      waiting_for("zerosasked", kAsksForOrder, "007", {{"orderid", "7"}}, "predicate zeros"),
      waiting_for("zerospattern", "orderid: '^[1-9][0-9]$'", "", {{"orderid", "042"}},
                  "predicate zeros"),
      waiting_for("othernumber", kAsksForOrder, "7", {{"orderid", "008"}}, "predicate -"),
      // Typos.
      waiting_for("transposed", kAsksForOrder, "A-1031", {{"orderid", "A-1301"}}, "predicate typo"),
      waiting_for("onemore", kAsksForOrder, "A-1031", {{"orderid", "A-10311"}}, "predicate typo"),
      waiting_for("oneless", kAsksForOrder, "A-1031", {{"orderid", "A-131"}}, "predicate typo"),
      waiting_for("typopattern", "orderid: '^A-1031$'", "", {{"orderid", "A-1301"}},
                  "predicate typo"),
      waiting_for("otherorder", kAsksForOrder, "A-1043", {{"orderid", "A-1044"}}, "predicate -"),
      // The value is in the data only.
      waiting_for("data", kAsksForOrder, "o-1", {{"data", {{"orderid", "o-1"}}}}, "predicate data"),
      waiting_for("datacase", kAsksForOrder, "o-1", {{"data", {{"orderId", "o-1"}}}},
                  "predicate data"),
      waiting_for("datanumber", kAsksForOrder, "7", {{"data", {{"orderid", 7}}}}, "predicate data"),
      waiting_for("datapattern", "orderid: '^o-'", "", {{"data", {{"orderId", "o-1"}}}},
                  "predicate data"),
      waiting_for("datawithin", kAsksForOrder, "o-1", {{"data", {{"order", {{"orderid", "o-1"}}}}}},
                  "predicate -"),
      // The pattern matches inside the value.
      waiting_for("anchoredbegin", "orderid: '^42'", "", {{"orderid", "o-42"}},
                  "predicate anchored"),
      waiting_for("anchoredend", "orderid: 'o$'", "", {{"orderid", "o-42"}}, "predicate anchored"),
      waiting_for("anchored", "orderid: '^o-1$'", "", {{"orderid", "x-o-1-y"}},
                  "predicate anchored"),
      // Another attribute fits.
      waiting_for("subject", kAsksForOrder, "o-1", {{"orderid", "x"}, {"subject", "o-1"}},
                  "predicate attribute"),
      waiting_for("extension", kAsksForOrder, "o-1", {{"order", "o-1"}}, "predicate attribute"),
      waiting_for("inthesource", "orderid: '^bank'", "", {{"orderid", "o"}}, "predicate attribute"),
      // No hint.
      waiting_for("absent", kAsksForOrder, "o-1", Json::object(), "predicate -"),
      waiting_for("othervalue", kAsksForOrder, "o-1", {{"orderid", "o-9"}}, "predicate -"),
      waiting_for("othersource", "source: '^shop'", "", Json::object(), "predicate -"),
      waiting_for("twoasked", "source: '^bank', orderid: jq(.order)", "o-1", {{"orderid", "O-1"}},
                  "predicate case"),
      waiting_for("steps", "orderid: '^(?=(a+)+$)'", "", {{"orderid", long_text}}, "limit -"),
  };
}

namespace {

TEST_F(WhySituations, HaveAHintForAPredicateThatDoesNotHold) { run(situations_of_predicates()); }

}  // namespace
}  // namespace millrace
