// What cmake/embed_page.cmake makes of the folder tests/unit/gateway/page.
#include <gtest/gtest.h>

#include "gateway/page_files.h"
#include "tests/support/file_bytes.h"

namespace millrace {

/// Made by the build.
PageFiles embedded_fixture();

namespace {

TEST(EmbeddedPage, HasTheFilesOfItsFolderAndTheirCompressedForms) {
  const std::string folder = "tests/unit/gateway/page/";
  const std::string script_file = folder + "assets/app-1A2B3C4D.js";
  const PageFiles files = embedded_fixture();
  ASSERT_EQ(files.size(), 2U);
  const WebFile& first = files[0];
  EXPECT_EQ(first.path, "/");
  EXPECT_EQ(first.type, "text/html; charset=utf-8");
  EXPECT_FALSE(first.is_immutable);
  EXPECT_EQ(first.bytes, file_bytes(folder + "index.html"));
  EXPECT_EQ(first.gzip, "");
  EXPECT_EQ(first.brotli, "");
  const WebFile& script = files[1];
  EXPECT_EQ(script.path, "/assets/app-1A2B3C4D.js");
  EXPECT_EQ(script.type, "text/javascript; charset=utf-8");
  EXPECT_TRUE(script.is_immutable);
  EXPECT_EQ(script.hash, "d6447d6f631d17aaf8b0db0adf1470646e991a3af22c6f8f7f6041de42b6d213");
  EXPECT_EQ(script.bytes, file_bytes(script_file));
  EXPECT_EQ(script.gzip, file_bytes(script_file + ".gz"));
  EXPECT_EQ(script.brotli, file_bytes(script_file + ".br"));
}

}  // namespace
}  // namespace millrace
