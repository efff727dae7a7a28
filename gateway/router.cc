#include "gateway/router.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/excerpt.h"
#include "cloudevents/percent.h"
#include "gateway/problem.h"
#include "language/findings.h"

namespace millrace {
namespace {

/// The longest part of a path, or of a list of names, that a message shows, in bytes.
constexpr size_t kLongestPart = 240;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const size_t end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

Result<std::string> decode(std::string_view text) {
  if (auto decoded = percent_decode(text)) return std::move(*decoded);
  return fail("request.malformed_target",
              fmt::format("{}: `%` must be followed by two hexadecimal digits", in_quotes(text)));
}

/// The path and query of a target; a proxy may send an absolute URL as the target.
std::string_view without_authority(std::string_view target) {
  if (target.starts_with('/')) return target;
  const size_t scheme = target.find("://");
  if (scheme == std::string_view::npos) return target;
  const size_t path = target.find('/', scheme + 3);
  return path == std::string_view::npos ? "/" : target.substr(path);
}

bool is_placeholder(std::string_view piece) { return piece.starts_with('{'); }

/// Whether the last placeholder of the route takes all further parts of a path.
bool takes_rest(const Route& route, const std::vector<std::string_view>& pattern) {
  return (route.is_page || route.takes_rest) && is_placeholder(pattern.back());
}

bool fits_piece(std::string_view want, std::string_view have) {
  return is_placeholder(want) ? !have.empty() : want == have;
}

bool fits(const Route& route, const std::vector<std::string_view>& path) {
  const auto pattern = split(route.path, '/');
  const bool has_length =
      takes_rest(route, pattern) ? path.size() >= pattern.size() : path.size() == pattern.size();
  return has_length && std::equal(pattern.begin(), pattern.end(), path.begin(), fits_piece);
}

/// Whether the path of the route is `path` and one further part, which is a text. `path` has two
/// parts at least.
bool is_below(const Route& route, const std::vector<std::string_view>& path) {
  const auto pattern = split(route.path, '/');
  return path.size() > 2 && pattern.size() == path.size() + 1 && !is_placeholder(pattern.back()) &&
         std::equal(
             path.begin(), path.end(), pattern.begin(),
             [](std::string_view have, std::string_view want) { return fits_piece(want, have); });
}

/// The path without its query, in its parts.
std::vector<std::string_view> pieces_of(std::string_view target) {
  target = without_authority(target);
  return split(target.substr(0, target.find('?')), '/');
}

/// Whether the path `one` is to be preferred to `other`, if a path fits both: it has text where the
/// other one has the first placeholder that the two do not share. Without one, the longer is.
bool is_more_literal(std::string_view one, std::string_view other) {
  const auto pieces = split(one, '/');
  const auto others = split(other, '/');
  for (size_t i = 0; i < std::min(pieces.size(), others.size()); ++i) {
    if (is_placeholder(pieces[i]) != is_placeholder(others[i])) return is_placeholder(others[i]);
  }
  return pieces.size() > others.size();
}

Status read_query(std::string_view text, const Route& route, Request& request) {
  std::vector<std::string> unknown;
  for (const std::string_view pair : split(text, '&')) {
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    std::string raw(equals == std::string_view::npos ? "" : pair.substr(equals + 1));
    std::replace(raw.begin(), raw.end(), '+', ' ');
    std::string name = TRY(decode(pair.substr(0, equals)));
    std::string value = TRY(decode(raw));
    if (!route.takes_any_query &&
        std::find(route.query.begin(), route.query.end(), name) == route.query.end()) {
      unknown.push_back(in_quotes(name));
    } else if (!request.query.emplace(name, std::move(value)).second) {
      return fail("request.parameter", fmt::format("the parameter {} is given twice", name));
    }
  }
  if (unknown.empty()) return {};
  return fail("request.unknown_parameter",
              fmt::format("unknown parameters: {}; {} {} accepts {}",
                          excerpt(fmt::format("{}", fmt::join(unknown, ", ")), kLongestPart),
                          request.method, excerpt(request.path, kLongestPart),
                          route.query.empty() ? "no parameters"
                                              : fmt::format("{}", fmt::join(route.query, ", "))));
}

Status read_target(std::string_view path, std::string_view query, const Route& route,
                   Request& request) {
  const auto pattern = split(route.path, '/');
  const auto pieces = split(path, '/');
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (!is_placeholder(pattern[i])) continue;
    const std::string_view name = pattern[i].substr(1, pattern[i].size() - 2);
    const bool is_rest = i + 1 == pattern.size() && takes_rest(route, pattern);
    const auto begin = static_cast<size_t>(pieces[i].data() - path.data());
    std::string text = TRY(decode(is_rest ? path.substr(begin) : pieces[i]));
    request.parts.emplace(name, std::move(text));
  }
  return route.is_page ? Status{} : read_query(query, route, request);
}

}  // namespace

void Router::add(Route route) {
  if (route.lane == Lane::kByMethod) {
    route.lane = route.method == "GET" ? Lane::kRead : Lane::kCommand;
  }
  routes_.push_back(std::move(route));
}

std::variant<Router::Found, Response> Router::find(std::string_view method,
                                                   std::string_view target) const {
  target = without_authority(target);
  const size_t mark = target.find('?');
  const std::string_view path = target.substr(0, mark);
  const std::string_view query =
      mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
  const auto pieces = pieces_of(target);

  Found found;
  found.head = method == "HEAD";
  found.request.method = found.head ? "GET" : method;
  found.request.path = path;
  found.request.target = target;
  std::vector<std::string> allowed;
  for (const Route& route : routes_) {
    if (!fits(route, pieces)) continue;
    if (std::find(allowed.begin(), allowed.end(), route.method) == allowed.end()) {
      allowed.push_back(route.method);
      if (route.method == "GET") allowed.emplace_back("HEAD");
    }
    if (route.method != found.request.method) continue;
    if (found.route == nullptr || is_more_literal(route.path, found.route->path)) {
      found.route = &route;
    }
  }
  if (allowed.empty()) {
    return problem(Error{"request.not_found", fmt::format("the path {} does not exist{}",
                                                          in_quotes(path), hint_below(pieces))});
  }
  if (found.route == nullptr) {
    const std::string allow = fmt::format("{}", fmt::join(allowed, ", "));
    Response refused = problem(
        Error{"request.method_not_allowed",
              fmt::format("{} supports {}, not {}", in_quotes(path), allow, in_quotes(method))});
    refused.headers.emplace_back("Allow", allow);
    return refused;
  }
  if (const Status read = read_target(path, query, *found.route, found.request); !read) {
    return problem(read.error());
  }
  return found;
}

std::string Router::hint_below(const std::vector<std::string_view>& path) const {
  std::vector<std::string> names;
  for (const Route& route : routes_) {
    if (!is_below(route, path)) continue;
    std::string name = route.path.substr(route.path.rfind('/'));
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(std::move(name));
    }
  }
  if (names.empty()) return "";
  return fmt::format("; append one of {}",
                     excerpt(fmt::format("{}", fmt::join(names, ", ")), kLongestPart));
}

bool Router::is_open(std::string_view target) const {
  const auto path = pieces_of(target);
  std::vector<const Route*> exact;
  std::vector<const Route*> below;
  for (const Route& route : routes_) {
    if (fits(route, path)) exact.push_back(&route);
    if (is_below(route, path)) below.push_back(&route);
  }
  const auto& found = exact.empty() ? below : exact;
  return !found.empty() && std::all_of(found.begin(), found.end(), [](const Route* route) {
    return route->open && !route->is_page;
  });
}

}  // namespace millrace
