// A container image for tests with the real podman. The image is made of programs of this machine,
// so that podman fetches nothing.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/process.h"

namespace millrace {

/// A perl program: an HTTP server on port 8080 that answers with the request that it got, and
/// writes a variable.
inline constexpr const char* kPerlServer = R"(
  socket(S, 2, 1, 6); setsockopt(S, 1, 2, pack("l", 1));
  bind(S, pack("S n a4 x8", 2, 8080, "\0\0\0\0")) or die $!; listen(S, 5) or die $!;
  while (accept(C, S)) {
    my ($size, $folder) = (0, "");
    while (my $line = <C>) {
      $size = $1 if $line =~ /^Content-Length: (\d+)/i;
      $folder = $1 if $line =~ /^Direktiv-TempDir: (\S+)/i;
      last if $line =~ /^\r?\n$/;
    }
    next if $size == 0;
    read(C, my $body, $size);
    open(F, "<", "$folder/note"); my $note = <F>; close(F);
    open(F, ">", "$folder/out/instance/seen"); print F $body; close(F);
    my $answer = "{\"got\":$body,\"note\":\"$note\"}";
    print C "HTTP/1.1 200 OK\r\nContent-Length: " . length($answer) . "\r\n\r\n$answer"; close(C);
  })";

/// Runs podman to its end.
ProcessEnd podman(std::vector<std::string> arguments);

/// An image with sh, cat, sleep and perl. The constructor builds the image and runs it once; the
/// destructor removes it.
class PodmanImage {
 public:
  explicit PodmanImage(std::string name);
  ~PodmanImage();
  PodmanImage(const PodmanImage&) = delete;
  PodmanImage& operator=(const PodmanImage&) = delete;

  /// Why podman cannot run the image; empty if it can.
  const std::string& missing() const { return missing_; }
  /// Whether tests must fail on a machine without podman; MILLRACE_NEEDS_PODMAN in the environment
  /// sets this.
  static bool is_needed();

 private:
  std::string name_;
  std::string missing_;
};

#define SKIP_WITHOUT_PODMAN(image)                             \
  if (!(image).missing().empty()) {                            \
    if (PodmanImage::is_needed()) FAIL() << (image).missing(); \
    GTEST_SKIP() << (image).missing();                         \
  }

}  // namespace millrace
