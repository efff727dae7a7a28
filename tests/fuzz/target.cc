#include "tests/fuzz/target.h"

namespace millrace::fuzz {

std::map<std::string, Target>& targets() {
  static std::map<std::string, Target> all;
  return all;
}

TargetRegistration::TargetRegistration(const char* name, void (*run)(std::string_view bytes)) {
  Target& target = targets()[name];
  CHECK(target.run == nullptr, "two fuzz targets have the name {}", name);
  target.run = run;
}

MutatorRegistration::MutatorRegistration(const char* name, Mutator mutate) {
  targets()[name].mutate = mutate;
}

}  // namespace millrace::fuzz
