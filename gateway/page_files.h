// PageFiles: the files of the page, which shows the server in a browser. The build puts them into
// the program (cmake/Page.cmake), each also in compressed forms, so that the server compresses
// nothing and reads no file. Constants; for any thread.
#pragma once

#include <span>
#include <string_view>

namespace millrace {

/// A file of the page. The texts live as long as the program.
struct WebFile {
  std::string_view path;  ///< of the URL: `/`, or such as `/assets/app-1A2B3C4D.js`
  std::string_view type;  ///< the value of Content-Type
  /// The name has a hash of the content: a browser need never ask for the file again.
  bool is_immutable = false;
  std::string_view hash;  ///< SHA-256 of the content, in hexadecimal digits
  std::string_view bytes;
  // The content, compressed; empty: it is not there in this form.
  std::string_view gzip;
  std::string_view brotli;
};

/// All files of a page, in any order. Empty: there is no page.
using PageFiles = std::span<const WebFile>;

/// The page with which the program was built. Empty: it was built without one. The definition is
/// made by the build.
PageFiles embedded_page();

}  // namespace millrace
