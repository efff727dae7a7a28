#include "policies/time_zone.h"

#include <algorithm>
#include <exception>

#include <date/tz.h>
#include <fmt/format.h>

#include "base/excerpt.h"

namespace millrace {
namespace {

constexpr std::string_view kUtc = "UTC";

/// The time zone database lists this name like a zone, but the name means the zone that the machine
/// is set to.
constexpr std::string_view kOfTheMachine = "localtime";

date::sys_seconds seconds_of(TimePoint at) { return std::chrono::floor<std::chrono::seconds>(at); }

/// Whether zones have summer time in future years. Zone files may describe future years only by a
/// rule that the library `date` does not read: then New York has no summer time in 2030.
bool has_rules() {
  const date::sys_seconds summer = date::sys_days(date::year(2030) / date::July / 1);
  const date::sys_info info = date::locate_zone("America/New_York")->get_info(summer);
  return info.offset == -std::chrono::hours(4);
}

/// Opens the database; error `zone.database` if it is missing or has no rules for future years.
Result<const date::tzdb*> open_database() {
  try {
    const date::tzdb& database = date::get_tzdb();
    if (has_rules()) return &database;
    return fail("zone.database",
                "the time zone database has no rules for future years; install Debian's tzdata");
  } catch (const std::exception& e) {
    return fail("zone.database",
                fmt::format("cannot read the time zone database; install tzdata: {}", e.what()));
  }
}

const Result<const date::tzdb*>& database() {
  static const Result<const date::tzdb*> opened = open_database();
  return opened;
}

}  // namespace

Result<TimeZone> TimeZone::find(std::string_view name) {
  if (name == kUtc) return TimeZone();
  const date::tzdb& zones = *TRY(database());
  const auto found = std::find_if(zones.zones.begin(), zones.zones.end(),
                                  [&](const date::time_zone& zone) { return zone.name() == name; });
  if (found == zones.zones.end() || name == kOfTheMachine) {
    return fail("zone.unknown", fmt::format("there is no time zone \"{}\"", excerpt(name)));
  }
  try {
    found->get_info(date::sys_seconds());  // reads the zone's file
    return TimeZone(&*found);
  } catch (const std::exception& e) {
    return fail("zone.database", fmt::format("time zone {}: {}", excerpt(name), e.what()));
  }
}

std::vector<std::string_view> TimeZone::names() {
  std::vector<std::string_view> names{kUtc};
  if (!database()) return {};
  for (const date::time_zone& zone : (*database())->zones) {
    if (zone.name() != kOfTheMachine && zone.name() != kUtc) names.push_back(zone.name());
  }
  return names;
}

std::string_view TimeZone::name() const {
  return zone_ == nullptr ? kUtc : std::string_view(zone_->name());
}

TimeZone::Stretch TimeZone::around(TimePoint at) const {
  if (zone_ == nullptr) return {.begin = TimePoint::min(), .end = TimePoint::max()};
  const date::sys_info info = zone_->get_info(seconds_of(at));
  return {.begin = info.begin, .end = info.end, .offset = info.offset};
}

TimePoint TimeZone::first(LocalTime local) const {
  if (zone_ == nullptr) return TimePoint(local.time_since_epoch());
  const date::local_seconds seconds(
      std::chrono::floor<std::chrono::seconds>(local.time_since_epoch()));
  const date::local_info info = zone_->get_info(seconds);
  if (info.result == date::local_info::nonexistent) return info.first.end;
  return TimePoint(local.time_since_epoch() - Duration(info.first.offset));
}

}  // namespace millrace
