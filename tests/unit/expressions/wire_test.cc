#include "expressions/workers/wire.h"

#include <gtest/gtest.h>

namespace millrace::wire {
namespace {

std::string_view body(std::string_view message) { return message.substr(4); }

TEST(Wire, ReadsMessagesAsTheyWereWritten) {
  const auto input = std::make_shared<const std::string>("{\"a\":1}");
  const auto other = std::make_shared<const std::string>("2");
  const Evaluation evaluation{.queries = {{".a", input},
                                          {".b", other, Query::Mode::kCondition},
                                          {"{}", input, Query::Mode::kSchema}},
                              .stop_at_true = true,
                              .now = from_millis(-5),
                              .instance = std::make_shared<const std::string>("{\"id\":\"i\"}")};
  const std::optional<Request> request = decode_request(body(encode(evaluation)));
  ASSERT_TRUE(request);
  const auto& read = std::get<EvaluateRequest>(*request);
  EXPECT_TRUE(read.stop_at_true);
  EXPECT_EQ(read.now, from_millis(-5));
  EXPECT_EQ(read.instance, R"({"id":"i"})");
  ASSERT_EQ(read.queries.size(), 3);
  EXPECT_EQ(read.queries[1].program, ".b");
  EXPECT_EQ(read.queries[1].mode, Query::Mode::kCondition);
  EXPECT_EQ(read.queries[2].mode, Query::Mode::kSchema);
  EXPECT_EQ(*read.queries[1].input, "2");
  EXPECT_EQ(read.queries[2].input, read.queries[0].input)
      << "queries with a shared input still share it";

  const auto check = decode_request(body(encode_check_schema("{}")));
  ASSERT_TRUE(check);
  EXPECT_EQ(std::get<CheckSchemaRequest>(*check).schema, "{}");

  const std::optional<Reply> reply =
      decode_reply(body(encode(Reply{Reply::Kind::kError, false, "x", 7})));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->kind, Reply::Kind::kError);
  EXPECT_FALSE(reply->last);
  EXPECT_EQ(reply->text, "x");
  EXPECT_EQ(reply->took, 7U);
}

TEST(Wire, CountsASharedInputOnceInTheSizeOfAnEvaluation) {
  const auto input = std::make_shared<const std::string>(1'000, '1');
  const Evaluation one{.queries = {{".a", input}}};
  const Evaluation three{.queries = {{".a", input}, {".b", input}, {".c", input}}};
  for (const Evaluation& evaluation : {one, three}) {
    EXPECT_GE(size_of(evaluation), encode(evaluation).size());
    EXPECT_LT(size_of(evaluation), encode(evaluation).size() + 200);
  }
}

TEST(Wire, MayBeginAnEvaluationAtALaterQuery) {
  const auto input = std::make_shared<const std::string>("1");
  std::string message = encode(Evaluation{.queries = {{".a", input}, {".b", input}}});
  EXPECT_EQ(std::get<EvaluateRequest>(decode_request(body(message)).value()).first, 0);
  begin_at(message, 1);
  EXPECT_EQ(std::get<EvaluateRequest>(decode_request(body(message)).value()).first, 1);
  begin_at(message, 2);
  EXPECT_FALSE(decode_request(body(message))) << "there is no third query";
}

TEST(Wire, RefusesMessagesThatAreTruncatedTooLongOrOfAnUnknownKind) {
  const std::vector<std::string> programs{".a", ".b"};
  for (const std::string& whole :
       {encode(Evaluation{.queries = {{".a", std::make_shared<const std::string>("1")}}}),
        encode_check(programs), encode_check_schema("{}")}) {
    for (size_t size = 0; size < body(whole).size(); ++size) {
      EXPECT_FALSE(decode_request(body(whole).substr(0, size))) << size;
    }
    EXPECT_FALSE(decode_request(std::string(body(whole)) + "x"));
  }
  const std::string reply = encode(Reply{Reply::Kind::kValue, true, "1"});
  for (size_t size = 0; size < body(reply).size(); ++size) {
    EXPECT_FALSE(decode_reply(body(reply).substr(0, size))) << size;
  }
  std::string of_no_kind(body(reply));
  of_no_kind[0] = '\x09';
  EXPECT_FALSE(decode_reply(of_no_kind));
  std::string neither_last_nor_not(body(reply));
  neither_last_nor_not[1] = '\x02';
  EXPECT_FALSE(decode_reply(neither_last_nor_not));
}

TEST(Wire, ReadsMessagesThatArriveByteByByteAndNoticesABrokenStream) {
  std::string stream = encode(Reply{Reply::Kind::kValue, false, "1"});
  const size_t first = stream.size();
  append(Reply{Reply::Kind::kValue, true, "22"}, stream);
  MessageReader reader;
  std::vector<std::string> texts;
  for (size_t i = 0; i < stream.size(); ++i) {
    reader.append({&stream[i], 1});
    EXPECT_EQ(reader.has_next(), i + 1 == first || i + 1 == stream.size());
    while (const auto message = reader.next()) texts.push_back(decode_reply(*message)->text);
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"1", "22"}));
  EXPECT_FALSE(reader.broken());
  reader.append("\xff\xff\xff\xff");
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.broken());
}

}  // namespace
}  // namespace millrace::wire
