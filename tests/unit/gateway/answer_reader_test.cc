// AnswerReader finds each answer with its request, however the bytes are cut.
#include "tests/support/answer_reader.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace millrace {
namespace {

using testing::ElementsAre;

/// Keeps a line for each thing that was found.
class FoundAnswers final : public AnswerSink {
 public:
  void on_answer(const AskedFor& asked, const HttpReply& reply) override {
    lines.push_back(fmt::format("{} {} {} {}", asked.method, asked.target, reply.status,
                                reply.has_whole_body ? "\"" + reply.body + "\"" : "-"));
  }
  void on_event_data(const AskedFor& asked, std::string_view data) override {
    lines.push_back(fmt::format("{} data \"{}\"", asked.target, data));
  }
  void on_malformed(const AskedFor& asked, std::string_view line) override {
    lines.push_back(fmt::format("{} {} malformed \"{}\"", asked.method, asked.target, line));
  }

  std::vector<std::string> lines;
};

struct ConnectionRow {
  const char* name;
  std::string requests;
  std::string answers;
  std::vector<std::string> found;
};

const ConnectionRow kConnections[] = {
    {"a body with a length",
     "GET /a?b=1 HTTP/1.1\r\nHost: x\r\n\r\n",
     "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\ncontent-length:2\r\n\r\n{}",
     {"GET /a?b=1 200 \"{}\""}},
    {"a body in chunks, with an extension and a trailer",
     "GET /a HTTP/1.1\r\n\r\n",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n"
     "0\r\nX-Sum: 1\r\n\r\n",
     {"GET /a 200 \"abc0123456789\""}},
    {"a body that ends with the connection",
     "GET /a HTTP/1.1\r\n\r\n",
     "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall that comes\r\n\r\n",
     {"GET /a 200 \"all that comes\r\n\r\n\""}},
    {"two requests, and a body that looks like one more",
     "POST /a HTTP/1.1\r\nContent-Length: 22\r\n\r\nGET /no HTTP/1.1\r\n\r\n\r\n"
     "GET /b HTTP/1.1\r\n\r\n",
     "HTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\n1"
     "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
     {"POST /a 201 \"1\"", "GET /b 404 \"\""}},
    {"a request in chunks",
     "PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n\r\n\r\n\r\n0\r\n\r\n"
     "GET /b HTTP/1.1\r\n\r\n",
     "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2",
     {"PUT /a 200 \"1\"", "GET /b 200 \"2\""}},
    {"answers without a body",
     "HEAD /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\nGET /c HTTP/1.1\r\n\r\n",
     "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"
     "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n3",
     {"HEAD /a 200 \"\"", "GET /b 204 \"\"", "GET /c 200 \"3\""}},
    {"an interim answer",
     "PUT /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n1",
     "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2",
     {"PUT /a 200 \"2\""}},
    {"a stream of events",
     "GET /a HTTP/1.1\r\n\r\n",
     "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
     "id: 7\ndata: {\"a\":\ndata:1}\n\n:\n\nevent: reset\r\ndata: 2\r\n\r\ndata: half",
     {"GET /a 200 -", "/a data \"{\"a\":\n1}\"", "/a data \"2\""}},
    {"a stream of events in chunks",
     "GET /a HTTP/1.1\r\n\r\n",
     "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
     "7\r\ndata: 1\r\n2\r\n\n\n\r\n0\r\n\r\n",
     {"GET /a 200 -", "/a data \"1\""}},
    {"a body that is cut",
     "GET /a HTTP/1.1\r\n\r\n",
     "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n12",
     {}},
    {"a request that is not HTTP",
     "what is this\r\n\r\n",
     "HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n{}",
     {"  400 \"{}\""}},
    {"an answer that is not HTTP",
     "GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n",
     "SSH-2.0-x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n3",
     {"GET /a malformed \"SSH-2.0-x\""}},
};

TEST(AnswerReader, FindsEachAnswerWithItsRequest) {
  for (const ConnectionRow& row : kConnections) {
    for (const size_t step : {size_t{1}, size_t{2}, size_t{3}, size_t{7}, size_t{4096}}) {
      FoundAnswers found;
      AnswerReader reader(found);
      for (size_t at = 0; at < row.requests.size(); at += step) {
        reader.client_sent(row.requests.substr(at, step));
      }
      for (size_t at = 0; at < row.answers.size(); at += step) {
        reader.server_sent(row.answers.substr(at, step));
      }
      reader.server_ended();
      EXPECT_EQ(found.lines, row.found) << row.name << ", in steps of " << step;
    }
  }
}

TEST(AnswerReader, KeepsNoBodyThatIsTooLarge) {
  FoundAnswers found;
  AnswerReader reader(found);
  reader.client_sent("GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\nGET /c HTTP/1.1\r\n\r\n");
  const std::string largest(AnswerReader::kMostBodyBytes, 'x');
  reader.server_sent(
      fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", largest.size() + 1));
  reader.server_sent(largest);
  reader.server_sent("x");
  reader.server_sent("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2");
  reader.server_sent("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ");
  reader.server_sent(largest);
  reader.server_sent("\ndata: 2\n\ndata: 3\n\n");
  EXPECT_THAT(found.lines,
              ElementsAre("GET /a 200 -", "GET /b 200 \"2\"", "GET /c 200 -", "/c data \"3\""));
}

TEST(AnswerReader, ReadsNothingBehindAHeadThatIsTooLarge) {
  FoundAnswers found;
  AnswerReader reader(found);
  const std::string large(HttpSplitter::kMostHeadBytes, 'x');
  reader.client_sent("GET /a HTTP/1.1\r\nX: " + large + "\r\n\r\nGET /b HTTP/1.1\r\n\r\n");
  reader.server_sent("HTTP/1.1 431 Too Large\r\nContent-Length: 0\r\n\r\n");
  reader.server_sent("HTTP/1.1 200 OK\r\nX: " + large);
  reader.server_sent("\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(found.lines, ElementsAre("  431 \"\""));
}

}  // namespace
}  // namespace millrace
