// KeptFolders: the folders of accepted calls that an earlier process has kept. All else that it has
// left is removed. For use by one thread; the functions block on the disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"

namespace millrace {

class KeptFolders {
 public:
  /// Whether a service has accepted the task, and uses its files until its callback.
  using AwaitsFiles = std::function<Result<bool>(const InstanceId& task)>;

  struct Kept {
    std::filesystem::path path;
    std::string delivery;  ///< in the key of the attempt (AttemptKeys)
  };

  /// The name of the folder of a delivery.
  static std::string name_of(const InstanceId& task, const std::string& delivery);

  /// Looks for kept folders in `folder`, and removes everything else in it. A kept folder counts if
  /// its task awaits files and no other node of a cluster had the call meanwhile. `epoch`: of the
  /// active of the cluster; 0: there is no cluster.
  void find(const std::filesystem::path& folder, uint64_t epoch, const AwaitsFiles& awaits_files);

  /// Takes the folder of the task; nullopt: none was found.
  std::optional<Kept> take(const InstanceId& task);

 private:
  std::map<InstanceId, Kept> found_;
};

}  // namespace millrace
