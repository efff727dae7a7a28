#!/usr/bin/env node
// A worker on a plain socket: it converts words to capitals. worker.mjs host:port subject
import { connect } from "node:net";
import { randomUUID } from "node:crypto";
const [server, subject] = process.argv.slice(2);
const consumer = subject.replace("millrace.tasks.", "").replaceAll(".", "+");
const next = `$JS.API.CONSUMER.MSG.NEXT.MILLRACE_TASKS.${consumer}`;
const inbox = `_INBOX.${randomUUID()}`; // no other process may use this inbox
const nats = connect(server.split(":")[1], server.split(":")[0]).setEncoding("latin1");

async function work(task) {
  if (!task.word) throw { code: "word.missing", message: "the input has no word" };
  return { word: task.word.toUpperCase() };
}
function publish(to, body, headers = "", reply = "") {
  const head = `NATS/1.0\r\n${headers}\r\n`, size = Buffer.byteLength;
  nats.write(`HPUB ${to} ${reply} ${size(head)} ${size(head + body)}\r\n${head}${body}\r\n`);
}
function ask() { // for one task; if there is none the server answers 408 after four seconds
  publish(next, '{"batch":1,"expires":4000000000}', "", inbox);
}
async function take(task, head, body) {
  publish(task, "+WPI"); // the task has started; repeat this every few seconds as a heartbeat
  const answer = /Millrace-Reply: (.*)\r/.exec(head)[1];
  await work(JSON.parse(body)).then(result => publish(answer, JSON.stringify(result)), e =>
    publish(answer, "", `Direktiv-ErrorCode: ${e.code}\r\nDirektiv-ErrorMessage: ${e.message}\r\n`));
  publish(task, "+ACK");
  ask();
}
nats.write(`CONNECT {"verbose":false,"headers":true}\r\nSUB ${inbox} 1\r\n`, ask);
nats.setTimeout(5000, ask); // before the first task of millrace there is no answer
let received = ""; // at most one message, because one is requested
nats.on("data", data => {
  if (data.startsWith("PING")) nats.write("PONG\r\n");
  const [, task, head, size, message] =
    /HMSG \S+ 1 (?:(\S+) )?(\d+) (\d+)\r\n([^]*)/.exec(received += data) ?? [, , , 1, ""];
  if (message.length < size) return;
  received = "";
  if (task) take(task, message.slice(0, head), Buffer.from(message.slice(head, size), "latin1"));
  else ask(); // there was no task
});
