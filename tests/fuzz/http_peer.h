// Runs a connection of the gateway on bytes of a client, over a pair of sockets and on the calling
// thread, and reads the answers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cloudevents/headers.h"
#include "gateway/router.h"

namespace millrace::fuzz {

/// The bytes that a connection of the gateway sends to a client that sends `bytes` in pieces of
/// `piece` bytes and then no more, without the values of the Date headers. CHECKs that the
/// connection closes. Handlers run on the calling thread; the gateway has no token.
std::string answers_to(const Router& router, std::string_view bytes, size_t piece);

struct HttpAnswerText {
  int status = 0;
  Headers headers;
  std::string body;
};

/// The final answers in the bytes of answers_to(). CHECKs that they are answers and nothing else.
/// An answer to HEAD has no body.
std::vector<HttpAnswerText> split_answers(std::string_view bytes);

}  // namespace millrace::fuzz
