// One RAII type for each handle of nats.c. Private to broker/: the only type of nats.h in a header
// for other folders is the struct of a connection.
#pragma once

#include <cstdlib>
#include <memory>

#include <nats/nats.h>

// nats.c does not mark its functions [[nodiscard]], so this file does. Code that ignores a status
// does so on purpose, with std::ignore, and gives the reason there.
#define MILLRACE_NODISCARD(function) [[nodiscard]] decltype(function) function
extern "C" {
MILLRACE_NODISCARD(natsConnection_Connect);
MILLRACE_NODISCARD(natsConnection_FlushTimeout);
MILLRACE_NODISCARD(natsConnection_Publish);
MILLRACE_NODISCARD(natsConnection_PublishMsg);
MILLRACE_NODISCARD(natsConnection_PublishRequest);
MILLRACE_NODISCARD(natsConnection_PublishString);
MILLRACE_NODISCARD(natsConnection_Request);
MILLRACE_NODISCARD(natsConnection_RequestMsg);
MILLRACE_NODISCARD(natsConnection_Subscribe);
MILLRACE_NODISCARD(natsConnection_SubscribeSync);
MILLRACE_NODISCARD(natsMsgHeader_Add);
MILLRACE_NODISCARD(natsMsgHeader_Get);
MILLRACE_NODISCARD(natsMsgHeader_Keys);
MILLRACE_NODISCARD(natsMsgHeader_Values);
MILLRACE_NODISCARD(natsMsg_Create);
MILLRACE_NODISCARD(natsOptions_Create);
MILLRACE_NODISCARD(natsOptions_SetAllowReconnect);
MILLRACE_NODISCARD(natsOptions_SetTimeout);
MILLRACE_NODISCARD(natsSubscription_NextMsg);
MILLRACE_NODISCARD(natsSubscription_SetOnCompleteCB);
MILLRACE_NODISCARD(natsSubscription_SetPendingLimits);
MILLRACE_NODISCARD(natsSubscription_Unsubscribe);
}
#undef MILLRACE_NODISCARD

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

}  // namespace millrace
