// A worker for tests: worker.mjs host:port subject MODE… The nth mode says what it does with the
// nth task; the last mode also applies to all later tasks.
import { connect } from "node:net";
const [server, subject, ...modes] = process.argv.slice(2);
const [host, port] = server.split(":");
const consumer = subject.replace("millrace.tasks.", "").replaceAll(".", "+");
const inbox = `_INBOX.test.${process.pid}`;
const nats = connect(port, host).setEncoding("latin1");

function publish(to, body = "", headers = "", reply = "") {
  const head = `NATS/1.0\r\n${headers}\r\n`;
  const size = Buffer.byteLength;
  nats.write(`HPUB ${to} ${reply} ${size(head)} ${size(head + body)}\r\n${head}${body}\r\n`);
}
const ask = () => publish(`$JS.API.CONSUMER.MSG.NEXT.MILLRACE_TASKS.${consumer}`,
                          '{"batch":1,"expires":2000000000}', "", inbox);
const fail = code => `Direktiv-ErrorCode: ${code}\r\nDirektiv-ErrorMessage: as requested\r\n`;

const acts = {
  answer: t => t.done(JSON.stringify({ attempt: t.attempt })),
  heartbeat: t => {  // for three seconds
    const beat = setInterval(() => t.alive(), 200);
    setTimeout(() => (clearInterval(beat), t.done('"steady"')), 3000);
  },
  silent: t => t.alive(),
  mute: () => {},
  die: t => (t.alive(), nats.end(() => process.exit(0))),
  twice: t => (t.done('"first"'), t.done('"second"')),
  garbage: t => t.done("\xff\xfe{"),
  error: t => t.done("", fail("card.declined")),
  nonsense: t => t.done("", fail("no code at all!")),
  late: t => (t.alive(), setTimeout(() => t.done('"late"'), 2500)),
  large: t => t.done(JSON.stringify("x".repeat(900000))),
  oversized: t => t.done(JSON.stringify("x".repeat(2000000))),
};
let taken = 0;
function take(reply, head, body) {
  const header = name => new RegExp(`^${name}: (.*)\r`, "m").exec(head)?.[1];
  const mode = modes[Math.min(taken++, modes.length - 1)];
  acts[mode]({
    attempt: Number(header("Direktiv-Attempt")),
    alive: () => publish(reply, "+WPI"),
    done: (result, headers) => {
      publish(header("Millrace-Reply"), result, headers);
      publish(reply, "+ACK");
    },
  });
  ask();
}
nats.write('CONNECT {"verbose":false,"headers":true}\r\n' + `SUB ${inbox} 1\r\n`, ask);
setInterval(ask, 1000);  // until millrace has created the consumer, there is no answer
let received = "";
nats.on("data", data => {
  received += data;
  for (;;) {
    const ping = /^PING\r\n/.exec(received);
    if (ping) { nats.write("PONG\r\n"); received = received.slice(ping[0].length); continue; }
    const line = /^[^\r]*\r\n/.exec(received)?.[0];
    if (!line) return;
    const words = line.trim().split(/ +/);
    if (words[0] !== "HMSG") { received = received.slice(line.length); continue; }
    const size = Number(words.at(-1)), of = Number(words.at(-2));
    if (received.length < line.length + size + 2) return;
    const message = received.slice(line.length, line.length + size);
    received = received.slice(line.length + size + 2);
    if (words.length === 6) take(words[3], message.slice(0, of), message.slice(of));
  }
});
nats.on("close", () => process.exit(0));
