#include "cloudevents/plain_event.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include <boost/container/static_vector.hpp>

// simdjson's DOM parser checks the whole text, including the parts that are not read here.
#include <simdjson.h>

#include "base/check.h"
#include "base/json.h"
#include "base/time.h"
#include "cloudevents/binary_mode.h"
#include "cloudevents/event_check.h"
#include "cloudevents/media_type.h"
#include "cloudevents/uri.h"

namespace millrace {
namespace {

/// Collects attributes as views. A member function returns false if it is not sure that the event
/// is valid.
class Gathered {
 public:
  bool add_text(std::string_view name, std::string_view text) {
    const Core core = core_of(name);
    if (core == kExtension) return note_extension(name) && add(name, text);
    return note(core) && is_sure_of(core, text) && add(name, text);
  }

  bool add_flag(std::string_view name, bool flag) {
    return core_of(name) == kExtension && note_extension(name) &&
           add(name, flag ? "true" : "false", Attribute::Kind::kBoolean);
  }

  bool add_number(std::string_view name, int64_t number) {
    using Limits = std::numeric_limits<int32_t>;
    if (number < Limits::min() || number > Limits::max()) return false;
    if (core_of(name) != kExtension || !note_extension(name) || is_full()) return false;
    Digits& digits = digits_[attributes_.size()];
    const char* const end = std::to_chars(digits.begin(), digits.end(), number).ptr;
    return add(name, std::string_view(digits.data(), end), Attribute::Kind::kInteger);
  }

  /// Notes an attribute that is null: the event does not have it, but its name must not occur
  /// twice.
  bool add_null(std::string_view name) {
    const Core core = core_of(name);
    if (core == kExtension) return note_extension(name);
    if (core < kRequiredAttributes) return false;
    return note(core);
  }

  bool add_data() { return note(kData); }
  bool add_null_base64() { return note(kBase64); }

  std::optional<Attributes> finish() const {
    for (size_t core = 0; core < kRequiredAttributes; ++core) {
      if ((noted_ >> core & 1) == 0) return std::nullopt;
    }
    return Attributes(attributes_);
  }

 private:
  /// The members of an event: the core attributes in the order of kCoreAttributes, then the others.
  enum Core : uint32_t {
    kSpecversion,
    kId,
    kSource,
    kType,
    kSubject,
    kTime,
    kDatacontenttype,
    kDataschema,
    kExtension,
    kData,
    kBase64,
  };

  static Core core_of(std::string_view name) {
    for (size_t core = 0; core < kCoreAttributes.size(); ++core) {
      const std::string_view one = kCoreAttributes[core];
      // No two core attributes have the same length and the same first two letters, so at most one
      // name is compared in full.
      if (one.size() != name.size() || one[0] != name[0] || one[1] != name[1]) continue;
      if (one == name) return static_cast<Core>(core);
    }
    return kExtension;
  }

  /// Notes a member; false if it was noted before.
  bool note(Core core) {
    const uint32_t before = std::exchange(noted_, noted_ | 1U << core);
    return before != noted_;
  }

  /// Notes an extension attribute; false if it was noted before, its name is not valid, or there
  /// are too many.
  bool note_extension(std::string_view name) {
    if (!is_attribute_name(name) || extensions_.size() == kMost) return false;
    for (const std::string_view other : extensions_) {
      if (other == name) return false;
    }
    extensions_.push_back(name);
    return true;
  }

  /// Whether a core attribute conforms to the rules of EventBuilder::finish and check_event.
  static bool is_sure_of(Core core, std::string_view text) {
    if (text.empty()) return false;
    switch (core) {
      case kSpecversion:
        return text == "1.0";
      case kSource:
        return is_uri_reference(text);
      case kTime:
        return parse_rfc3339(text).has_value();
      case kDatacontenttype:
        return text == "application/json" || parse_media_type(text).has_value();
      case kDataschema:
        return is_absolute_uri(text);
      default:
        return true;
    }
  }

  bool add(std::string_view name, std::string_view text,
           Attribute::Kind kind = Attribute::Kind::kText) {
    if (is_full() || !is_attribute_string(text)) return false;
    attributes_.emplace_back(name, text, kind);
    return true;
  }

  bool is_full() const { return attributes_.size() == kMost; }

  static constexpr size_t kMost = 24;
  using Digits = std::array<char, 11>;

  uint32_t noted_ = 0;  // one bit for each context attribute of `Core`
  boost::container::static_vector<std::string_view, kMost> extensions_;
  boost::container::static_vector<Attribute, kMost> attributes_;
  std::array<Digits, kMost> digits_;  // the texts of attributes that are numbers
};

/// A parser with its own copy of the text, because simdjson reads some bytes beyond the end of a
/// text.
class Parser {
 public:
  static constexpr size_t kMostBytes = size_t{64} << 10;

  Parser() { CHECK(parser_.allocate(kMostBytes, kMaxJsonDepth) == simdjson::SUCCESS); }

  /// Reads the members of an object, which are valid until the next call. False if the text is not
  /// an object or is too long.
  bool read(std::string_view text, simdjson::dom::object& members) {
    if (text.size() > kMostBytes) return false;
    std::memcpy(text_.get(), text.data(), text.size());
    return parser_.parse(text_.get(), text.size(), false).get(members) == simdjson::SUCCESS;
  }

 private:
  std::unique_ptr<char[]> text_ = std::make_unique<char[]>(kMostBytes + simdjson::SIMDJSON_PADDING);
  simdjson::dom::parser parser_{kMostBytes};
};

bool add(Gathered& gathered, std::string_view name, simdjson::dom::element value) {
  using Type = simdjson::dom::element_type;
  if (name == "data") return gathered.add_data();
  if (name == "data_base64") return value.is_null() && gathered.add_null_base64();
  switch (value.type()) {
    case Type::STRING:
      return gathered.add_text(name, value.get_string().value_unsafe());
    case Type::INT64:
      return gathered.add_number(name, value.get_int64().value_unsafe());
    case Type::BOOL:
      return gathered.add_flag(name, value.get_bool().value_unsafe());
    case Type::NULL_VALUE:
      return gathered.add_null(name);
    default:
      return false;
  }
}

}  // namespace

std::optional<Attributes> read_plain_json(std::string_view text) {
  thread_local Parser parser;
  simdjson::dom::object members;
  if (!parser.read(text, members)) return std::nullopt;
  Gathered gathered;
  for (const auto member : members) {
    if (!add(gathered, member.key, member.value)) return std::nullopt;
  }
  return gathered.finish();
}

std::optional<Attributes> read_plain_headers(const Headers& headers) {
  Gathered gathered;
  for (const auto& [header, value] : headers) {
    const bool is_type = same_header(header, "content-type");
    if (!is_type && !is_attribute_header(header)) continue;
    const std::string_view text = trim_blanks(value);
    if (std::any_of(text.begin(), text.end(), [](char c) { return c == '%' || c == '"'; })) {
      return std::nullopt;
    }
    const std::string_view name =
        is_type ? "datacontenttype" : std::string_view(header).substr(kAttributePrefix.size());
    if (!gathered.add_text(name, text)) return std::nullopt;
  }
  return gathered.finish();
}

}  // namespace millrace
