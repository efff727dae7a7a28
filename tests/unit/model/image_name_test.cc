// Which names of images a definition may have.
#include "model/image_name.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "model/task.h"

namespace millrace {
namespace {

using testing::HasSubstr;

TEST(ImageName, IsThatOfAnImageInARegistry) {
  const std::string digest = "@sha256:" + std::string(64, 'a');
  for (const std::string name :
       {"busybox", "busybox:1.35", "library/busybox", "docker.io/library/busybox:latest",
        "localhost/x:test", "localhost:5000/a/b_c/d-e:v1.2_3", "registry.example.com:443/x",
        "docker:27-dind", "docker.io/library/dir:x", "shop/oci:x", "oci", "directory:x"}) {
    EXPECT_TRUE(check_image_name(name)) << name;
    EXPECT_TRUE(check_image_name(name + digest)) << name;
  }
}

TEST(ImageName, IsNeitherAnOptionNorAPlaceOnThisMachine) {
  const std::vector<std::string> names = {"",
                                          "-it",
                                          "--privileged",
                                          "--volume=/:/host",
                                          "a b",
                                          "a\nb",
                                          "a;b",
                                          "$(id)",
                                          "`id`",
                                          "/etc",
                                          "./x",
                                          "../x",
                                          "dir:/etc",
                                          "docker-archive:/tmp/x.tar",
                                          "oci:/tmp/x",
                                          "oci-archive:/x",
                                          "docker://x",
                                          "docker-daemon:x:y",
                                          "containers-storage:[overlay@/x]y",
                                          "http://x/y",
                                          "x/",
                                          "x//y",
                                          "x:",
                                          "x@",
                                          "x@sha256:",
                                          "x@sha256:12",
                                          "x:y:z",
                                          "x:80/y:z:w",
                                          "ünï",
                                          ":x",
                                          "@x",
                                          "*",
                                          std::string("a\0b", 3),
                                          std::string(600, 'a')};
  for (const std::string& name : names) {
    const Status checked = check_image_name(name);
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().code, kFunctionUnavailable) << name;
    EXPECT_THAT(checked.error().message, HasSubstr("not a valid image name")) << name;
  }
}

TEST(ImageName, IsCutBetweenTwoCharactersInAnError) {
  std::string name(511, 'a');
  name += "\u00e9";
  const Status status = check_image_name(name);
  ASSERT_FALSE(status);
  EXPECT_TRUE(is_utf8(status.error().message)) << status.error().message;
}

TEST(ImageName, DoesNotBeginWithTheNameOfATransport) {
  for (const std::string name : {"dir:x", "oci:x", "oci:5000/x", "oci-archive:x.tar",
                                 "docker-archive:x.tar", "docker-daemon:x", "containers-storage:x",
                                 "tarball:x.tar", "sif:x.sif", "atomic:x", "ostree:x"}) {
    const Status checked = check_image_name(name);
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().code, kFunctionUnavailable) << name;
    EXPECT_THAT(checked.error().message, HasSubstr("write the registry")) << name;
  }
}

}  // namespace
}  // namespace millrace
