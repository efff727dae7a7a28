#include "functions/container.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <poll.h>

#include "functions/container_command.h"
#include "functions/container_inbox.h"
#include "functions/container_jobs.h"
#include "functions/container_process.h"
#include "functions/files.h"
#include "functions/isolated.h"
#include "functions/output_lines.h"
#include "functions/ready_probe.h"
#include "os/programs.h"
#include "os/thread.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSharedMount = "/mnt/shared";
/// What a container writes into its folder is measured, since nothing else bounds it.
constexpr Duration kMeasureEvery{1'000};
/// Written by the function, beside what was laid out for it.
constexpr uint64_t kMostWritten = 2 * kMaxFilesBytes;
constexpr size_t kMostEntries = 2 * kMaxFilesEntries;
constexpr Duration kLongestPause{60'000};
constexpr Duration kEndTimeout{10'000};

/// How often is looked for messages where no descriptor is left that would tell of them.
constexpr Duration kWithoutWake{50};

TaskEnded failed(std::string_view code, std::string message) {
  return {.result = tl::unexpected(Error{std::string(code), std::move(message)})};
}
TaskEnded failed(const Error& error) { return failed(error.code, error.message); }

/// Whether there is more in a folder than a function may write.
bool is_too_full(const fs::path& folder) {
  uint64_t bytes = 0;
  size_t entries = 0;
  std::error_code error;  // of what goes away meanwhile: the next look is another
  constexpr auto kOptions = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator entry(folder, kOptions, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    const bool is_file = fs::is_regular_file(entry->symlink_status(ignored));
    const uint64_t size = is_file ? entry->file_size(ignored) : 0;
    if (!ignored) bytes += size;
    if (bytes > kMostWritten || ++entries > kMostEntries) return true;
  }
  return false;
}

void remove_folder(const fs::path& folder) {
  std::error_code ignored;  // what can't be removed now is tried again at the next start
  fs::remove_all(folder, ignored);
}

}  // namespace

struct ContainerService;

/// A container, from its start until nothing is left of it.
struct ContainerBox {
  std::string name;
  fs::path folder;
  std::unique_ptr<ContainerProcess> process;
  Duration measured{};
  OutputLines output_lines;
  OutputLines error_lines;
  bool is_let_go = false;  ///< it is being removed, and nobody's any more

  // Isolated.
  std::optional<Ticket> job;
  std::string output;

  // Reusable.
  ContainerService* service = nullptr;
  std::optional<ReadyProbe> probe;
  bool is_ready = false;
  std::set<InstanceId> calls;
  Duration started{};
  Duration last_used{};
};

/// Whose function, and of what.
using ServiceKey = std::tuple<std::string, std::string, std::string, ContainerSize>;
/// A reusable function.
struct ContainerService {
  Container container;
  std::deque<Ticket> waiting;
  uint32_t failures = 0;  ///< in a row
  Duration kept_from{};   ///< before, `scale` is no reason to start another
};

/// All that the thread does.
class ContainerRunner::Loop {
 public:
  Loop(ContainerSettings settings, HttpCaller& http, const Clock& clock, TaskSink& sink,
       std::shared_ptr<ContainerInbox> inbox)
      : settings_(std::move(settings)),
        http_(http),
        clock_(clock),
        jobs_(sink),
        inbox_(std::move(inbox)) {}

  void run() {
    name_thread("containers");
    prepare_folder();
    clean_up();
    while (true) {
      std::optional<std::vector<ContainerMessage>> messages = inbox_->take();
      if (!messages) break;
      now_ = clock_.elapsed();
      for (ContainerMessage& message : *messages) {
        std::visit([this](auto& what) { take(std::move(what)); }, message);
      }
      look();
      give_up_overdue();
      assign();
      wait(until_next());
    }
    end_all();
  }

  /// Any thread.
  std::optional<Duration> silence(const InstanceId& task) const { return jobs_.silence(task); }

 private:
  using Box = ContainerBox;
  using Job = ContainerJob;
  using Service = ContainerService;

  // Messages.

  void take(RunTask message) {
    const Job* const job = jobs_.add(std::move(message.task));
    if (job == nullptr) return;  // it is under way
    const Task& task = job->task;
    const auto& container = std::get<Container>(task.target);
    if (container.isolated) return isolated_.push_back(job->ticket());
    Service& service = services_[{task.space, container.image, container.cmd, container.size}];
    service.container = container;  // the newest definition says what `scale` is
    service.waiting.push_back(job->ticket());
  }

  void take(StopContainerTask message) {
    Job* const job = jobs_.find(message.task);
    if (job != nullptr) give_up(*job);
  }

  void take(CallAlive message) {
    Job* const job = jobs_.find(message.ticket);
    if (job != nullptr) jobs_.heard(*job);
  }

  void take(CallDone message) {
    Job* const job = jobs_.find(message.ticket);
    if (job == nullptr) return;
    const fs::path folder = job->box->folder / to_string(job->task.id);
    TaskEnded ended = std::move(message.answer);
    Result<std::vector<TaskVariable>> variables = collect_variables(folder);
    if (variables) {
      ended.variables = *std::move(variables);
    } else if (ended.result) {
      ended = failed(variables.error());
    }
    end(*job, std::move(ended));
  }

  // Jobs.

  void end(Job& job, TaskEnded ended) {
    jobs_.tell(job, std::move(ended));
    forget(job);
  }

  /// Without a word: nobody waits for it.
  void give_up(Job& job) {
    if (job.box != nullptr && job.box->service != nullptr) http_.stop(job.task.id);
    forget(job);
  }

  void forget(Job& job) {
    const InstanceId id = job.task.id;
    if (Box* const box = job.box; box != nullptr && box->service == nullptr) {
      let_go(*box);
    } else if (box != nullptr) {
      box->calls.erase(id);
      box->last_used = now_;
      remove_folder(box->folder / to_string(id));
    }
    jobs_.forget(job);
  }

  void give_up_overdue() {
    const TimePoint now = clock_.now();
    while (Job* const job = jobs_.overdue(now)) give_up(*job);
  }

  void fail_waiting(std::deque<Ticket>& waiting, const Error& error) {
    while (Job* const job = jobs_.front(waiting)) {
      waiting.pop_front();
      end(*job, failed(error));
    }
  }

  // The runtime.

  void prepare_folder() {
    std::error_code ignored;  // what comes of it shows when the first task is laid out
    settings_.folder = fs::absolute(settings_.folder, ignored);
    fs::create_directories(settings_.folder, ignored);
    // What is in it is open to any user.
    fs::permissions(settings_.folder, fs::perms::owner_all, ignored);
    for (fs::directory_iterator entry(settings_.folder, ignored), end; !ignored && entry != end;
         entry.increment(ignored)) {
      remove_folder(entry->path());
    }
  }

  /// Begins with it, where it has not begun yet. False: there is no runtime.
  bool clean_up() {
    if (is_clean_ || leftovers_) return true;
    for (const char* const program : {"podman", "docker"}) {
      if (!runtime_.empty()) break;
      runtime_ = find_program(settings_.runtime.empty() ? program : settings_.runtime);
    }
    if (runtime_.empty()) return false;
    leftovers_ = std::make_unique<LeftoverRemoval>(runtime_, settings_.data_id);
    return true;
  }

  void fail_all_waiting(const Error& error) {
    fail_waiting(isolated_, error);
    for (auto& [key, service] : services_) fail_waiting(service.waiting, error);
  }

  bool is_anybody_waiting() {
    return jobs_.front(isolated_) != nullptr ||
           std::any_of(services_.begin(), services_.end(),
                       [this](auto& one) { return jobs_.front(one.second.waiting) != nullptr; });
  }

  // Containers.

  void look() {
    const std::optional<Status> cleaned = leftovers_ ? leftovers_->look() : std::nullopt;
    if (cleaned) {
      leftovers_.reset();
      is_clean_ = cleaned->has_value();
      if (!is_clean_) fail_all_waiting(cleaned->error());
    }
    for (size_t i = 0; i < boxes_.size(); ++i) {
      Box& box = *boxes_[i];
      box.process->look();
      if (box.process->code() && !box.is_let_go) has_ended(box);
      if (!box.is_let_go) watch(box);
    }
    std::erase_if(boxes_, [](const std::unique_ptr<Box>& box) {
      if (!box->is_let_go || !box->process->is_gone()) return false;
      remove_folder(box->folder);
      return true;
    });
  }

  /// By itself, with whatever result.
  void has_ended(Box& box) {
    if (box.service != nullptr) {
      return lose(box, fmt::format("its container ended with code {}: {}", *box.process->code(),
                                   box.process->last_errors()));
    }
    Job& job = *jobs_.find(*box.job);
    IsolatedAnswer answer = read_isolated(
        box.folder,
        {.code = *box.process->code(), .output = box.output, .errors = box.process->last_errors()});
    jobs_.tell_rest(job, box.error_lines, "");
    OutputLines lines;
    jobs_.tell_rest(job, lines, answer.log);
    if (!answer.is_output_result) jobs_.tell_rest(job, box.output_lines, box.output);
    end(job, std::move(answer.ended));
  }

  void watch(Box& box) {
    if (now_ - box.measured >= kMeasureEvery) {
      box.measured = now_;
      if (is_too_full(box.folder)) return stop_writing(box);
    }
    if (box.service == nullptr) return;
    if (!box.is_ready) {
      if (box.probe->look(now_)) {
        box.is_ready = true;
        box.last_used = now_;
        box.service->failures = 0;
      } else if (now_ - box.started >= settings_.start_timeout) {
        lose(box, fmt::format("its container does not listen on port {}", kContainerPort));
      }
      return;
    }
    const bool is_idle = box.calls.empty() && now_ - box.last_used >= settings_.idle;
    if (is_idle && count_of(*box.service) > box.service->container.scale) let_go(box);
  }

  void stop_writing(Box& box) {
    const std::string said = fmt::format("its container has written more than {} MiB, or {} files",
                                         kMaxFilesBytes >> 20, kMaxFilesEntries);
    if (box.service != nullptr) return lose(box, said);
    end(*jobs_.find(*box.job), failed(kFunctionTooLarge, said));
  }

  /// A reusable one that is not, or no longer, of use.
  void lose(Box& box, const std::string& why) {
    Service& service = *box.service;
    for (const InstanceId& id : std::set<InstanceId>(box.calls)) {
      Job& job = *jobs_.find(id);
      http_.stop(id);
      end(job, failed(kFunctionUnavailable, why));
    }
    service.failures = std::min(service.failures + 1, 16U);
    service.kept_from = now_ + std::min(Duration(500) * (1 << service.failures), kLongestPause);
    const bool was_ready = box.is_ready;
    let_go(box);
    if (!was_ready && count_of(service) == 0) {
      fail_waiting(service.waiting, {std::string(kFunctionUnavailable), why});
    }
  }

  void let_go(Box& box) {
    box.is_let_go = true;
    box.process->remove();
  }

  size_t count_of(const Service& service) const {
    return static_cast<size_t>(
        std::count_if(boxes_.begin(), boxes_.end(), [&](const std::unique_ptr<Box>& box) {
          return box->service == &service && !box->is_let_go;
        }));
  }

  // Who gets what.

  void assign() {
    if (!is_anybody_waiting() && !is_clean_) return;
    if (!clean_up()) {
      return fail_all_waiting({std::string(kFunctionUnavailable),
                               "functions in containers need podman or docker, and none is found"});
    }
    if (!is_clean_) return;
    for (auto& [key, service] : services_) call_ready(service);
    while (std::deque<Ticket>* const first = first_in_need()) {
      if (boxes_.size() >= settings_.containers) return make_room();
      if (first == &isolated_) {
        start_isolated();
      } else {
        start_service(*service_of(first));
      }
    }
    for (auto& [key, service] : services_) keep(service);
    for (auto service = services_.begin(); service != services_.end();) {
      service = is_over(service->second) ? services_.erase(service) : std::next(service);
    }
  }

  /// Whether nobody wants it and nothing is left of it.
  bool is_over(Service& service) {
    return service.container.scale == 0 && jobs_.front(service.waiting) == nullptr &&
           std::none_of(boxes_.begin(), boxes_.end(),
                        [&](const auto& box) { return box->service == &service; });
  }

  /// What waits goes to the container that has least to do.
  void call_ready(Service& service) {
    while (Job* const job = jobs_.front(service.waiting)) {
      Box* least = nullptr;
      for (const std::unique_ptr<Box>& box : boxes_) {
        const bool is_one = box->service == &service && box->is_ready && !box->is_let_go;
        if (is_one && (least == nullptr || box->calls.size() < least->calls.size())) {
          least = box.get();
        }
      }
      if (least == nullptr || least->calls.size() >= settings_.calls_each) return;
      service.waiting.pop_front();
      call(*job, *least);
    }
  }

  void call(Job& job, Box& box) {
    const std::string id = to_string(job.task.id);
    const Status done = lay_out_files(job.task.files, box.folder / id);
    if (!done) return end(job, failed(done.error()));
    job.box = &box;
    box.calls.insert(job.task.id);
    job.task.files.clear();
    jobs_.tell(job, TaskStarted());
    const Ticket ticket = job.ticket();
    const auto alive = [inbox = inbox_, ticket] { inbox->put(CallAlive{ticket}); };
    const auto answered = [inbox = inbox_, ticket](TaskEnded answer) {
      inbox->put(CallDone{ticket, std::move(answer)});
    };
    Task task = job.task;
    job.task.input.clear();
    http_.call({.url = fmt::format("http://127.0.0.1:{}/", box.probe->port()),
                .task = std::move(task),
                .folder = fmt::format("{}/{}", kSharedMount, id),
                .alive = alive,
                .done = answered});
  }

  /// The queue that a container must be started for, of those whose first came first.
  std::deque<Ticket>* first_in_need() {
    std::deque<Ticket>* first = nullptr;
    uint64_t number = std::numeric_limits<uint64_t>::max();
    const auto offer = [&](std::deque<Ticket>& waiting) {
      const Job* const job = jobs_.front(waiting);
      if (job == nullptr || job->number >= number) return;
      number = job->number;
      first = &waiting;
    };
    offer(isolated_);
    for (auto& [key, service] : services_) {
      if (count_of(service) == 0) offer(service.waiting);
    }
    return first;
  }

  Service* service_of(const std::deque<Ticket>* waiting) {
    for (auto& [key, service] : services_) {
      if (&service.waiting == waiting) return &service;
    }
    return nullptr;
  }

  /// For somebody who waits: the one goes that was not used for longest, one that is not to be kept
  /// if there is such; where one is going, that is room enough.
  void make_room() {
    Box* oldest = nullptr;
    const auto rank = [this](const Box& box) {
      return std::pair(count_of(*box.service) <= box.service->container.scale, box.last_used);
    };
    for (const std::unique_ptr<Box>& box : boxes_) {
      if (box->is_let_go) return;
      if (box->service == nullptr || !box->is_ready || !box->calls.empty()) continue;
      if (oldest == nullptr || rank(*box) < rank(*oldest)) oldest = box.get();
    }
    if (oldest != nullptr) let_go(*oldest);
  }

  /// As many as `scale` says, as far as there is room.
  void keep(Service& service) {
    while (now_ >= service.kept_from && count_of(service) < service.container.scale &&
           boxes_.size() < settings_.containers) {
      start_service(service);
    }
  }

  std::unique_ptr<Box> new_box(const Task& task) {
    auto box = std::make_unique<Box>();
    box->name =
        fmt::format("millrace-{}-{}-{}", settings_.data_id, to_string(task.id), ++last_box_);
    box->folder = settings_.folder / box->name;
    box->measured = box->started = now_;
    return box;
  }

  ContainerPlan plan_of(const Box& box, const Task& task) const {
    return {.runtime = runtime_,
            .name = box.name,
            .data_id = settings_.data_id,
            .task = to_string(task.id),
            .source = box.folder,
            .network = settings_.network,
            .options = settings_.options};
  }

  Status start_box(std::unique_ptr<Box> box, const ContainerPlan& plan, const Container& container,
                   std::string input) {
    std::vector<std::string> command = TRY(run_command(plan, container));
    Box* const own = box.get();
    Result<std::unique_ptr<ContainerProcess>> process = ContainerProcess::start(
        {.runtime = runtime_,
         .name = own->name,
         .command = std::move(command),
         .input = std::move(input),
         .output = [this, own](std::string_view bytes) { heard_output(*own, bytes); },
         .errors = [this, own](std::string_view bytes) { heard(*own, own->error_lines, bytes); }});
    if (!process) return fail(std::string(kFunctionUnavailable), process.error().message);
    own->process = *std::move(process);
    boxes_.push_back(std::move(box));
    return {};
  }

  void start_isolated() {
    Job& job = *jobs_.front(isolated_);
    isolated_.pop_front();
    const Task& task = job.task;
    std::unique_ptr<Box> box = new_box(task);
    box->job = job.ticket();
    Box* const own = box.get();
    const fs::path folder = box->folder;
    Status done = lay_out_isolated(task, folder);
    if (done) {
      ContainerPlan plan = plan_of(*box, task);
      plan.target = kIsolatedMount;
      plan.reads_input = true;
      done =
          start_box(std::move(box), plan, std::get<Container>(task.target), folder / "input.json");
    }
    if (!done) {
      remove_folder(folder);
      return end(job, failed(done.error()));
    }
    job.box = own;
    job.task.files.clear();
    job.task.input.clear();
    jobs_.tell(job, TaskStarted());
  }

  void start_service(Service& service) {
    // To keep some takes no task: the name is then of nobody.
    const Job* const first = jobs_.front(service.waiting);
    const Task task = first == nullptr ? Task() : first->task;
    std::unique_ptr<Box> box = new_box(task);
    box->service = &service;
    box->probe.emplace();
    const fs::path folder = box->folder;
    std::error_code error;
    fs::create_directory(folder, error);
    ContainerPlan plan = plan_of(*box, task);
    plan.target = kSharedMount;
    plan.port = box->probe->port();
    Status done;
    if (error) {
      done = fail(std::string(kFunctionFiles), "its folder: " + error.message());
    } else if (plan.port == 0) {
      done = fail(std::string(kFunctionUnavailable), "no port of this machine can be had for it");
    } else {
      done = start_box(std::move(box), plan, service.container, "");
    }
    if (done) return;
    remove_folder(folder);
    service.kept_from = now_ + kLongestPause;
    fail_waiting(service.waiting, done.error());
  }

  // What containers print.

  /// Of a reusable one it is told where there is no doubt whose it is.
  void heard(Box& box, OutputLines& lines, std::string_view bytes) {
    Job* job = nullptr;
    if (box.job) job = jobs_.find(*box.job);
    if (box.calls.size() == 1) job = jobs_.find(*box.calls.begin());
    OutputAllowance nobodys;
    std::vector<std::string> whole = lines.add(bytes, job == nullptr ? nobodys : job->left);
    if (job != nullptr) jobs_.tell_output(*job, std::move(whole));
  }

  /// Of an isolated one it may be the result: that shows at the end.
  void heard_output(Box& box, std::string_view bytes) {
    if (!box.job) return heard(box, box.output_lines, bytes);
    const size_t room = kMaxAnswerBytes + 1 - box.output.size();
    box.output += bytes.substr(0, room);
    if (Job* const job = jobs_.find(*box.job)) jobs_.heard(*job);
  }

  // Time.

  /// When something is due that nobody tells us of.
  Duration until_next() {
    Duration next{60'000};
    const auto at = [&](Duration due) { next = std::clamp(due - now_, Duration(0), next); };
    for (const std::unique_ptr<Box>& box : boxes_) {
      if (box->is_let_go) continue;
      at(box->measured + kMeasureEvery);
      if (box->service == nullptr) continue;
      if (!box->is_ready) {
        at(now_ + kProbeLook);
      } else if (box->calls.empty() && count_of(*box->service) > box->service->container.scale) {
        at(box->last_used + settings_.idle);
      }
    }
    for (const auto& [key, service] : services_) {
      if (count_of(service) < service.container.scale && service.kept_from > now_) {
        at(service.kept_from);
      }
    }
    if (const auto deadline = jobs_.next_deadline()) at(now_ + (*deadline - clock_.now()));
    return next;
  }

  void wait(Duration at_most) {
    std::vector<pollfd> list = {{.fd = inbox_->fd(), .events = POLLIN, .revents = 0}};
    if (leftovers_) leftovers_->wait_for(list);
    for (const std::unique_ptr<Box>& box : boxes_) box->process->wait_for(list);
    if (list.front().fd < 0) at_most = std::min(at_most, kWithoutWake);
    ::poll(list.data(), list.size(), static_cast<int>(at_most.count()));
  }

  void end_all() {
    jobs_.clear();
    const Duration begun = clock_.elapsed();
    for (const std::unique_ptr<Box>& box : boxes_) let_go(*box);
    while (!boxes_.empty() && clock_.elapsed() - begun < kEndTimeout) {
      wait(kMeasureEvery);
      look();
    }
  }

  ContainerSettings settings_;
  HttpCaller& http_;
  const Clock& clock_;
  ContainerJobs jobs_;
  const std::shared_ptr<ContainerInbox> inbox_;

  Duration now_{};
  std::string runtime_;
  std::unique_ptr<LeftoverRemoval> leftovers_;
  bool is_clean_ = false;

  std::deque<Ticket> isolated_;  ///< that wait for a container
  std::map<ServiceKey, Service> services_;
  std::vector<std::unique_ptr<Box>> boxes_;
  uint64_t last_box_ = 0;
};

ContainerRunner::ContainerRunner(ContainerSettings settings, HttpCaller& http, const Clock& clock,
                                 TaskSink& sink)
    : inbox_(std::make_shared<ContainerInbox>()),
      loop_(std::make_unique<Loop>(std::move(settings), http, clock, sink, inbox_)),
      thread_([this] { loop_->run(); }) {}

ContainerRunner::~ContainerRunner() {
  inbox_->close();
  thread_.join();
}

void ContainerRunner::run(Task task) { inbox_->put(RunTask{std::move(task)}); }

void ContainerRunner::stop(const InstanceId& task) { inbox_->put(StopContainerTask{task}); }

std::optional<Duration> ContainerRunner::silence(const InstanceId& task) const {
  return loop_->silence(task);
}

}  // namespace millrace
