#include "orchestrator/service/inbound_webhook_desk.h"

#include <algorithm>
#include <future>
#include <shared_mutex>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/characters.h"
#include "base/excerpt.h"
#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/mapping/carried_event.h"
#include "orchestrator/mapping/mapped_event.h"
#include "orchestrator/mapping/mapping_input.h"
#include "orchestrator/service/namespace_record.h"
#include "orchestrator/signatures/delivery.h"
#include "orchestrator/signatures/signature.h"
#include "orchestrator/store/rows/secret_rows.h"

namespace millrace {
namespace {

/// How many namespaces are known at once. If there are more, all are forgotten and read again.
constexpr size_t kMostKnownInbound = 1'024;

/// The shortest time between two lines of the log about refused requests.
constexpr Duration kBetweenRefusalLines = std::chrono::minutes(1);

/// The lanes of mappings: a slow one delays only those of its namespace, and no workflow.
constexpr uint64_t kMappingLanes = uint64_t{1} << 62;

/// The evaluation of the mapping for a request that is no CloudEvent.
Result<MappingRun> mapping_run(const InboundWebhook& webhook, const InboundRequest& request,
                               TimePoint now) {
  const SignatureSetting& verify = webhook.verify;
  MappingInput input = TRY(request_input(without_credentials(verify, request.headers),
                                         request.query, request.body, request.name, now));
  return MappingRun(std::make_shared<const EventMapping>(webhook.mapping), std::move(input),
                    {.source = fmt::format("/v1/ns/{}/hooks/{}", request.ns, request.name),
                     .id = delivery_id(verify, request.headers, request.body),
                     .time = format_rfc3339(now)});
}

/// The event of a request that is a CloudEvent already. A header `ce-…` counts only if the form
/// shows that the other service has sent the whole request: signatures are over the body.
std::optional<Result<Event>> carried_by(const InboundRequest& request,
                                        const SignatureSetting& verify) {
  using Form = SignatureSetting::Form;
  if (verify.form == Form::kHeader || verify.form == Form::kBasic) {
    return carried_event(request.headers, request.body);
  }
  Headers headers = request.headers;
  std::erase_if(headers, [](const auto& one) { return to_lower(one.first).starts_with("ce-"); });
  return carried_event(headers, request.body);
}

tl::unexpected<Error> no_jq_worker() {
  return fail("jq.unavailable", "the mapping needs a jq worker, and there is none");
}

tl::unexpected<Error> inbound_refusal(std::string_view why) {
  return fail(std::string(kRequestRefused), std::string(why));
}

}  // namespace

std::optional<std::string> InboundRefusals::note(const InboundRequest& request,
                                                 std::string_view reason, Duration now) {
  ++count_;
  if (last_line_ && now - *last_line_ < kBetweenRefusalLines) return std::nullopt;
  last_line_ = now;
  return fmt::format(
      "{} requests for inbound webhooks were refused since the last such line; the latest, for "
      "`hooks.{}` of namespace \"{}\" from {}: {}",
      std::exchange(count_, 0), excerpt(request.name), excerpt(request.ns), request.peer, reason);
}

class InboundWebhookDesk::Gate {
 public:
  explicit Gate(Publish publish) : publish_(std::move(publish)) {}

  void publish(const std::string& ns, Event event, const Done& done) {
    const std::shared_lock lock(mutex_);
    if (!publish_) return done(fail("stopping", "the server is stopping; send the request again"));
    std::string id = event.id;
    std::vector<Event> events;
    events.push_back(std::move(event));
    publish_(ns, std::move(events), [done, id = std::move(id)](const Result<Accepted>& accepted) {
      if (!accepted) return done(tl::unexpected(accepted.error()));
      done(InboundAnswer{.id = id, .challenge = "", .is_repeated = accepted->duplicates > 0});
    });
  }

  void close() {
    const std::unique_lock lock(mutex_);
    publish_ = nullptr;
  }

 private:
  std::shared_mutex mutex_;
  Publish publish_;
};

InboundWebhookDesk::InboundWebhookDesk(Parts parts)
    : parts_(std::move(parts)),
      gate_(std::make_shared<Gate>(parts_.publish)),
      counts_(std::make_shared<InboundCounts>(parts_.clock, parts_.metrics)) {}

InboundWebhookDesk::~InboundWebhookDesk() {
  gate_->close();
  counts_->close();
}

/// The inbound webhooks in the settings; none if the settings cannot be read.
std::shared_ptr<const InboundWebhooks> InboundWebhookDesk::webhooks_of(
    std::string_view ns, const NamespaceRecord& record) {
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMostKnownInbound && !known_.contains(record.number)) known_.clear();
  Known& known = known_[record.number];
  if (known.webhooks == nullptr || known.settings != record.settings) {
    auto settings = read_settings(record.settings);
    known.webhooks = std::make_shared<const InboundWebhooks>(settings ? std::move(settings->inbound)
                                                                      : InboundWebhooks());
    known.settings = record.settings;
    counts_->forget(std::string(ns),
                    [&](const std::string& name) { return known.webhooks->contains(name); });
  }
  return known.webhooks;
}

Result<InboundWebhookDesk::Opened> InboundWebhookDesk::open(const InboundRequest& request) {
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  const auto record = TRY(read_namespace(view, request.ns));
  if (!record) return inbound_refusal("the namespace does not exist");
  const auto webhooks = webhooks_of(request.ns, *record);
  const auto found = webhooks->find(request.name);
  if (found == webhooks->end())
    return inbound_refusal("the settings of the namespace do not have it");
  Opened opened{.ns = record->number, .webhook = found->second, .secrets = {}};
  Duration& window = opened.webhook.verify.window;
  window = std::min(window, parts_.known_for / 2);
  for (const std::string& name : opened.webhook.verify.secrets) {
    const auto secret = TRY(read_secret(view, record->number, name));
    opened.secrets.push_back(secret.value_or(""));
  }
  return opened;
}

/// Answers an error. Why the signature is refused is only for the log.
void InboundWebhookDesk::refuse(const InboundRequest& request, const Error& why, const Done& done) {
  if (why.code != kRequestRefused) return done(tl::unexpected(why));
  parts_.metrics.count_inbound_request(false);
  std::optional<std::string> line;
  {
    const std::lock_guard lock(mutex_);
    line = refusals_.note(request, why.message, parts_.clock.elapsed());
  }
  if (line) spdlog::warn("{}", *line);
  done(inbound_refusal("the request is not accepted"));
}

void InboundWebhookDesk::receive(const InboundRequest& request, const Done& done) {
  const Result<Opened> opened = open(request);
  if (!opened) return refuse(request, opened.error(), done);
  const Status signed_well = check_signature_of(opened->webhook.verify, opened->secrets,
                                                request.headers, request.body, parts_.clock.now());
  const WebhookPlace place{.ns = opened->ns, .ns_name = request.ns, .name = request.name};
  if (!signed_well) {
    if (signed_well.error().code == kRequestRefused) {
      counts_->count_refused(place, signed_well.error());
    }
    return refuse(request, signed_well.error(), done);
  }
  parts_.metrics.count_inbound_request(true);
  counts_->note_request(place);
  const Done counted = [counts = counts_, place, done](const Result<InboundAnswer>& answer) {
    counts->count_answer(place, answer);
    done(answer);
  };
  // Behind the check of the signature, so that other requests do not show what exists.
  if (opened->webhook.is_paused) {
    return counted(
        fail("hooks.paused", "the inbound webhook is paused; send the request again later"));
  }
  accept(request, *opened, counted);
}

Result<InboundWebhookDesk::Stored> InboundWebhookDesk::stored(std::string_view ns) {
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  const NamespaceRecord record = TRY(namespace_record(view, ns));
  Stored all{.ns = record.number};
  const auto known = webhooks_of(ns, record);
  if (known->empty()) return all;
  const Json settings = TRY(parse_own_json(record.settings));
  all.webhooks = settings.value(kInboundSetting, Json::object());
  return all;
}

Result<Json> InboundWebhookDesk::list(std::string_view ns) {
  const Stored all = TRY(stored(ns));
  Json items = Json::array();
  for (const auto& [name, settings] : all.webhooks.items()) {
    items.push_back(inbound_json(ns, name, settings, counts_->figures(all.ns, name)));
  }
  return Json{{"items", std::move(items)}, {"next", nullptr}};
}

Result<Json> InboundWebhookDesk::get(std::string_view ns, std::string_view name) {
  const Stored all = TRY(stored(ns));
  const auto found = all.webhooks.find(name);
  if (found == all.webhooks.end()) {
    return fail("hooks.not_found",
                fmt::format("namespace \"{}\" has no inbound webhook \"{}\"", ns, excerpt(name)));
  }
  Json one = inbound_json(ns, found.key(), *found, counts_->figures(all.ns, found.key()));
  one["settings"] = *found;
  return one;
}

Service::Done InboundWebhookDesk::with_removal(const Command& command, Service::Done done) const {
  std::function<bool(const std::string&)> is_kept;
  if (const auto* const remove = std::get_if<DeleteInboundWebhook>(&command)) {
    is_kept = [removed = remove->name](const std::string& name) { return name != removed; };
  } else if (const auto* const whole = std::get_if<DeleteNamespace>(&command);
             whole != nullptr && !whole->leftovers) {
    is_kept = [](const std::string&) { return false; };
  } else if (const auto* const create = std::get_if<CreateNamespace>(&command);
             create != nullptr && create->settings && create->settings->is_object()) {
    is_kept = [webhooks = create->settings->value(kInboundSetting, Json())](
                  const std::string& name) { return webhooks.contains(name); };
  }
  if (!is_kept) return done;
  return [counts = counts_, ns = namespace_of_command(command), is_kept = std::move(is_kept),
          done = std::move(done)](Result<Json> answer) {
    if (answer) counts->forget(ns, is_kept);
    done(std::move(answer));
  };
}

/// The event that the request would become. Waits for a jq worker for kTryTime.
Result<Event> InboundWebhookDesk::event_of(const InboundRequest& request,
                                           const Opened& opened) const {
  if (auto carried = carried_by(request, opened.webhook.verify)) return *std::move(carried);
  const TimePoint now = parts_.clock.now();
  MappingRun run = TRY(mapping_run(opened.webhook, request, now));
  if (!run.queries().empty() && !parts_.evaluate) return no_jq_worker();
  const auto made = std::make_shared<std::promise<Result<Event>>>();
  std::future<Result<Event>> event = made->get_future();
  map_event(std::move(run), {.now = now, .lane = kTriedMappings, .space = kTriedMappings},
            parts_.evaluate, [made](Result<Event> result) { made->set_value(std::move(result)); });
  if (event.wait_for(kTryTime) != std::future_status::ready) return tried_too_long();
  return event.get();
}

Result<Json> InboundWebhookDesk::try_request(const InboundRequest& request,
                                             const JudgeEvent& judge) {
  TRY(get(request.ns, request.name));  // open() would not say what is missing
  const Opened opened = TRY(open(request));
  const SignatureSetting& verify = opened.webhook.verify;
  const Status signed_well =
      check_signature_of(verify, opened.secrets, request.headers, request.body, parts_.clock.now());
  Json answer{{"name", request.name}, {"signature", {{"fits", signed_well.has_value()}}}};
  if (!signed_well) {
    answer["signature"]["code"] = signed_well.error().code;
    answer["signature"]["msg"] = signed_well.error().message;
  }
  if (opened.webhook.is_paused) answer["paused"] = true;
  if (auto challenge = challenge_in(verify, request.body)) {
    answer["challenge"] = *std::move(challenge);
    return answer;
  }
  answer.update(TRY(tried_event(request.ns, event_of(request, opened), judge)));
  return answer;
}

/// Publishes the event of a request whose signature is valid, or answers its challenge.
void InboundWebhookDesk::accept(const InboundRequest& request, const Opened& opened,
                                const Done& done) {
  const SignatureSetting& verify = opened.webhook.verify;
  if (auto challenge = challenge_in(verify, request.body)) {
    return done(InboundAnswer{.id = "", .challenge = *std::move(challenge)});
  }
  if (auto carried = carried_by(request, verify)) {
    if (!*carried) return done(tl::unexpected(carried->error()));
    return gate_->publish(request.ns, **std::move(carried), done);
  }
  const TimePoint now = parts_.clock.now();
  Result<MappingRun> run = mapping_run(opened.webhook, request, now);
  if (!run) return done(tl::unexpected(std::move(run).error()));
  if (!run->queries().empty() && !parts_.evaluate) return done(no_jq_worker());
  const auto number = static_cast<uint64_t>(opened.ns);
  map_event(*std::move(run), {.now = now, .lane = kMappingLanes | number, .space = number},
            parts_.evaluate, [gate = gate_, ns = request.ns, done](Result<Event> event) {
              if (!event) return done(tl::unexpected(std::move(event).error()));
              gate->publish(ns, *std::move(event), done);
            });
}

}  // namespace millrace
