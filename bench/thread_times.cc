#include "bench/thread_times.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace {
namespace {

constexpr double kNanosecondsOfASecond = 1e9;

/// The text of the file; empty: it does not exist any more.
std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

std::string percents(const ThreadTime& time, double seconds) {
  return fmt::format("{:.0f} + {:.0f}", 100 * time.runs / seconds, 100 * time.waits / seconds);
}

}  // namespace

std::optional<ThreadTime> parse_schedstat(std::string_view text) {
  std::istringstream fields{std::string(text)};
  ThreadTime time;
  if (!(fields >> time.runs >> time.waits)) return std::nullopt;
  time.runs /= kNanosecondsOfASecond;
  time.waits /= kNanosecondsOfASecond;
  return time;
}

ThreadTimes thread_times(int pid) {
  ThreadTimes times;
  std::error_code error;  // a thread may end at any time
  std::filesystem::directory_iterator at(fmt::format("/proc/{}/task", pid), error);
  for (const std::filesystem::directory_iterator end; !error && at != end; at.increment(error)) {
    std::string name = text_of_file(at->path() / "comm");
    while (name.ends_with('\n')) name.pop_back();
    const auto time = parse_schedstat(text_of_file(at->path() / "schedstat"));
    if (!time || name.empty()) continue;
    ThreadTime& sum = times[name];
    sum.runs += time->runs;
    sum.waits += time->waits;
  }
  return times;
}

ThreadTimes added_between(const ThreadTimes& before, const ThreadTimes& after) {
  ThreadTimes added;
  for (const auto& [name, time] : after) {
    const auto known = before.find(name);
    const ThreadTime from = known == before.end() ? ThreadTime() : known->second;
    // A thread that has ended meanwhile takes its times with it.
    added[name] = {.runs = std::max(time.runs - from.runs, 0.0),
                   .waits = std::max(time.waits - from.waits, 0.0)};
  }
  return added;
}

std::string in_percent(const ThreadTimes& times, const std::string& thread, double seconds) {
  const auto found = times.find(thread);
  return found == times.end() ? "-" : percents(found->second, seconds);
}

std::string busiest(ThreadTimes times, const std::string& except, double seconds, size_t most) {
  times.erase(except);
  std::vector<std::pair<std::string, ThreadTime>> sorted(times.begin(), times.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& one, const auto& other) {
    return one.second.runs + one.second.waits > other.second.runs + other.second.waits;
  });
  sorted.resize(std::min(sorted.size(), most));
  std::vector<std::string> texts;
  for (const auto& [name, time] : sorted) texts.push_back(name + " " + percents(time, seconds));
  return texts.empty() ? "-" : fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace millrace
