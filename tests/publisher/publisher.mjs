// Publishes orders as plain JSON to a stream, with the NATS client for node:
// publisher.mjs URL SUBJECT COUNT. Standard input has lines with a number: how many orders may be
// published so far. Standard output has lines `ACKNOWLEDGED REPEATED`: how many orders the stream
// has acknowledged, and how often an order was published again.
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { connect, headers, StringCodec } from "nats";

const [url, subject, count] = [process.argv[2], process.argv[3], Number(process.argv[4])];
const inFlight = 16;
const answerTime = 2000; // in milliseconds: after this time an order is published again
const lineTime = 20;

const connection = await connect({ servers: url, maxReconnectAttempts: -1, reconnectTimeWait: 50 });
const stream = connection.jetstream();
const text = StringCodec();

let allowed = 0;
let next = 0;
let acknowledged = 0;
let repeated = 0;
let last = ""; // the latest error
let wake = () => {};
let changed = new Promise(resolve => (wake = resolve));

async function publish(number) {
  const data = text.encode(JSON.stringify({ order: `o-${number}`, total: 7 }));
  for (;;) {
    try {
      await stream.publish(subject, data, { msgID: `order-${number}`, timeout: answerTime });
      acknowledged++;
      return;
    } catch (error) {
      last = `order-${number}: ${error.message}`;
      repeated++;
      await pause(10); // without a broker each attempt may fail at once
    }
  }
}

async function publishAllowed() {
  while (next < count) {
    if (next < allowed) await publish(next++);
    else await changed;
  }
}

let shown = "";
setInterval(() => {
  const line = `${acknowledged} ${repeated}\n`;
  if (line !== shown) process.stdout.write((shown = line));
  if (last !== "") console.error(last);
  last = "";
}, lineTime);

createInterface({ input: process.stdin })
  .on("line", line => {
    allowed = Number(line);
    wake();
    changed = new Promise(resolve => (wake = resolve));
  })
  .on("close", () => process.exit(0));

await Promise.all(Array.from({ length: inFlight }, publishAllowed));
