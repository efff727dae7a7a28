#include "model/image_name.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/excerpt.h"
#include "model/task.h"

namespace millrace {
namespace {

constexpr size_t kMaxImageName = 512;

/// The transports that podman takes from the text before the first colon. `docker` is not among
/// them: only `docker://` names that transport, and `docker:27` is an image.
constexpr std::array<std::string_view, 10> kTransports = {"atomic",        "containers-storage",
                                                          "dir",           "docker-archive",
                                                          "docker-daemon", "oci",
                                                          "oci-archive",   "ostree",
                                                          "sif",           "tarball"};

bool names_transport(std::string_view name) {
  const size_t colon = name.find(':');
  return colon != std::string_view::npos && std::find(kTransports.begin(), kTransports.end(),
                                                      name.substr(0, colon)) != kTransports.end();
}

tl::unexpected<Error> bad_image(std::string message) {
  return fail(std::string(kFunctionUnavailable), std::move(message));
}

}  // namespace

Status check_image_name(std::string_view name) {
  static const RE2 pattern(
      "(?:[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]+)?/)?"  // registry
      "[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*"
      "(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?"
      "(?:@[A-Za-z0-9+._-]+:[A-Fa-f0-9]{32,})?");
  if (name.size() > kMaxImageName || !RE2::FullMatch(name, pattern)) {
    return bad_image(fmt::format(
        "`{}` is not a valid image name; expected [registry[:port]/]path[:tag][@digest], at most "
        "{} characters",
        excerpt(name, kMaxImageName), kMaxImageName));
  }
  if (names_transport(name)) {
    return bad_image(fmt::format(
        "`{}` may be a place on the machine of the runtime; write the registry of the image, such "
        "as docker.io/library/{}",
        name, name));
  }
  return {};
}

}  // namespace millrace
