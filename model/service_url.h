// The URLs of services and webhooks: whether a request can be sent to a URL, and how a URL is
// shown. The user, the password, the query and the fragment of a URL may be credentials, so no
// answer, log line, error or dead letter shows them. Pure. The .cc is the only code that parses
// URLs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace millrace {

/// The origin of a URL: scheme, host and port, such as `https://example.com:443`. The error is the
/// reason why no request can be sent to the URL, without the URL itself.
tl::expected<std::string, std::string> http_origin(const std::string& url);

/// The text in place of a part of a URL that is not shown.
inline constexpr std::string_view kUrlMask = "***";

/// The URL with kUrlMask in place of user and password, of the query and of the fragment, such as
/// `http://***@host:8080/path?***`. Works for any text.
std::string shown_url(std::string_view url);

/// The shortest value in a query, in bytes, that url_credentials() returns. A shorter one is rarely
/// a credential, and often a word that other data has too, such as `json`.
inline constexpr size_t kLeastQueryCredential = 16;

/// The parts of the URL that may be credentials, in the forms in which an answer of the service may
/// have them: the password, or the user if there is no password; `user:password`, which HTTP Basic
/// encodes; and the values in the query of at least kLeastQueryCredential bytes. A part with
/// percent escapes is returned as it is and decoded. Works for any text.
std::vector<std::string> url_credentials(std::string_view url);

/// The beginning of the URL up to the path, without user and password, such as `http://host:8080`.
/// Works for any text.
std::string shown_origin(std::string_view url);

/// Whether kUrlMask stands in place of a part of the URL, as in the result of shown_url().
bool is_masked_url(std::string_view url);

}  // namespace millrace
