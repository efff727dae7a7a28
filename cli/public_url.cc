#include "cli/public_url.h"

#include <utility>

#include <fmt/format.h>

#include "model/service_url.h"

namespace millrace {

void add_public_url_flag(Verb& serve, std::string& to) {
  serve.option("--public-url", to,
               "URL at which services reach this server, with which the URLs begin that calls are "
               "given (MILLRACE_PUBLIC_URL; default: the host and port of --listen, with the name "
               "of this machine if it listens on all addresses)",
               "URL");
}

Fallible<std::string> read_public_url(const Shell& shell, const std::string& given) {
  std::string url = shell.setting(given, {"MILLRACE_PUBLIC_URL"});
  if (url.empty()) return url;
  return base_url_of("--public-url", std::move(url));
}

Fallible<std::string> base_url_of(const char* flag, std::string text) {
  if (text.ends_with('/')) text.pop_back();
  const size_t scheme = text.find("://");
  const bool is_bare = scheme != std::string::npos &&
                       text.find_first_of("/?#@", scheme + 3) == std::string::npos &&
                       http_origin(text).has_value();
  if (is_bare) return text;
  return wrong_usage(fmt::format(
      "{}: \"{}\" is not the URL of a server; expected one such as http://db1:8780, without a path",
      flag, shown_url(text)));
}

}  // namespace millrace
