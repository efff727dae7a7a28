// Seal: sealed bytes, and the files of keys.
#include "orchestrator/store/disk/seal.h"

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/folder.h"

namespace millrace {
namespace {

using namespace std::string_literals;

TEST(Seal, OpensSealedBytesOnlyInTheirContext) {
  const Seal seal = Seal::make();
  for (const std::string& bytes : {""s, "a"s, "\0\xff"s, std::string(100'000, 'x')}) {
    const std::string sealed = seal.seal(bytes, "here");
    EXPECT_TRUE(Seal::is_sealed(sealed));
    EXPECT_EQ(seal.open(sealed, "here"), bytes);
    EXPECT_EQ(seal.open(sealed, "there"), std::nullopt);
    EXPECT_EQ(seal.open(sealed, ""), std::nullopt);
    EXPECT_EQ(Seal::make().open(sealed, "here"), std::nullopt)
        << "another key does not open the bytes";
  }
}

TEST(Seal, RefusesDamagedBytes) {
  const Seal seal = Seal::make();
  const std::string sealed = seal.seal("value", "here");
  EXPECT_FALSE(Seal::is_masked(sealed));
  const std::string masked = seal.seal("value", "here", Seal::Mark::kMasked);
  EXPECT_TRUE(Seal::is_sealed(masked) && Seal::is_masked(masked));
  EXPECT_EQ(seal.open(masked, "here"), "value");
  EXPECT_EQ(seal.open(sealed.front() + masked.substr(1), "here"), std::nullopt)
      << "the mark cannot be changed";
  EXPECT_EQ(seal.open(masked.front() + sealed.substr(1), "here"), std::nullopt);
  for (size_t i = 0; i < sealed.size(); ++i) {
    std::string damaged = sealed;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_EQ(seal.open(damaged, "here"), std::nullopt) << i;
    EXPECT_EQ(seal.open(sealed.substr(0, i), "here"), std::nullopt) << i;
  }
  EXPECT_EQ(seal.open(sealed + "x", "here"), std::nullopt);
  EXPECT_EQ(seal.open("", "here"), std::nullopt);
}

TEST(Seal, IsDeterministicAndDependsOnContextAndBytes) {
  const Seal seal = Seal::make();
  EXPECT_EQ(seal.seal("value", "here"), seal.seal("value", "here"));
  EXPECT_NE(seal.seal("value", "here"), seal.seal("value", "there"));
  // Context and bytes have the same concatenation in both calls.
  EXPECT_NE(seal.seal("bc", "a").substr(1, 24), seal.seal("c", "ab").substr(1, 24));
}

TEST(Seal, DerivesTheKeyForIdsFromItsKey) {
  const Seal seal = Seal::make();
  EXPECT_EQ(seal.id_key().size(), 32u);
  EXPECT_EQ(seal.id_key(), seal.id_key());
  EXPECT_NE(seal.id_key(), Seal::make().id_key());
}

TEST(Seal, DerivesTheKeyForIdsOfMessagesFromItsKey) {
  const Seal seal = Seal::make();
  EXPECT_EQ(seal.message_key().size(), 32u);
  EXPECT_EQ(seal.message_key(), seal.message_key());
  EXPECT_NE(seal.message_key(), seal.id_key()) << "an id of a message reveals no id of a task";
  const Seal other = Seal::make();
  EXPECT_NE(seal.message_key(), other.message_key());
}

TEST(Seal, DerivesTheKeyForTheLogOfAClusterFromItsKey) {
  const Seal seal = Seal::make();
  EXPECT_EQ(seal.log_key().size(), 32u);
  EXPECT_EQ(seal.log_key(), seal.log_key());
  EXPECT_NE(seal.log_key(), seal.message_key());
  EXPECT_NE(seal.log_key(), seal.id_key());
  const Seal other = Seal::make();
  EXPECT_NE(seal.log_key(), other.log_key());
}

class SealKeyFile : public testing::Test {
 protected:
  std::string write(const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  Folder folder;
  std::string path = folder.path() / "key";
};

TEST_F(SealKeyFile, HasTheWrittenKeyAndOnlyItsUserCanReadIt) {
  const Seal seal = Seal::make();
  ASSERT_TRUE(seal.write(path));
  struct stat found {};
  ASSERT_EQ(::stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
  const auto again = Seal::read(path);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->open(seal.seal("value", "here"), "here"), "value");
  EXPECT_EQ(again->id_key(), seal.id_key()) << "ids are equal after a restart";
  EXPECT_EQ(again->message_key(), seal.message_key()) << "ids are equal after a restart";
  EXPECT_EQ(again->log_key(), seal.log_key()) << "all nodes with the key file have one log key";
}

TEST_F(SealKeyFile, HasTheKeyAsBytesOrAsHexadecimalDigits) {
  const std::string digits = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F";
  std::string bytes;
  for (char c = 0; c < 32; ++c) bytes.push_back(c);
  const auto seal = Seal::read(write(bytes));
  ASSERT_TRUE(seal) << seal.error().message;
  for (const std::string& text : {digits, digits + "\n", digits + "\r\n"}) {
    const auto same = Seal::read(write(text));
    ASSERT_TRUE(same) << same.error().message;
    EXPECT_EQ(same->seal("value", "here"), seal->seal("value", "here"));
  }
}

TEST_F(SealKeyFile, IsNamedInTheErrorIfItHasNoValidKey) {
  for (const std::string& text :
       {""s, "password\n"s, std::string(31, 'a'), std::string(33, 'a'), std::string(63, 'a'),
        std::string(64, 'g'), std::string(65, 'a'), std::string(1000, 'a')}) {
    const auto seal = Seal::read(write(text));
    ASSERT_FALSE(seal) << text;
    EXPECT_EQ(seal.error().code, "store.key");
    EXPECT_NE(seal.error().message.find(path), std::string::npos);
    if (text.size() > 1) {
      EXPECT_EQ(seal.error().message.find(text), std::string::npos);
    }
  }
  EXPECT_EQ(Seal::read(folder.path() / "none").error().code, "store.key");
  EXPECT_EQ(Seal::read(folder.path()).error().code, "store.key");
}

}  // namespace
}  // namespace millrace
