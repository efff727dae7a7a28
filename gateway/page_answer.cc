#include "gateway/page_answer.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/characters.h"
#include "cloudevents/percent.h"
#include "gateway/problem.h"
#include "language/findings.h"

namespace millrace {
namespace {

/// One script of this origin, no other content, no frame around the page. The policy `millrace` of
/// trusted types passes the address of one worker, and nothing else.
constexpr const char* kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; worker-src 'self'; form-action 'none'; frame-ancestors 'none'; "
    "base-uri 'none'; require-trusted-types-for 'script'; trusted-types millrace";

/// How many digits of WebFile::hash a tag has.
constexpr size_t kTagDigits = 32;

/// The headers of the page, besides `X-Content-Type-Options: nosniff`, which each answer has.
Headers page_headers(std::string_view caching) {
  return {{"Cache-Control", std::string(caching)},
          {"Content-Security-Policy", kContentPolicy},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"}};
}

/// Calls `see` with each element of a list that commas separate, until it returns true; returns
/// whether it did.
template <class See>
bool any_element(std::string_view list, See see) {
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), one.size() + 1));
    if (see(trimmed(one))) return true;
  }
  return false;
}

/// Whether the parameters of an element of Accept-Encoding have the weight 0: `;q=0`, `; q=0.000`.
bool is_refused(std::string_view parameters) {
  const size_t at = to_lower(parameters).find("q=");
  if (at == std::string::npos) return false;
  const std::string_view weight = trimmed(parameters.substr(at + 2));
  return !weight.empty() && weight.find_first_not_of("0.") == std::string_view::npos;
}

bool accepts(const Headers& headers, std::string_view coding) {
  const std::string* const header = find_header(headers, "Accept-Encoding");
  return header != nullptr && any_element(*header, [&](std::string_view element) {
           const size_t end = std::min(element.find(';'), element.size());
           return same_header(trimmed(element.substr(0, end)), coding) &&
                  !is_refused(element.substr(end));
         });
}

/// A file in one form.
struct Form {
  std::string_view bytes;
  const char* coding;  ///< the value of Content-Encoding; empty: the file as it is
};

Form form_for(const WebFile& file, const Headers& headers) {
  if (!file.brotli.empty() && accepts(headers, "br")) return {file.brotli, "br"};
  if (!file.gzip.empty() && accepts(headers, "gzip")) return {file.gzip, "gzip"};
  return {file.bytes, ""};
}

std::string tag_of(const WebFile& file, const Form& form) {
  return fmt::format("\"{}{}\"", file.hash.substr(0, kTagDigits), form.coding);
}

bool has_current(const Headers& headers, std::string_view tag) {
  const std::string* const known = find_header(headers, "If-None-Match");
  return known != nullptr && any_element(*known, [&](std::string_view element) {
           // The comparison is weak (RFC 9110, section 13.1.2).
           if (element.starts_with("W/")) element.remove_prefix(2);
           return element == "*" || element == tag;
         });
}

Response no_page() {
  return problem(
      Error{"page.none",
            "this build of millrace has no page. Build it with npm, or with "
            "-DMILLRACE_PAGE_BUNDLE and the page of a release, to get one. The command line and "
            "the HTTP API do all that the page does"});
}

}  // namespace

Response page_answer(PageFiles files, std::string_view path, const Headers& headers) {
  if (files.empty()) return no_page();
  const auto file = std::find_if(files.begin(), files.end(),
                                 [&](const WebFile& one) { return one.path == path; });
  if (file == files.end()) {
    return problem(
        Error{"request.not_found",
              fmt::format("the page has no file {}; the page may be of another release of "
                          "millrace: load it again",
                          in_quotes(path))});
  }
  const Form form = form_for(*file, headers);
  const std::string tag = tag_of(*file, form);
  Response answer{.headers = page_headers(file->is_immutable ? "public, max-age=31536000, immutable"
                                                             : "no-cache")};
  answer.headers.emplace_back("ETag", tag);
  answer.headers.emplace_back("Vary", "Accept-Encoding");
  if (has_current(headers, tag)) {
    answer.status = 304;
    return answer;
  }
  answer.headers.emplace_back("Content-Type", file->type);
  if (*form.coding != '\0') answer.headers.emplace_back("Content-Encoding", form.coding);
  answer.body = form.bytes;
  return answer;
}

Response place_answer(PageFiles files, std::string_view target) {
  constexpr std::string_view kPlaces = "/ns/";
  if (files.empty()) return no_page();
  const std::string_view path = target.substr(0, target.find('?'));
  const auto slashes = static_cast<size_t>(std::count(path.begin(), path.end(), '/'));
  std::string location;
  for (size_t folder = 1; folder < slashes; ++folder) location.append("../");
  location.append("#/");
  for (const char c : target.substr(std::min(kPlaces.size(), target.size()))) {
    // What the browser has encoded stays as it is.
    if (c == '%') {
      location.push_back(c);
    } else {
      append_percent_encoded(c, "", location);
    }
  }
  Response answer{.status = 302, .headers = page_headers("no-cache")};
  answer.headers.emplace_back("Location", std::move(location));
  return answer;
}

}  // namespace millrace
