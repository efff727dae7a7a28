#include "expressions/workers/wire.h"

#include <cstring>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace millrace::wire {
namespace {

enum class Tag : uint8_t { kEvaluate = 1, kCheck = 2, kCheckSchema = 3 };

/// Encodes one message and appends it to a text of messages.
class Encoder {
 public:
  explicit Encoder(std::string messages = {})
      : message_(std::move(messages)), begin_(message_.size()) {
    put(uint32_t{0});
  }

  template <class T>
  void put(T value) {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>);
    message_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put_text(std::string_view text) {
    put(static_cast<uint32_t>(text.size()));
    message_ += text;
  }
  std::string finish() && {
    const auto length = static_cast<uint32_t>(message_.size() - begin_ - sizeof(uint32_t));
    std::memcpy(message_.data() + begin_, &length, sizeof length);
    return std::move(message_);
  }

 private:
  std::string message_;
  size_t begin_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view body) : rest_(body) {}

  template <class T>
  T get() {
    T value{};
    if (rest_.size() < sizeof value) {
      good_ = false;
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  bool get_boolean() {
    const auto value = get<uint8_t>();
    if (value > 1) good_ = false;
    return value == 1;
  }
  std::string_view get_text() {
    const auto size = get<uint32_t>();
    if (rest_.size() < size) {
      good_ = false;
      return {};
    }
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return text;
  }
  bool good() const { return good_; }
  bool finished() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

std::optional<Request> decode_evaluate(Decoder& in) {
  EvaluateRequest request;
  request.first = in.get<uint32_t>();
  request.stop_at_true = in.get_boolean();
  request.now = from_millis(in.get<int64_t>());
  request.instance = in.get_text();
  std::vector<std::shared_ptr<const std::string>> inputs;
  for (auto count = in.get<uint32_t>(); in.good() && count > 0; --count) {
    inputs.push_back(std::make_shared<const std::string>(in.get_text()));
  }
  for (auto count = in.get<uint32_t>(); in.good() && count > 0; --count) {
    Query query;
    query.mode = in.get<Query::Mode>();
    if (query.mode > Query::Mode::kSchema) return std::nullopt;
    const auto input = in.get<uint32_t>();
    if (input >= inputs.size()) return std::nullopt;
    query.input = inputs[input];
    query.program = in.get_text();
    request.queries.push_back(std::move(query));
  }
  if (!in.finished() || request.first >= request.queries.size()) return std::nullopt;
  return request;
}

std::optional<Request> decode_check(Decoder& in) {
  CheckRequest request;
  for (auto count = in.get<uint32_t>(); in.good() && count > 0; --count) {
    request.programs.emplace_back(in.get_text());
  }
  if (!in.finished()) return std::nullopt;
  return request;
}

std::optional<Request> decode_check_schema(Decoder& in) {
  CheckSchemaRequest request{std::string(in.get_text())};
  if (!in.finished()) return std::nullopt;
  return request;
}

}  // namespace

size_t size_of(const Evaluation& evaluation) {
  constexpr size_t kFields = 32;  // the fields of a message, and those of each query
  size_t bytes = kFields + input_bytes(evaluation);
  if (evaluation.instance) bytes += evaluation.instance->size();
  for (const Query& query : evaluation.queries) bytes += kFields + query.program.size();
  return bytes;
}

std::string encode(const Evaluation& evaluation) {
  std::string message;
  message.reserve(size_of(evaluation));
  Encoder out(std::move(message));
  out.put(Tag::kEvaluate);
  out.put(uint32_t{0});  // the first query to evaluate; see begin_at
  out.put(static_cast<uint8_t>(evaluation.stop_at_true));
  out.put(to_millis(evaluation.now));
  out.put_text(evaluation.instance ? std::string_view(*evaluation.instance) : "");
  // Most queries share one input: it is sent, and parsed, only once.
  std::vector<const std::string*> inputs;
  std::unordered_map<const std::string*, uint32_t> places;
  for (const Query& query : evaluation.queries) {
    if (places.emplace(query.input.get(), inputs.size()).second) {
      inputs.push_back(query.input.get());
    }
  }
  out.put(static_cast<uint32_t>(inputs.size()));
  for (const std::string* input : inputs) out.put_text(*input);
  out.put(static_cast<uint32_t>(evaluation.queries.size()));
  for (const Query& query : evaluation.queries) {
    out.put(query.mode);
    out.put(places.at(query.input.get()));
    out.put_text(query.program);
  }
  return std::move(out).finish();
}

void begin_at(std::string& evaluation, uint32_t first) {
  // The place of `first` in the message: after the length and the tag.
  constexpr size_t kPlace = sizeof(uint32_t) + sizeof(Tag);
  std::memcpy(evaluation.data() + kPlace, &first, sizeof first);
}

std::string encode_check(std::span<const std::string> programs) {
  Encoder out;
  out.put(Tag::kCheck);
  out.put(static_cast<uint32_t>(programs.size()));
  for (const std::string& program : programs) out.put_text(program);
  return std::move(out).finish();
}

std::string encode_check_schema(std::string_view schema) {
  Encoder out;
  out.put(Tag::kCheckSchema);
  out.put_text(schema);
  return std::move(out).finish();
}

void append(const Reply& reply, std::string& messages) {
  Encoder out(std::move(messages));
  out.put(reply.kind);
  out.put(static_cast<uint8_t>(reply.last));
  out.put_text(reply.text);
  out.put(reply.took);
  messages = std::move(out).finish();
}

std::string encode(const Reply& reply) {
  std::string message;
  append(reply, message);
  return message;
}

std::optional<Request> decode_request(std::string_view body) {
  Decoder in(body);
  switch (in.get<Tag>()) {
    case Tag::kEvaluate:
      return decode_evaluate(in);
    case Tag::kCheck:
      return decode_check(in);
    case Tag::kCheckSchema:
      return decode_check_schema(in);
  }
  return std::nullopt;
}

std::optional<Reply> decode_reply(std::string_view body) {
  Decoder in(body);
  Reply reply;
  reply.kind = in.get<Reply::Kind>();
  reply.last = in.get_boolean();
  reply.text = in.get_text();
  reply.took = in.get<uint32_t>();
  if (!in.finished() || reply.kind > Reply::Kind::kCompiled) return std::nullopt;
  return reply;
}

void MessageReader::append(std::string_view bytes) {
  bytes_.erase(0, std::exchange(consumed_, 0));
  bytes_ += bytes;
}

std::optional<size_t> MessageReader::length() const {
  uint32_t length = 0;
  if (rest().size() < sizeof length) return std::nullopt;
  std::memcpy(&length, rest().data(), sizeof length);
  return length;
}

bool MessageReader::broken() const { return length().value_or(0) > kMaxMessage; }

bool MessageReader::has_next() const {
  const std::optional<size_t> size = length();
  return size && *size <= kMaxMessage && rest().size() - sizeof(uint32_t) >= *size;
}

std::optional<std::string_view> MessageReader::next() {
  if (!has_next()) return std::nullopt;
  const std::string_view body = rest().substr(sizeof(uint32_t), *length());
  consumed_ += sizeof(uint32_t) + body.size();
  return body;
}

}  // namespace millrace::wire
