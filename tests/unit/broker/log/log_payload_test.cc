#include "broker/log/log_payload.h"

#include <cstdint>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/broker/log/log_makers.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

/// Bytes that zstd cannot make shorter.
std::string random_bytes(size_t size) {
  std::string bytes;
  uint64_t x = 1;
  while (bytes.size() < size) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    bytes += static_cast<char>(x >> 56);
  }
  return bytes;
}

LogUnit pack(const std::string& write_set, size_t part_bytes) {
  LogPacker packer;
  Result<LogUnit> unit = packer.pack({.epoch = 3,
                                      .incarnation = incarnation_of(1),
                                      .commit = 7,
                                      .format = 6,
                                      .is_packed = true,
                                      .parts = {"x", "y"}},
                                     write_set, part_bytes);
  EXPECT_TRUE(unit);
  EXPECT_EQ(unit->epoch, 3U);
  EXPECT_EQ(unit->incarnation, incarnation_of(1));
  EXPECT_EQ(unit->commit, 7U);
  EXPECT_EQ(unit->format, 6U);
  return *unit;
}

std::string joined(const LogUnit& unit) {
  std::string all;
  for (const std::string& part : unit.parts) all += part;
  return all;
}

TEST(LogPayload, IsTheWriteSetIfItIsShort) {
  for (const std::string& write_set :
       {std::string(), std::string("rows"), std::string(1'023, 'r')}) {
    const LogUnit unit = pack(write_set, 1'024);
    EXPECT_FALSE(unit.is_packed);
    EXPECT_THAT(unit.parts, ElementsAre(write_set));
    EXPECT_EQ(unpack_log_payload(false, joined(unit)), write_set);
  }
}

TEST(LogPayload, IsCompressedFromOneKilobyteOn) {
  const std::string write_set(1'024, 'r');
  const LogUnit unit = pack(write_set, 1'024);
  EXPECT_TRUE(unit.is_packed);
  ASSERT_THAT(unit.parts, SizeIs(1));
  EXPECT_LT(unit.parts[0].size(), 100U);
  EXPECT_EQ(unpack_log_payload(true, unit.parts[0]), write_set);
}

TEST(LogPayload, StaysAsItIsIfItDoesNotBecomeShorter) {
  const std::string write_set = random_bytes(5'000);
  const LogUnit unit = pack(write_set, 10'000);
  EXPECT_FALSE(unit.is_packed);
  EXPECT_THAT(unit.parts, ElementsAre(write_set));
}

TEST(LogPayload, IsDividedIntoPartsThatTheBrokerTakes) {
  const std::string write_set = random_bytes(2'500);
  const LogUnit unit = pack(write_set, 1'000);
  ASSERT_THAT(unit.parts, ElementsAre(SizeIs(1'000), SizeIs(1'000), SizeIs(500)));
  EXPECT_EQ(unpack_log_payload(unit.is_packed, joined(unit)), write_set);
  EXPECT_THAT(pack(random_bytes(2'000), 1'000).parts, ElementsAre(SizeIs(1'000), SizeIs(1'000)));
  EXPECT_THAT(pack(random_bytes(1'000), 1'000).parts, SizeIs(1));

  // The parts are those of the compressed payload.
  const std::string half = random_bytes(3'000) + std::string(3'000, 'r');
  const LogUnit packed = pack(half, 1'000);
  EXPECT_TRUE(packed.is_packed);
  EXPECT_THAT(packed.parts, SizeIs(4));
  EXPECT_EQ(unpack_log_payload(true, joined(packed)), half);
}

TEST(LogPayload, LeavesRoomForTheHeaders) {
  EXPECT_EQ(log_part_bytes(1'048'576), 1'032'192U);
  EXPECT_EQ(log_part_bytes(20'000), 3'616U);
  EXPECT_EQ(log_part_bytes(16'384), 1'024U);
  EXPECT_EQ(log_part_bytes(0), 1'024U);
}

TEST(LogPayload, HasABoundedNumberOfPartsAndBytes) {
  LogPacker packer;
  const auto many = packer.pack({}, random_bytes(1'000), 1'000 / (kMostLogParts + 1) + 1);
  EXPECT_TRUE(many);
  const auto parts = packer.pack({}, random_bytes(kMostLogParts + 1), 1);
  EXPECT_EQ(parts, Result<LogUnit>(fail("log.too_large",
                                        "a write-set has 4097 parts of 1 bytes; expected at most "
                                        "4096: raise `max_payload` of nats-server")));
  const std::unique_ptr<char[]> unread(new char[kMostLogCommitBytes + 1]);
  const auto bytes = packer.pack({}, {unread.get(), kMostLogCommitBytes + 1}, 1 << 20);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, "log.too_large");
  EXPECT_EQ(bytes.error().message,
            "a write-set has 268435457 bytes; the log takes at most 268435456");
}

TEST(LogPayload, IsUnreadableIfItIsNotWhatWasPacked) {
  const auto error_of = [](const std::string& payload) {
    const auto read = unpack_log_payload(true, payload);
    return read ? "it was read" : read.error().code + ": " + read.error().message;
  };
  const std::string packed = joined(pack(std::string(5'000, 'r') + random_bytes(500), 10'000));
  EXPECT_THAT(error_of(""), HasSubstr("log.unreadable: a payload of 0 bytes is not one frame"));
  EXPECT_THAT(error_of("rows of a store"), HasSubstr("is not one frame of zstd"));
  EXPECT_THAT(error_of(packed.substr(0, packed.size() - 1)), HasSubstr("is not one frame of zstd"));
  EXPECT_THAT(error_of(packed + "x"), HasSubstr("is not one frame of zstd"));
  EXPECT_THAT(error_of(packed + packed), HasSubstr("is not one frame of zstd"));
  // A frame with one raw block of one byte that does not say how long its content is.
  EXPECT_THAT(error_of(std::string("\x28\xb5\x2f\xfd\x00\x58\x09\x00\x00r", 10)),
              HasSubstr("does not say how long its write-set is"));
  // A frame of one block that says that it has 2^40 bytes: it is refused before memory is taken.
  EXPECT_THAT(error_of(std::string("\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x00\x00\x01\x00\x00\x09\x00"
                                   "\x00r",
                                   17)),
              HasSubstr("says that its write-set has 1099511627776 bytes; expected at most "
                        "268435456"));
}

}  // namespace
}  // namespace millrace
