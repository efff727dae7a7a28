#include "expressions/fast_lane.h"

#include <utility>

#include "expressions/fast_lane_node.h"
#include "expressions/fast_lane_run.h"
#include "expressions/fast_lane_values.h"
#include "expressions/jq_text.h"

namespace millrace {
namespace {

using fast::Extent;
using fast::extent;
using fast::make_plain;
using fast::Run;

/// The most bytes that a jq program may copy while it makes its result. libjq shares values that
/// this code copies, so the limit is far above the size of a result.
constexpr size_t kMaxCopiedBytes = 16 * kMaxResultBytes;

Result<const Json*> checked(const Json& made) {
  const Extent size = extent(made);
  if (size.depth > kMaxJsonDepth) return result_too_deep();
  if (size.bytes > kMaxResultBytes) return result_too_large();
  return &made;
}

}  // namespace

FastProgram::FastProgram(std::unique_ptr<const fast::Program> program)
    : program_(std::move(program)) {}

FastProgram::~FastProgram() = default;

/// The bytes that a run may copy, compare and write, and what became of them.
struct FastProgram::Bound {
  size_t most = kMaxCopiedBytes;
  size_t spent = 0;
  bool exceeded = false;  ///< the run needed more than `most`

  template <class J>
  void note(const Run<J>& run) {
    spent += run.spent();
    exceeded = exceeded || run.exceeded();
  }
};

Result<const Json*> FastProgram::select(const Json& input, Json& made,
                                        const Bindings& bindings) const {
  Bound bound;
  return select(input, made, bindings, bound);
}

Result<const Json*> FastProgram::select(const Json& input, Json& made, const Bindings& bindings,
                                        Bound& bound) const {
  const fast::Node& root = program_->root;
  const bool has_instance = program_->names_instance && bindings.instance != nullptr;
  const Json& instance = has_instance ? bindings.instance->value() : fast::null_json<Json>();
  bool needs_order = program_->shows_order;
  if (!needs_order) {
    Run<Json> run(bound.most, instance, bindings.now);
    const Json* result = run.evaluate(root, input, made);
    // The result of such a program may be a part of `$instance`, which the caller does not know.
    if (result != nullptr && program_->names_instance) result = run.kept(result, made);
    bound.note(run);
    if (result != nullptr) {
      if (result != &made) return result;
      if (run.left_json()) make_plain(made);
      return checked(made);
    }
    needs_order = run.shows_order() && !run.exceeded();
    if (!needs_order) return tl::unexpected(run.error());
  }
  // Json does not keep the order in which the keys of an object were set, but jq's texts and
  // messages show that order. So the jq program runs with OrderedJson.
  bound.spent += extent(input).bytes;
  bound.exceeded = bound.spent > bound.most;
  if (bound.exceeded) return result_too_large();
  const OrderedJson ordered(input);
  const OrderedJson ordered_instance(instance);
  OrderedJson scratch;
  Run<OrderedJson> run(bound.most - bound.spent, ordered_instance, bindings.now);
  const OrderedJson* result = run.evaluate(root, ordered, scratch);
  bound.note(run);
  if (result == nullptr) return tl::unexpected(run.error());
  made = Json(*result);
  make_plain(made);
  return checked(made);
}

Result<Json> FastProgram::run(const Json& input, const Bindings& bindings) const {
  Json made;
  const auto result = select(input, made, bindings);
  if (!result) return tl::unexpected(result.error());
  if (*result == &made) return made;
  return **result;
}

std::optional<Result<LazyJson>> FastProgram::run_within(const LazyJson& input, size_t& left,
                                                        bool counts_parts,
                                                        const Bindings* bindings) const {
  const bool needs_bindings = program_->names_instance || program_->names_now;
  if (needs_bindings && bindings == nullptr) return std::nullopt;
  const bool has_large_instance =
      program_->names_instance && bindings->instance != nullptr && bindings->instance->is_large();
  if (has_large_instance) return std::nullopt;
  if (input.is_large()) {
    const fast::Node& root = program_->root;
    const bool is_identity =
        root.kind == fast::Node::Kind::kPath && root.children.empty() && root.steps.empty();
    return is_identity ? std::optional(Result<LazyJson>(input)) : std::nullopt;
  }
  Json made;
  Bound bound{.most = left};
  const auto result = select(input.value(), made, needs_bindings ? *bindings : Bindings(), bound);
  if (bound.exceeded) return std::nullopt;
  left -= bound.spent;
  if (!result) return Result<LazyJson>(tl::unexpected(result.error()));
  const Json* const found = *result;
  if (found == &made) return Result<LazyJson>(LazyJson(std::move(made)));
  if (counts_parts) {
    const size_t bytes = extent(*found).bytes;
    if (bytes > left) return std::nullopt;
    left -= bytes;
  }
  if (found == &input.value()) return Result<LazyJson>(input);
  // A scalar may be a constant of the jq program.
  return Result<LazyJson>(found->is_structured() ? input.part(*found) : LazyJson(*found));
}

std::shared_ptr<const FastProgram> compile_fast(std::string_view program) {
  std::unique_ptr<const fast::Program> parsed = fast::parse(program);
  if (!parsed) return nullptr;
  return std::make_shared<const FastProgram>(std::move(parsed));
}

}  // namespace millrace
