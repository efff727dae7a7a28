// Helpers for the tests of rows: ids, a caller, a time, and checks for each kind of record.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "model/instance.h"

namespace millrace {

inline constexpr NamespaceNumber kShop{3};
inline constexpr WorkflowNumber kOrders{7};

inline InstanceId id(uint8_t last) {
  InstanceId made;
  made.bytes[15] = last;
  return made;
}

inline const TimePoint kNow = from_millis(1'704'067'200'000);

inline Caller caller() { return {.instance = id(7), .entered = 300, .index = 4096, .attempt = 3}; }

/// A record that is truncated or has an additional byte is refused.
template <class Decode>
void expect_whole(const std::string& bytes, Decode decode) {
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto read = decode(std::string_view(bytes).substr(0, size));
    ASSERT_FALSE(read) << size;
    EXPECT_EQ(read.error().code, "store.corrupt") << size;
  }
  EXPECT_FALSE(decode(bytes + "x"));
}

/// A record of an unknown version is refused.
template <class Decode>
void expect_known_versions(std::string bytes, char newest, Decode decode) {
  for (const char version : {char(0), char(newest + 1), '\x7f'}) {
    bytes.front() = version;
    EXPECT_FALSE(decode(bytes)) << "version " << int(version);
  }
}

/// Each number from 0 on is that of one enumerator, by `pinned`. The reader accepts these
/// numbers only.
template <class E, class F>
void expect_pinned(const char* what, int (*pinned)(E), F round_trip) {
  int names = 0;
  for (int number = 0; number < 256; ++number) {
    const bool has_name = pinned(static_cast<E>(number)) >= 0;
    if (has_name) {
      EXPECT_EQ(pinned(static_cast<E>(number)), number) << what;
      ++names;
    }
    EXPECT_EQ(round_trip(static_cast<E>(number)), has_name) << what << " " << number;
  }
  EXPECT_GT(names, 1) << what;
}

}  // namespace millrace
