#include "broker/node_roll.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/bytes.h"
#include "broker/listening.h"
#include "broker/nats_status.h"
#include "model/request_subjects.h"

namespace millrace {
namespace {

tl::unexpected<Error> no_connection() {
  return fail("broker.unreachable", "there is no connection to the broker");
}

/// The member of an answer with its keyed hash.
constexpr const char* kMac = "mac";

/// The keyed hash of an answer with that state to the question on `subject` that asks for answers
/// to `answer_to`.
std::string mac_of(std::string_view key, std::string_view subject, std::string_view answer_to,
                   const Json& state) {
  return to_hex(keyed_fingerprint(key, {"millrace node", subject, answer_to, dump_json(state)}));
}

/// The state in an answer; nullopt: no node with the key has made it for this question.
std::optional<Json> state_in(std::string_view key, std::string_view subject,
                             std::string_view answer_to, const NatsMsgHandle& message) {
  const auto size = static_cast<size_t>(natsMsg_GetDataLength(message.get()));
  if (size == 0 || size > NodeRoll::kMostBytes) return std::nullopt;
  Result<Json> state = parse_json({natsMsg_GetData(message.get()), size});
  if (!state || !state->is_object()) return std::nullopt;
  const auto member = state->find(kMac);
  if (member == state->end() || !member->is_string()) return std::nullopt;
  const std::string mac = member->get<std::string>();
  state->erase(member);
  if (mac != mac_of(key, subject, answer_to, *state)) return std::nullopt;
  return *std::move(state);
}

/// The answers that have come, on a thread of nats.c.
struct Answers {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Json> nodes;

  void add(Json state) {
    const std::lock_guard lock(mutex);
    if (nodes.size() < NodeRoll::kMostNodes) nodes.push_back(std::move(state));
  }
};

}  // namespace

std::string node_roll_subject(std::string_view cluster, const StreamOptions& options) {
  return fmt::format("{}.cluster.{}", options.prefix, cluster);
}

NodeRoll::NodeRoll(Connection& connection, std::string subject, std::string key,
                   std::function<Json()> describe)
    : connection_(connection),
      subject_(std::move(subject)),
      key_(std::move(key)),
      describe_(std::move(describe)) {}

NodeRoll::~NodeRoll() = default;

Status NodeRoll::answer() {
  if (!connection_.connected()) return no_connection();
  const std::lock_guard lock(mutex_);
  if (questions_ && questions_->status() == NATS_OK &&
      questions_->handle() == connection_.handle()) {
    return {};
  }
  questions_.reset();
  questions_ = std::make_unique<Listening>(
      connection_, subject_, [this](NatsMsgHandle& question) { on_question(question); });
  if (questions_->status() == NATS_OK) return {};
  return tl::unexpected(nats_error(questions_->status(), "subscribing to " + subject_));
}

void NodeRoll::on_question(const NatsMsgHandle& question) {
  const char* const answer_to = natsMsg_GetReply(question.get());
  const std::string_view prefix = std::string_view(subject_).substr(0, subject_.find('.'));
  if (answer_to == nullptr || !may_be_reply(answer_to, prefix)) return;
  Json state = describe_();
  if (!state.is_object()) return;
  state[kMac] = mac_of(key_, subject_, answer_to, state);
  // If it is not sent, this node is missing in one answer.
  std::ignore =
      natsConnection_PublishString(connection_.handle().get(), answer_to, dump_json(state).c_str());
}

Result<std::vector<Json>> NodeRoll::ask(Duration at_most) {
  TRY(answer());
  Answers answers;
  const std::string inbox = connection_.make_inbox();
  const Listening listening(connection_, inbox, [&](NatsMsgHandle& message) {
    if (auto state = state_in(key_, subject_, inbox, message))
      return answers.add(*std::move(state));
    if (has_warned_.exchange(true)) return;
    spdlog::warn(
        "an answer on {} is not of a node with the secret key of the cluster; such answers are "
        "passed over",
        subject_);
  });
  natsStatus status = listening.status();
  if (status == NATS_OK) {
    status = natsConnection_PublishRequest(listening.handle().get(), subject_.c_str(),
                                           inbox.c_str(), "", 0);
  }
  if (status != NATS_OK) return tl::unexpected(nats_error(status, "request to " + subject_));
  // How many nodes there are is not known, so the answers are waited for that long.
  std::unique_lock lock(answers.mutex);
  answers.changed.wait_for(lock, at_most, [&] { return answers.nodes.size() >= kMostNodes; });
  return std::move(answers.nodes);
}

}  // namespace millrace
