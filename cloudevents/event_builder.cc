#include "cloudevents/event_builder.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/own_attributes.h"
#include "cloudevents/errors.h"

namespace millrace {
namespace {

size_t core_index(std::string_view name) {
  const auto* const found = std::find(kCoreAttributes.begin(), kCoreAttributes.end(), name);
  return static_cast<size_t>(found - kCoreAttributes.begin());
}

}  // namespace

const std::optional<std::string>& EventBuilder::datacontenttype() const {
  return core_[core_index("datacontenttype")].value;
}

Status EventBuilder::add(std::string_view name, std::optional<AttributeValue> value) {
  if (!is_attribute_name(name)) {
    return fail(
        kEventAttributeName.code,
        fmt::format("attribute name {} is not valid; expected lower-case letters and digits only{}",
                    shown(name), name == "data" ? "; \"data\" is reserved" : ""));
  }
  bool added_before = false;
  const size_t index = core_index(name);
  const bool is_core = index < core_.size();
  if (is_core) {
    Core& core = core_[index];
    added_before = std::exchange(core.added, true);
    if (value) {
      auto* text = std::get_if<std::string>(&*value);
      CHECK(text != nullptr, "the value of core attribute {} is not text", name);
      core.value = std::move(*text);
    }
  } else if (value) {
    added_before =
        absent_.contains(name) || !event_.extensions.emplace(name, std::move(*value)).second;
  } else {
    std::string key(name);
    added_before = event_.extensions.contains(key) || !absent_.insert(std::move(key)).second;
  }
  if (added_before) {
    return fail(kEventDuplicateAttribute.code,
                fmt::format("attribute {} is given twice; expected once", shown(name)));
  }
  if (!is_core && !is_own_attribute(name) && ++counted_ > most_extensions_) {
    return tl::unexpected(too_many_attributes(most_extensions_));
  }
  return {};
}

Result<Event> EventBuilder::finish() && {
  for (size_t i = 0; i < kRequiredAttributes; ++i) {
    if (!core_[i].value) {
      return fail(kEventMissingAttribute.code,
                  fmt::format("attribute \"{}\" is missing; expected specversion, id, source and "
                              "type in every event",
                              kCoreAttributes[i]));
    }
  }
  auto& [specversion, id, source, type, subject, time, datacontenttype, dataschema] = core_;
  if (specversion.value->empty()) {
    return fail(kEventEmptyAttribute.code, "attribute \"specversion\" is empty; expected \"1.0\"");
  }
  if (*specversion.value != "1.0") {
    return fail(kEventSpecVersion.code,
                fmt::format("attribute \"specversion\" is {}; expected \"1.0\"",
                            shown(*specversion.value)));
  }
  event_.id = std::move(*id.value);
  event_.source = std::move(*source.value);
  event_.type = std::move(*type.value);
  event_.subject = std::move(subject.value);
  event_.time = std::move(time.value);
  event_.datacontenttype = std::move(datacontenttype.value);
  event_.dataschema = std::move(dataschema.value);
  if (const Status checked = check_event(event_, most_extensions_); !checked) {
    return tl::unexpected(checked.error());
  }
  return std::move(event_);
}

}  // namespace millrace
