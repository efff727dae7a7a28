// TaskBookTest: a task book whose clock the test sets, and all of its reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "broker/task_book.h"
#include "tests/unit/broker/task_world.h"

namespace millrace {

class TaskBookTest : public testing::Test {
 protected:
  using Words = std::vector<std::string>;
  using About = TaskQuestion::About;

  static constexpr Duration kAckTimeout{5'000};
  static constexpr Duration kGrace{2'000};
  static constexpr Duration kLookTimeout{1'000};

  void add(uint8_t number, bool queued = true) {
    book_.add(task_id(number), "shop", queued, NatsMessage{.subject = kTaskSubject, .data = "x"});
  }
  void add_request(uint8_t number, std::string subject) {
    book_.add(task_id(number), "shop", false, NatsMessage{.subject = std::move(subject)});
  }
  static NatsMessage inherited_message(uint8_t number) {
    return {.subject = kTaskSubject,
            .headers = {{"Nats-Msg-Id", fmt::format("m{}", number)}},
            .data = "x"};
  }
  void inherit(uint8_t number) {
    book_.add(task_id(number), "shop", true, inherited_message(number), std::nullopt, true);
  }
  /// The numbers of the tasks whose messages are to be sent now.
  std::vector<int> sent(bool with_stream = true) {
    mail_ = book_.take_mail(with_stream, 100, now_);
    std::vector<int> numbers;
    for (const TaskMail::Message& message : mail_.messages) {
      numbers.push_back(message.task.bytes.back());
    }
    return numbers;
  }
  /// The questions that are to be asked now. Messages that are to be sent now stay in mail_.
  Words asked() {
    mail_ = book_.take_mail(true, 100, now_);
    Words questions;
    for (const TaskQuestion& question : mail_.questions) {
      EXPECT_EQ(question.ns, "shop");
      const bool for_message = question.about == About::kMessage;
      questions.push_back(
          for_message ? fmt::format("{} message {}", question.task.bytes.back(), question.sequence)
                      : fmt::format("{} answer", question.task.bytes.back()));
    }
    return questions;
  }
  void found(uint8_t number, About about, bool is_there) {
    book_.found(task_id(number), about, is_there, now_);
  }
  /// Adds an inherited task whose message with that sequence is gone, and lets the grace pass. The
  /// question about its answer is open then.
  void inherit_without_message(uint8_t number, uint64_t sequence) {
    inherit(number);
    sent();
    stored(number, sequence, true);
    asked();
    found(number, About::kMessage, false);
    pass(kGrace);
    EXPECT_EQ(asked(), (Words{fmt::format("{} answer", number)}));
  }
  void record(const std::vector<TaskReport>& reports) {
    for (const TaskReport& report : reports) {
      reports_.push_back(fmt::format("{} {}", report.task.bytes.back(), word(report)));
    }
  }
  void stored(uint8_t number, uint64_t sequence, bool duplicate = false) {
    record(book_.stored(task_id(number), {sequence, duplicate}, now_));
  }
  void heard(uint64_t sequence, AckWord ack, std::string_view consumer = "shop+charge") {
    if (const auto report = book_.heard(consumer, sequence, ack, now_)) record({*report});
  }
  void pass(Duration time) {
    now_ += time;
    record(book_.elapse(now_));
  }
  std::vector<uint64_t> deletes() { return book_.take_mail(true, 0, now_).deletes; }

  TaskBook::Time now_{};
  TaskBook book_{{.ack_timeout = kAckTimeout,
                  .grace = kGrace,
                  .look_timeout = kLookTimeout,
                  .most_unacknowledged = 3,
                  .most_questions = 2,
                  .folder = "here",
                  .most_calls = 2}};
  TaskMail mail_;
  Words reports_;
};

}  // namespace millrace
