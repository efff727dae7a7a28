#include "broker/node_roll.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "broker/listening.h"
#include "broker/nats_status.h"

namespace millrace {
namespace {

tl::unexpected<Error> no_connection() {
  return fail("broker.unreachable", "there is no connection to the broker");
}

/// The answers that have come, on a thread of nats.c.
struct Answers {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Json> nodes;

  void add(const NatsMsgHandle& message) {
    const auto size = static_cast<size_t>(natsMsg_GetDataLength(message.get()));
    if (size == 0 || size > NodeRoll::kMostBytes) return;
    Result<Json> node = parse_json({natsMsg_GetData(message.get()), size});
    if (!node || !node->is_object()) return;
    const std::lock_guard lock(mutex);
    if (nodes.size() < NodeRoll::kMostNodes) nodes.push_back(*std::move(node));
  }
};

}  // namespace

std::string node_roll_subject(std::string_view cluster, const StreamOptions& options) {
  return fmt::format("{}.cluster.{}", options.prefix, cluster);
}

NodeRoll::NodeRoll(Connection& connection, std::string subject, std::function<Json()> describe)
    : connection_(connection), subject_(std::move(subject)), describe_(std::move(describe)) {}

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
  if (answer_to == nullptr) return;
  const std::string state = dump_json(describe_());
  // If it is not sent, this node is missing in one answer.
  std::ignore = natsConnection_PublishString(connection_.handle().get(), answer_to, state.c_str());
}

Result<std::vector<Json>> NodeRoll::ask(Duration at_most) {
  TRY(answer());
  Answers answers;
  const std::string inbox = connection_.make_inbox();
  const Listening listening(connection_, inbox,
                            [&](NatsMsgHandle& message) { answers.add(message); });
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
