// A page of three files, for tests. The compressed forms are not real ones: a test sees which form
// it got.
#pragma once

#include <array>

#include "gateway/page_files.h"

namespace millrace {

inline constexpr std::array<WebFile, 3> kFixturePage = {{
    {.path = "/",
     .type = "text/html; charset=utf-8",
     .hash = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
     .bytes = "<!doctype html>",
     .gzip = "html-gz",
     .brotli = "html-br"},
    {.path = "/assets/app-1A2B3C4D.js",
     .type = "text/javascript; charset=utf-8",
     .is_immutable = true,
     .hash = "aa112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
     .bytes = "let a = 1",
     .gzip = "script-gz"},
    {.path = "/assets/licences.txt",
     .type = "text/plain; charset=utf-8",
     .hash = "bb112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
     .bytes = "MIT"},
}};

}  // namespace millrace
