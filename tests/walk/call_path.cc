#include "tests/walk/call_path.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace millrace {
namespace {

/// A call that has not returned.
struct Frame {
  const CodePlace* place = nullptr;  ///< null: outside the project
  std::optional<size_t> visit;       ///< the visit that the call belongs to
};

void add_visits(const TracedThread& thread, int64_t from, int64_t to, const CodePlaceOf& place_of,
                std::vector<FileVisit>& visits) {
  std::vector<Frame> frames;
  std::vector<Frame> inside;    ///< the frames of the project
  std::vector<FileVisit> all;   ///< from the beginning of the trace
  std::vector<bool> is_wanted;  ///< by visit: whether it belongs to the result
  for (const TracedCall& call : thread.calls) {
    if (call.function == nullptr) {
      if (frames.empty()) continue;  // the call was made before the trace started
      if (frames.back().place != nullptr) inside.pop_back();
      frames.pop_back();
      continue;
    }
    const CodePlace& place = place_of(call.function);
    if (place.file.empty()) {
      frames.emplace_back();
      continue;
    }
    Frame frame{&place, inside.empty() ? std::nullopt : inside.back().visit};
    if (!inside.empty() && inside.back().place->file != place.file) {
      all.push_back({thread.name, frame.visit, *inside.back().place, place});
      frame.visit = all.size() - 1;
      is_wanted.push_back(call.at >= from && call.at < to);
    }
    frames.push_back(frame);
    inside.push_back(frame);
  }
  for (size_t i = all.size(); i > 0; --i) {
    if (is_wanted[i - 1] && all[i - 1].parent) is_wanted[*all[i - 1].parent] = true;
  }
  std::vector<size_t> place_in(all.size());  // the index in `visits`, by index in `all`
  for (size_t i = 0; i < all.size(); ++i) {
    if (!is_wanted[i]) continue;
    place_in[i] = visits.size();
    visits.push_back(std::move(all[i]));
    if (visits.back().parent) visits.back().parent = place_in[*visits.back().parent];
  }
}

/// Whether `places` has the file or a folder that contains it. Folders end with a slash.
bool is_among(const std::string& file, const std::vector<std::string>& places) {
  return std::any_of(places.begin(), places.end(), [&](const std::string& place) {
    return place.ends_with('/') ? file.starts_with(place) : file == place;
  });
}

/// Whether the function is a constructor, a destructor or an assignment.
bool is_special(const std::string& function) {
  const std::string bare = bare_name(function);
  if (bare.find("::~") != std::string::npos) return true;
  if (bare.find("operator=") != std::string::npos) return true;
  const size_t last = bare.rfind("::");
  if (last == std::string::npos) return false;
  const size_t before = bare.rfind("::", last - 1);
  const size_t begin = before == std::string::npos ? 0 : before + 2;
  return bare.substr(begin, last - begin) == bare.substr(last + 2);
}

}  // namespace

std::string bare_name(const std::string& function) {
  static constexpr std::string_view kUnnamed = "(anonymous namespace)::";
  std::string bare;
  size_t depth = 0;
  for (size_t i = 0; i < function.size(); ++i) {
    const char c = function[i];
    if (depth == 0 && function.compare(i, kUnnamed.size(), kUnnamed) == 0) {
      i += kUnnamed.size() - 1;
      continue;
    }
    if (c == '(' && depth == 0) break;
    if (c == '<') {
      ++depth;
    } else if (c == '>') {
      if (depth > 0) --depth;
    } else if (depth == 0) {
      bare += c;
    }
  }
  return bare;
}

std::vector<FileVisit> visits_of(const std::vector<TracedThread>& threads, int64_t from, int64_t to,
                                 const CodePlaceOf& place_of) {
  std::vector<FileVisit> visits;
  for (const TracedThread& thread : threads) add_visits(thread, from, to, place_of, visits);
  return visits;
}

std::vector<FileVisit> steps_of(const std::vector<FileVisit>& visits, const PathRules& rules) {
  std::vector<FileVisit> steps;
  std::vector<std::optional<size_t>> step_of(visits.size());  // by visit
  std::map<std::tuple<std::string, std::optional<size_t>, std::string, std::string>, size_t> known;
  for (size_t i = 0; i < visits.size(); ++i) {
    const FileVisit& visit = visits[i];
    const std::optional<size_t> parent = visit.parent ? step_of[*visit.parent] : std::nullopt;
    step_of[i] = parent;
    if (is_special(visit.to.function)) continue;
    if (is_among(visit.to.file, rules.ignored) || is_among(visit.from.file, rules.ignored))
      continue;
    if (is_among(visit.from.file, rules.libraries)) continue;
    const auto [one, is_new] = known.try_emplace(
        std::tuple(visit.thread, parent, visit.from.file, visit.to.file), steps.size());
    step_of[i] = one->second;
    if (is_new) steps.push_back({visit.thread, parent, visit.from, visit.to});
    auto& functions = steps[one->second].functions;
    const std::string function = bare_name(visit.to.function);
    if (std::find(functions.begin(), functions.end(), function) == functions.end()) {
      functions.push_back(function);
    }
  }
  return steps;
}

}  // namespace millrace
