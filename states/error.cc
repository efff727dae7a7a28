// error (Direktiv's ErrorState): sets the error that the instance ends with, and continues. Only
// the first Error state has an effect; later ones change nothing.
#include "states/message_format.h"
#include "states/state_fields.h"
#include "states/types.h"
#include "states/visit.h"

namespace millrace {
namespace {

class ErrorState final : public State {
 public:
  ErrorState(StateCommon common, std::string code, MessageFormat message,
             std::vector<Template> args, bool compensates)
      : State(std::move(common)),
        code_(std::move(code)),
        message_(std::move(message)),
        args_(std::move(args)),
        compensates_(compensates) {}

  Outcome enter(Visit& visit) const override {
    if (visit.instance().error) return Leave{};  // does not evaluate args, which could fail
    std::vector<const Template*> templates;
    for (const Template& arg : args_) templates.push_back(&arg);
    auto values = visit.evaluate(templates);
    if (!values) return std::move(values).error();
    visit.fail_at_end({code_, message_.format(*values)});
    if (compensates_) visit.compensate_at_end();
    return Leave{};
  }

 private:
  std::string code_;
  MessageFormat message_;
  std::vector<Template> args_;
  bool compensates_;
};

/// The format of `message`; nullopt after a finding.
std::optional<MessageFormat> load_message(StateFields& fields) {
  if (!fields.plain().require("message")) return std::nullopt;
  const std::optional<std::string> text = fields.plain().string("message");
  if (!text) return std::nullopt;
  Result<MessageFormat> message = MessageFormat::parse(*text);
  if (!message) {
    fields.plain().report("message", message.error().code, message.error().message);
    return std::nullopt;
  }
  return std::move(*message);
}

std::unique_ptr<const State> load_error(StateFields& fields, StateCommon common) {
  std::string code = fields.plain().required_identifier("error");
  const std::optional<MessageFormat> message = load_message(fields);
  std::optional<std::vector<Template>> args = fields.commands("args");

  if (message && args && message->conversions() != args->size()) {
    fields.plain().report(
        "message", "definition.message_args",
        fmt::format("the message has {} conversions but args has {} items; write one item for "
                    "each conversion (%% is a percent sign)",
                    message->conversions(), args->size()));
  }
  const bool compensates = fields.plain().boolean("compensate").value_or(false);
  return std::make_unique<ErrorState>(
      std::move(common), std::move(code), message.value_or(MessageFormat{}),
      std::move(args).value_or(std::vector<Template>{}), compensates);
}

}  // namespace

const StateType kErrorState{.name = "error", .load = load_error};

}  // namespace millrace
