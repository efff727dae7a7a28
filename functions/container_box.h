// ContainerBox: the runner's state of one container. ContainerService: a reusable function, which
// may have several containers. Values only: container_life.cc and container_schedule.cc change
// them. Private to functions/.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "base/time.h"
#include "functions/container_inbox.h"
#include "functions/container_process.h"
#include "functions/output_lines.h"
#include "functions/ready_probe.h"
#include "model/task.h"

namespace millrace {

struct ContainerService;

/// A container, from its start until its process and files are removed.
struct ContainerBox {
  std::string name;
  std::string ns;  ///< the namespace whose tasks it runs
  std::filesystem::path folder;
  std::unique_ptr<ContainerProcess> process;
  Duration measured{};
  OutputLines output_lines;
  OutputLines error_lines;
  bool is_let_go = false;  ///< the container is being removed, and gets no more calls

  // Only for an isolated function.
  std::optional<Ticket> job;
  std::string output;

  // Only for a reusable function.
  ContainerService* service = nullptr;
  std::optional<ReadyProbe> probe;
  bool is_ready = false;
  std::set<InstanceId> calls;
  Duration started{};
  Duration last_used{};

  /// The URL at which the container is called.
  std::string url() const { return fmt::format("http://127.0.0.1:{}/", probe->port()); }
};

/// Namespace, image, command, size, and whether the tasks are sealed: the files of sealed tasks are
/// in another folder, so sealed tasks have containers of their own.
using ServiceKey = std::tuple<std::string, std::string, std::string, ContainerSize, bool>;
/// A reusable function, with its waiting tasks.
struct ContainerService {
  std::string ns;
  Container container;
  bool sealed = false;  ///< all its tasks are sealed
  std::deque<Ticket> waiting;
  uint32_t failures = 0;  ///< lost containers in a row
  Duration kept_from{};   ///< no container is started for `scale` before this time
};

}  // namespace millrace
