#include "language/document.h"

#include <charconv>
#include <system_error>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/big_integer.h"
#include "language/core_schema.h"
#include "language/yaml_parts.h"

namespace millrace {
namespace {

using Kind = Node::Kind;
using Type = YamlPart::Type;

/// Builds the tree. An alias is expanded by reading its target part again; all aliases of the
/// document share one size budget. Mistakes in the target were reported at the anchor and are not
/// reported again.
class Builder {
 public:
  Builder(const std::vector<YamlPart>& parts, Findings& findings)
      : parts_(parts), findings_(findings) {}

  Node build() {
    size_t next = 0;
    return build(next, 0);
  }

 private:
  /// Builds the node of the part at `next` and moves `next` past it. `depth` is the nesting depth
  /// of the enclosing collection.
  Node build(size_t& next, size_t depth) {
    const YamlPart& part = parts_[next];
    next = part.past;
    if (!pay(part.text.size() + kNodeCost)) return broken(part);
    switch (part.type) {
      case Type::kAlias:
        return expand(part, depth);
      case Type::kScalar:
        return scalar(part);
      default:
        return collection(part, depth + 1);
    }
  }

  static Node broken(const YamlPart& part) { return {.kind = Kind::kBroken, .at = part.at}; }

  /// Within an alias, adds `size` to the size to which all aliases have expanded so far. Returns
  /// false if that size exceeds its limit.
  bool pay(size_t size) {
    if (expanding_ == nullptr) return true;
    if (expanded_ > kMaxAliasSize) return false;
    expanded_ += size;
    if (expanded_ <= kMaxAliasSize) return true;
    findings_.error(
        "definition.alias_bomb", path_.substr(0, expanding_path_), expanding_->at,
        fmt::format("the aliases of this text expand to more than {} bytes", kMaxAliasSize));
    return false;
  }

  void report(std::string code, Position at, std::string message) {
    if (expanding_ != nullptr) return;
    findings_.error(std::move(code), path_, at, std::move(message));
  }

  Node expand(const YamlPart& alias, size_t depth) {
    if (alias.in_itself) {
      report(
          "definition.alias_cycle", alias.at,
          fmt::format("the alias {} is inside the value that it refers to", in_quotes(alias.text)));
      return broken(alias);
    }
    if (alias.target == YamlPart::kNone) {
      report("definition.alias", alias.at,
             fmt::format("there is no anchor {} before this alias", in_quotes(alias.text)));
      return broken(alias);
    }
    size_t next = alias.target;
    if (expanding_ != nullptr) return build(next, depth);
    expanding_ = &alias;
    expanding_path_ = path_.size();
    Node node = build(next, depth);
    expanding_ = nullptr;
    return node;
  }

  static Resolved resolve(const YamlPart& part) {
    if (!part.tag.empty()) return resolve_tagged(part.text, part.tag);
    if (part.plain) return resolve_plain(part.text);
    return {Kind::kString, part.text, {}};
  }

  Node scalar(const YamlPart& part) {
    Resolved resolved = resolve(part);
    if (resolved.kind == Kind::kBroken) {
      report(part.tag.empty() ? "definition.number" : "definition.tag", part.at,
             std::move(resolved.problem));
    }
    return {.kind = resolved.kind,
            .at = part.at,
            .text = part.text,
            .scalar = std::move(resolved.value)};
  }

  Node collection(const YamlPart& part, size_t depth) {
    if (depth > kMaxJsonDepth) {
      // Only aliases can nest this deep: read_yaml_parts has checked the depth of the parts. The
      // finding is added once for each outermost alias.
      if (std::exchange(too_deep_, expanding_) != expanding_) {
        findings_.error(
            "definition.depth", path_.substr(0, expanding_path_), expanding_->at,
            fmt::format("with its aliases the text is nested deeper than {}", kMaxJsonDepth));
      }
      return broken(part);
    }
    const bool is_list = part.type == Type::kSequence;
    Node node{.kind = is_list ? Kind::kSequence : Kind::kMapping, .at = part.at};
    if (std::string problem = collection_tag_problem(part.tag, node.kind); !problem.empty()) {
      report("definition.tag", part.at, std::move(problem));
      return broken(part);
    }
    const size_t first = static_cast<size_t>(&part - parts_.data()) + 1;
    if (is_list) {
      items(node, first, depth);
    } else {
      members(node, first, depth);
    }
    return node;
  }

  void items(Node& node, size_t next, size_t depth) {
    const size_t length = path_.size();
    while (parts_[next].type != Type::kEnd) {
      path_ = path_of(path_, node.items.size());
      node.items.push_back(build(next, depth));
      path_.resize(length);
    }
  }

  void members(Node& node, size_t next, size_t depth) {
    const size_t length = path_.size();
    std::unordered_map<std::string, size_t> lines;
    while (parts_[next].type != Type::kEnd) {
      const YamlPart& key_part = parts_[next];
      std::optional<std::string> key = key_of(key_part, depth);
      next = key_part.past;
      if (key) path_ = path_of(path_, *key);
      Node value = build(next, depth);
      if (key) {
        const auto [first, is_new] = lines.emplace(*key, key_part.at.line);
        if (!is_new) {
          report("definition.duplicate_key", key_part.at,
                 fmt::format("the key {} is repeated; it is already on line {}", in_quotes(*key),
                             first->second));
        } else if (pay(key->size())) {
          node.members.push_back({std::move(*key), key_part.at, std::move(value)});
        }
      }
      path_.resize(length);
    }
  }

  /// The text of a key; nullopt, with a finding, if the part cannot be a key.
  std::optional<std::string> key_of(const YamlPart& part, size_t depth) {
    if (part.type == Type::kAlias) {
      Node key = expand(part, depth);
      if (key.kind == Kind::kBroken) return std::nullopt;
      if (key.kind != Kind::kSequence && key.kind != Kind::kMapping) return std::move(key.text);
    }
    if (part.type != Type::kScalar) {
      report("definition.key", part.at, "a list or mapping cannot be a key");
      return std::nullopt;
    }
    if (part.plain && part.tag.empty() && part.text == "<<") {
      report("definition.merge_key", part.at,
             "merge keys are not part of YAML 1.2; write the fields out, or give the whole "
             "mapping an anchor");
      return std::nullopt;
    }
    if (!part.tag.empty()) {
      if (Resolved resolved = resolve_tagged(part.text, part.tag); resolved.kind == Kind::kBroken) {
        report("definition.tag", part.at, std::move(resolved.problem));
        return std::nullopt;
      }
    }
    return part.text;
  }

  static constexpr size_t kNodeCost = 8;

  const std::vector<YamlPart>& parts_;
  Findings& findings_;
  std::string path_;
  const YamlPart* expanding_ = nullptr;  ///< the outermost alias that is being expanded
  size_t expanding_path_ = 0;            ///< the length of path_ at that alias
  const YamlPart* too_deep_ = nullptr;   ///< the latest outermost alias that was nested too deep
  size_t expanded_ = 0;
};

}  // namespace

const Member* Node::find(std::string_view key) const {
  for (const Member& member : members) {
    if (member.key == key) return &member;
  }
  return nullptr;
}

std::optional<Node> parse_document(std::string_view text, Findings& findings) {
  if (text.size() > kMaxDocumentSize) {
    findings.error(
        "definition.too_large", "", {},
        fmt::format("the text has {} bytes; at most {} are read", text.size(), kMaxDocumentSize));
    return std::nullopt;
  }
  const std::optional<std::vector<YamlPart>> parts = read_yaml_parts(text, findings);
  if (!parts) return std::nullopt;
  return Builder(*parts, findings).build();
}

namespace {

/// The text itself if it is an integer in JSON's form that does not fit into 64 bits; else empty.
std::string_view big_integer_digits(std::string_view text) {
  constexpr size_t kFewest = 19;
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  const bool is_integer = digits.size() >= kFewest && digits[0] != '0' &&
                          digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_integer) return {};
  const char* const end = text.data() + text.size();
  uint64_t number = 0;
  int64_t negative = 0;
  const auto read = text[0] == '-' ? std::from_chars(text.data(), end, negative)
                                   : std::from_chars(text.data(), end, number);
  return read.ec == std::errc::result_out_of_range ? text : std::string_view();
}

}  // namespace

Json to_json(const Node& node) {
  switch (node.kind) {
    case Kind::kSequence: {
      Json out = Json::array();
      for (const Node& item : node.items) out.push_back(to_json(item));
      return out;
    }
    case Kind::kMapping: {
      Json out = Json::object();
      for (const Member& member : node.members) out[member.key] = to_json(member.value);
      return out;
    }
    case Kind::kFloat:
      // An integer beyond 64 bits: Fields::number() reads it as a double, but its JSON value has
      // all digits.
      if (const std::string_view digits = big_integer_digits(node.text); !digits.empty()) {
        return big_integer(digits);
      }
      return node.scalar;
    default:
      return node.scalar;
  }
}

}  // namespace millrace
