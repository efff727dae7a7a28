#include "model/service_url.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <curl/curl.h>
#include <fmt/format.h>

#include "base/bytes.h"
#include "cloudevents/percent.h"

namespace millrace {
namespace {

template <auto function>
struct CurlUrlFree {
  template <class T>
  void operator()(T* handle) const {
    function(handle);
  }
};

std::string part_of(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  const bool is_there = curl_url_get(url, part, &text, flags) == CURLUE_OK;
  const std::unique_ptr<char, CurlUrlFree<curl_free>> owned(text);
  return is_there ? std::string(text) : std::string();
}

/// The parts of a URL; joined in this order they are the URL again.
struct UrlParts {
  std::string_view scheme;               ///< with the colon and all slashes, such as `http://`
  std::optional<std::string_view> user;  ///< user and password, without the `@`
  std::string_view host;                 ///< host and port
  std::string_view path;
  std::optional<std::string_view> query;     ///< without the `?`
  std::optional<std::string_view> fragment;  ///< without the `#`
};

/// Cuts `text` at the first `mark`, and returns what follows; nullopt: there is no `mark`.
std::optional<std::string_view> cut_off(std::string_view& text, char mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + 1);
  text = text.substr(0, at);
  return rest;
}

/// Splits any text. libcurl accepts one to three slashes after the scheme, so that all of them
/// belong to the scheme here: the text after them may begin with a password.
UrlParts split_url(std::string_view url) {
  UrlParts parts;
  parts.fragment = cut_off(url, '#');
  parts.query = cut_off(url, '?');
  const size_t colon = url.find(":/");
  const size_t begin = colon == std::string_view::npos
                           ? 0
                           : std::min(url.find_first_not_of('/', colon + 1), url.size());
  parts.scheme = url.substr(0, begin);
  url.remove_prefix(begin);
  const size_t end = std::min(url.find('/'), url.size());
  parts.host = url.substr(0, end);
  parts.path = url.substr(end);
  if (const size_t at = parts.host.rfind('@'); at != std::string_view::npos) {
    parts.user = parts.host.substr(0, at);
    parts.host.remove_prefix(at + 1);
  }
  return parts;
}

std::string decoded(std::string_view part) {
  return percent_decode(part).value_or(std::string(part));
}

/// Adds the part as it is, and decoded if that differs.
void add_part(std::vector<std::string>& parts, std::string_view part) {
  if (part.empty()) return;
  parts.emplace_back(part);
  if (std::string plain = decoded(part); plain != part) parts.push_back(std::move(plain));
}

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

}  // namespace

tl::expected<std::string, std::string> http_origin(const std::string& url) {
  // libcurl reads the text up to a zero byte, and takes `http:///path` for the host `path`.
  if (url.find('\0') != std::string::npos) {
    return tl::unexpected(std::string("not a valid URL: it has a zero byte"));
  }
  if (const std::string_view scheme = split_url(url).scheme; scheme.ends_with(":///")) {
    return tl::unexpected(std::string("not a valid URL: No host part in the URL"));
  }
  const std::unique_ptr<CURLU, CurlUrlFree<curl_url_cleanup>> parsed(curl_url());
  const CURLUcode code = curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0);
  if (code != CURLUE_OK) {
    return tl::unexpected(fmt::format("not a valid URL: {}", curl_url_strerror(code)));
  }
  const std::string scheme = part_of(parsed.get(), CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") {
    return tl::unexpected(fmt::format("the URL has the scheme {}; expected http or https", scheme));
  }
  // libcurl decodes the host: `%7f` in it becomes one byte.
  const std::string host = part_of(parsed.get(), CURLUPART_HOST);
  if (!is_utf8(host) || std::any_of(host.begin(), host.end(), is_control)) {
    return tl::unexpected(
        std::string("not a valid URL: its host has control characters or is not UTF-8"));
  }
  return fmt::format("{}://{}:{}", scheme, host,
                     part_of(parsed.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT));
}

std::string shown_url(std::string_view url) {
  const UrlParts parts = split_url(url);
  std::string shown(parts.scheme);
  if (parts.user) shown.append(kUrlMask).append("@");
  shown.append(parts.host).append(parts.path);
  if (parts.query) shown.append("?").append(kUrlMask);
  if (parts.fragment) shown.append("#").append(kUrlMask);
  return shown;
}

std::vector<std::string> url_credentials(std::string_view url) {
  const UrlParts parts = split_url(url);
  std::vector<std::string> found;
  if (parts.user && !parts.user->empty()) {
    std::string_view user = *parts.user;
    const std::string_view password = cut_off(user, ':').value_or("");
    add_part(found, password.empty() ? user : password);
    found.push_back(decoded(user) + ":" + decoded(password));
  }
  std::optional<std::string_view> rest = parts.query;
  while (rest) {
    std::string_view value = *rest;
    rest = cut_off(value, '&');
    if (const auto behind_name = cut_off(value, '=')) value = *behind_name;
    if (value.size() >= kLeastQueryCredential) add_part(found, value);
  }
  return found;
}

std::string shown_origin(std::string_view url) {
  const UrlParts parts = split_url(url);
  return std::string(parts.scheme).append(parts.host);
}

bool is_masked_url(std::string_view url) {
  const UrlParts parts = split_url(url);
  return parts.user == kUrlMask || parts.query == kUrlMask || parts.fragment == kUrlMask;
}

}  // namespace millrace
