// One RAII type for each handle of nats.c. Private to broker/: the headers that other rooms read
// only name the connection's struct.
#pragma once

#include <cstdlib>
#include <memory>

#include <nats/nats.h>

namespace millrace {

template <auto destroy>
struct NatsDestroy {
  template <class T>
  void operator()(T* handle) const {
    destroy(handle);
  }
};

using NatsOptionsHandle = std::unique_ptr<natsOptions, NatsDestroy<natsOptions_Destroy>>;
using NatsMsgHandle = std::unique_ptr<natsMsg, NatsDestroy<natsMsg_Destroy>>;
using NatsSubscriptionHandle =
    std::unique_ptr<natsSubscription, NatsDestroy<natsSubscription_Destroy>>;
using NatsInboxHandle = std::unique_ptr<natsInbox, NatsDestroy<natsInbox_Destroy>>;

}  // namespace millrace
