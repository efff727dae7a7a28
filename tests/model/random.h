// Random numbers that are the same on every machine.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

namespace millrace::reference {

class Random {
 public:
  explicit Random(uint64_t seed) : x_(seed * 0x9E3779B97F4A7C15ull + 0x1234567) {}
  uint64_t next() {  // splitmix64
    uint64_t z = (x_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>(next() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  T of(std::initializer_list<T> all) {
    return *(all.begin() + below(static_cast<int>(all.size())));
  }
  std::string text(std::initializer_list<const char*> all) { return of(all); }

 private:
  uint64_t x_;
};

}  // namespace millrace::reference
