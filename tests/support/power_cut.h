// PowerCuts: what a disk would hold if the power failed. While one lives, the file calls of the
// executable (file_faults.h) show it each write and each sync of a store's files. At some of them
// it keeps what there would be: all that was synced, and of what was not, any sectors. One at a
// time; it is told by any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace millrace {

class PowerCuts {
 public:
  struct Cut {
    uint64_t promised = 0;                     ///< as promise() had said
    std::map<std::string, std::string> files;  ///< content by name

    void write_to(const std::filesystem::path& folder) const;
  };

  /// Watches the store in that folder, whose files are on disk as they are.
  PowerCuts(const std::filesystem::path& folder, uint64_t seed);
  ~PowerCuts();
  PowerCuts(const PowerCuts&) = delete;
  PowerCuts& operator=(const PowerCuts&) = delete;

  /// From now on commits up to that one must survive.
  void promise(uint64_t number);

  /// Ends the watch; returns what it has kept.
  std::vector<Cut> stop();

 private:
  class Disk;
  std::unique_ptr<Disk> disk_;
};

}  // namespace millrace
