#include "tests/unit/broker/failing_library.h"

#include <dlfcn.h>
#include <nats/nats.h>

#include "base/check.h"

namespace {

bool fails(std::atomic<int>& left) {
  int before = left;
  while (before > 0 && !left.compare_exchange_weak(before, before - 1)) {
  }
  return before > 0;
}

/// The function of nats.c with this name.
template <class Function>
Function* real(const char* name) {
  auto* const found = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
  CHECK(found != nullptr, "{}", name);
  return found;
}

}  // namespace

natsStatus natsSubscription_SetOnCompleteCB(natsSubscription* subscription, natsOnCompleteCB call,
                                            void* closure) {
  if (fails(millrace::FailingLibrary::natsSubscription_SetOnCompleteCB)) {
    return NATS_INVALID_SUBSCRIPTION;
  }
  return real<decltype(natsSubscription_SetOnCompleteCB)>("natsSubscription_SetOnCompleteCB")(
      subscription, call, closure);
}
