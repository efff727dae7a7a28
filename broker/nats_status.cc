#include "broker/nats_status.h"

#include <fmt/format.h>

#include "broker/wire.h"

namespace millrace {
namespace {

const char* code_of(natsStatus status) {
  switch (status) {
    case NATS_TIMEOUT:
      return "broker.timeout";
    case NATS_MAX_PAYLOAD:
      return "broker.too_large";
    case NATS_NOT_PERMITTED:
    case NATS_CONNECTION_AUTH_FAILED:
    case NATS_INVALID_SUBJECT:
    case NATS_INVALID_ARG:
    case NATS_NO_SERVER_SUPPORT:
    case NATS_SECURE_CONNECTION_WANTED:
    case NATS_SECURE_CONNECTION_REQUIRED:
    case NATS_SSL_ERROR:
      return "broker.refused";
    case NATS_PROTOCOL_ERROR:
    case NATS_LINE_TOO_LONG:
      return "broker.protocol";
    default:
      return "broker.unreachable";
  }
}

/// natsSubscription_NextMsg reads the headers of an empty message before it returns the message. If
/// it cannot read all headers, later readers do not see the unread headers, and only nats.c's last
/// error on this thread shows that they are missing. If that error is older than the message, the
/// only effect is one additional fetch.
bool headers_were_cut(size_t data_size) {
  if (data_size > 0) return false;
  natsStatus last = NATS_OK;
  nats_GetLastError(&last);
  return last == NATS_PROTOCOL_ERROR;
}

}  // namespace

Error nats_error(natsStatus status, std::string_view doing) {
  std::string_view why = natsStatus_GetText(status);
  if (status == NATS_INSUFFICIENT_BUFFER) why = "not connected";  // the reconnect buffer is off
  if (status == NATS_NO_RESPONDERS)
    why = "no subscriber on that subject; check that JetStream is enabled and the stream exists";
  return Error{code_of(status), fmt::format("{}: {}", doing, why)};
}

natsStatus make_message(const NatsMessage& message, const std::string& subject, const char* reply,
                        NatsMsgHandle& made) {
  natsMsg* raw = nullptr;
  natsStatus status = natsMsg_Create(&raw, subject.c_str(), reply, message.data.data(),
                                     static_cast<int>(message.data.size()));
  made.reset(raw);
  for (const auto& [name, value] : message.headers) {
    if (status == NATS_OK) status = natsMsgHeader_Add(raw, name.c_str(), value.c_str());
  }
  return status;
}

bool read_message(natsMsg* from, NatsMessage& to) {
  to.subject = natsMsg_GetSubject(from);
  const auto size = static_cast<size_t>(natsMsg_GetDataLength(from));
  to.data.assign(size == 0 ? "" : natsMsg_GetData(from), size);
  to.headers.clear();
  bool sure = !headers_were_cut(size);

  const char** names = nullptr;
  int name_count = 0;
  const natsStatus status = natsMsgHeader_Keys(from, &names, &name_count);
  if (status == NATS_NOT_FOUND) return sure;
  if (status != NATS_OK) return false;
  for (int i = 0; i < name_count; ++i) {
    const char** values = nullptr;
    int value_count = 0;
    if (natsMsgHeader_Values(from, names[i], &values, &value_count) != NATS_OK) {
      sure = false;
      continue;
    }
    for (int j = 0; j < value_count; ++j) {
      sure = sure && !may_hold_the_next_header(values[j]);
      to.headers.emplace_back(names[i], values[j]);
    }
    std::free(static_cast<void*>(values));
  }
  std::free(static_cast<void*>(names));
  return sure;
}

}  // namespace millrace
