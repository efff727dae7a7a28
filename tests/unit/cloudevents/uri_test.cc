#include "cloudevents/uri.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Uri, FollowsTheGrammarOfRfc3986) {
  for (const char* text :
       {"", "#fragment", "?q=/?", "/a/b;c=d", "a/b:c", "../x", "//host/path", "1-555-123-4567",
        "https://user:pw@example.com:8080/a%20b?x=y&z#f/?", "mailto:cncf-wg@lists.cncf.io",
        "urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66", "http://[2001:db8::1]:80/", "file:///x",
        "tag:a@b,2021:x", "x:", "http://host:/"}) {
    EXPECT_TRUE(is_uri_reference(text)) << text;
  }
  for (const char* text : {"a b",
                           "a\"b",
                           "<a>",
                           "a\\b",
                           "{a}",
                           "a|b",
                           "a^b",
                           "a`b",
                           "ä",
                           "%",
                           "%4",
                           "%zz",
                           "a#b#c",
                           "1:a",
                           "10.0.0.1:80/x",
                           ":a",
                           "http://host:x/",
                           "http://[::1",
                           "http://[]/",
                           "http://a[b",
                           "a[0]",
                           "http://a@b@c/"}) {
    EXPECT_FALSE(is_uri_reference(text)) << text;
  }
  for (const char* text : {"urn:x", "https://example.com/s#/definitions/order"}) {
    EXPECT_TRUE(is_absolute_uri(text)) << text;
  }
  for (const char* text : {"", "/x", "//host/x", "a/b:c", "#x", "1:a", "urn:a b"}) {
    EXPECT_FALSE(is_absolute_uri(text)) << text;
  }
}

}  // namespace
}  // namespace millrace
