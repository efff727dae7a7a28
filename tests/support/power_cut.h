// PowerCuts: the content of a disk after a power cut. The replaced file calls (file_faults.h)
// report each write and each sync of the files of a store to a PowerCuts. At some of these calls it
// records a content that the disk could have after a power cut: everything that was synced, and
// random sectors of the rest. One object at a time. Reports come from any thread.
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
    uint64_t promised = 0;                     ///< the number given to the latest promise()
    std::map<std::string, std::string> files;  ///< the content of each file, by the file's name

    void write_to(const std::filesystem::path& folder) const;
  };

  /// Watches the store in that folder. The files that the store has now count as synced.
  PowerCuts(const std::filesystem::path& folder, uint64_t seed);
  ~PowerCuts();
  PowerCuts(const PowerCuts&) = delete;
  PowerCuts& operator=(const PowerCuts&) = delete;

  /// From now on commits up to that number must survive a power cut.
  void promise(uint64_t number);

  /// Ends the watch; returns the recorded contents.
  std::vector<Cut> stop();

 private:
  class Disk;
  std::unique_ptr<Disk> disk_;
};

}  // namespace millrace
