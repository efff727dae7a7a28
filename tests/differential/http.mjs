// HTTP requests, valid ones and those that smuggle a request past a proxy, compared with the parser of node: how many
// requests a text has, where each ends, and whether it is refused.
import { createServer, METHODS } from "node:http";
import { connect } from "node:net";

export const kind = "http";

const HOST = "Host: a\r\n";
const SECOND = "GET /second HTTP/1.1\r\nHost: a\r\n\r\n";

function post(headers, body) {
  return `POST /first HTTP/1.1\r\n${HOST}${headers}\r\n${body}`;
}

function get(line, headers = HOST) {
  return `${line}\r\n${headers}\r\n`;
}

// Names and texts. Where a text could hide a second request, SECOND follows.
const FIXED = {
  "a request": get("GET /first HTTP/1.1"),
  "two requests": get("GET /first HTTP/1.1") + SECOND,
  "a body with its length": post("Content-Length: 3\r\n", "abc") + SECOND,
  "a body in chunks": post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n") + SECOND,
  "no body": post("Content-Length: 0\r\n", "") + SECOND,
  "close": get("GET /first HTTP/1.1", HOST + "Connection: close\r\n") + SECOND,
  "HTTP/1.0": get("GET /first HTTP/1.0") + SECOND,
  "HTTP/1.0 without a host": get("GET /first HTTP/1.0", "") + SECOND,
  "HTTP/1.0 that stays open": get("GET /first HTTP/1.0", HOST + "Connection: keep-alive\r\n") + SECOND,
  "a length and chunks": post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n") + SECOND,
  "chunks and a length": post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n") + SECOND,
  "two equal lengths": post("Content-Length: 3\r\nContent-Length: 3\r\n", "abc") + SECOND,
  "two lengths": post("Content-Length: 3\r\nContent-Length: 0\r\n", "abc") + SECOND,
  "two lengths in one header": post("Content-Length: 3, 3\r\n", "abc") + SECOND,
  "a length with a sign": post("Content-Length: +3\r\n", "abc") + SECOND,
  "a negative length": post("Content-Length: -3\r\n", "abc") + SECOND,
  "a length in hexadecimal": post("Content-Length: 0x3\r\n", "abc") + SECOND,
  "a length with white space": post("Content-Length: 3 3\r\n", "abc") + SECOND,
  "a length with white space around it": post("Content-Length: \t 3 \t\r\n", "abc") + SECOND,
  "an empty length": post("Content-Length: \r\n", "") + SECOND,
  "a length beyond 64 bits": post("Content-Length: 18446744073709551619\r\n", "abc") + SECOND,
  "white space before the colon of a length": post("Content-Length : 3\r\n", "abc") + SECOND,
  "a folded length": post("Content-Length:\r\n 3\r\n", "abc") + SECOND,
  "a folded header": get("GET /first HTTP/1.1", HOST + "X: a\r\n b\r\n") + SECOND,
  "a folded first header": get("GET /first HTTP/1.1", " X: a\r\n" + HOST) + SECOND,
  "a length of another name": post("Content_Length: 3\r\n", "") + SECOND,
  "gzip and chunked": post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n") + SECOND,
  "chunked and identity": post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n") + SECOND,
  "identity": post("Transfer-Encoding: identity\r\n", "") + SECOND,
  "chunked twice": post("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n") + SECOND,
  "two headers of chunks": post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n") + SECOND,
  "chunked in capitals": post("Transfer-Encoding: CHUNKED\r\n", "0\r\n\r\n") + SECOND,
  "chunked in quotes": post('Transfer-Encoding: "chunked"\r\n', "0\r\n\r\n") + SECOND,
  "chunked after a vertical tab": post("Transfer-Encoding: \vchunked\r\n", "0\r\n\r\n") + SECOND,
  "xchunked": post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n") + SECOND,
  "chunks with white space before the colon": post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n") + SECOND,
  "folded chunks": post("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n") + SECOND,
  "an empty encoding": post("Transfer-Encoding: \r\n", "") + SECOND,
  "chunks in HTTP/1.0": `POST /first HTTP/1.0\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n` + SECOND,
  "chunks with extensions": post("Transfer-Encoding: chunked\r\n", "3;a=b;c\r\nabc\r\n0\r\n\r\n") + SECOND,
  "chunks with trailers": post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\nX: a\r\n\r\n") + SECOND,
  "chunks with a length as trailer": post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\nContent-Length: 9\r\n\r\n") + SECOND,
  "a chunk of 0x3": post("Transfer-Encoding: chunked\r\n", "0x3\r\nabc\r\n0\r\n\r\n") + SECOND,
  "a chunk of +3": post("Transfer-Encoding: chunked\r\n", "+3\r\nabc\r\n0\r\n\r\n") + SECOND,
  "a chunk of 003": post("Transfer-Encoding: chunked\r\n", "003\r\nabc\r\n0\r\n\r\n") + SECOND,
  "a chunk with white space after its size": post("Transfer-Encoding: chunked\r\n", "3 \r\nabc\r\n0\r\n\r\n") + SECOND,
  "a chunk with white space before its size": post("Transfer-Encoding: chunked\r\n", " 3\r\nabc\r\n0\r\n\r\n") + SECOND,
  "a chunk without a size": post("Transfer-Encoding: chunked\r\n", "\r\nabc\r\n0\r\n\r\n") + SECOND,
  "a chunk beyond 64 bits": post("Transfer-Encoding: chunked\r\n", "10000000000000003\r\nabc\r\n0\r\n\r\n") + SECOND,
  "a chunk that is too short": post("Transfer-Encoding: chunked\r\n", "3\r\nab\r\n0\r\n\r\n") + SECOND,
  "a chunk that is too long": post("Transfer-Encoding: chunked\r\n", "3\r\nabcd\r\n0\r\n\r\n") + SECOND,
  "a chunk that ends with a line feed": post("Transfer-Encoding: chunked\r\n", "3\r\nabc\n0\r\n\r\n") + SECOND,
  "a size that ends with a line feed": post("Transfer-Encoding: chunked\r\n", "3\nabc\r\n0\r\n\r\n") + SECOND,
  "an extension that ends with a line feed": post("Transfer-Encoding: chunked\r\n", "3;a\nabc\r\n0\r\n\r\n") + SECOND,
  "an extension with a line feed within": post("Transfer-Encoding: chunked\r\n", "3;a\nb\r\nabc\r\n0\r\n\r\n") + SECOND,
  "a last chunk that ends with line feeds": post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\n\n") + SECOND,
  "a last chunk of 00": post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n00\r\n\r\n") + SECOND,
  "chunks without an end": post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n"),
  "a body without its end": post("Content-Length: 9\r\n", "abc"),
  "a head without its end": "GET /first HTTP/1.1\r\nHost: a\r\n",
  "a line without its end": "GET /first",
  "line feeds": "GET /first HTTP/1.1\nHost: a\n\n" + SECOND,
  "a line feed after a header": "GET /first HTTP/1.1\r\nHost: a\nX: b\r\n\r\n" + SECOND,
  "a line feed after the request line": "GET /first HTTP/1.1\nHost: a\r\n\r\n" + SECOND,
  "a carriage return after a header": "GET /first HTTP/1.1\r\nHost: a\rX: b\r\n\r\n" + SECOND,
  "a carriage return in a value": get("GET /first HTTP/1.1", HOST + "X: a\rb\r\n") + SECOND,
  "a head that ends with a line feed": "GET /first HTTP/1.1\r\nHost: a\r\n\n" + SECOND,
  "a NUL in a value": get("GET /first HTTP/1.1", HOST + "X: a\0b\r\n") + SECOND,
  "a NUL in a name": get("GET /first HTTP/1.1", HOST + "X\0: a\r\n") + SECOND,
  "a NUL in the target": get("GET /first\0 HTTP/1.1") + SECOND,
  "a control character in a value": get("GET /first HTTP/1.1", HOST + "X: a\x01b\r\n") + SECOND,
  "a DEL in a value": get("GET /first HTTP/1.1", HOST + "X: a\x7fb\r\n") + SECOND,
  "a tab in a value": get("GET /first HTTP/1.1", HOST + "X: a\tb\r\n") + SECOND,
  "Latin 1 in a value": get("GET /first HTTP/1.1", HOST + "X: \xe4\r\n") + SECOND,
  "Latin 1 in a name": get("GET /first HTTP/1.1", HOST + "\xe4: a\r\n") + SECOND,
  "Latin 1 in the target": get("GET /\xe4 HTTP/1.1") + SECOND,
  "an empty name": get("GET /first HTTP/1.1", HOST + ": a\r\n") + SECOND,
  "a header without a colon": get("GET /first HTTP/1.1", HOST + "X\r\n") + SECOND,
  "an empty value": get("GET /first HTTP/1.1", HOST + "X:\r\n") + SECOND,
  "white space in a name": get("GET /first HTTP/1.1", HOST + "X Y: a\r\n") + SECOND,
  "white space before a colon": get("GET /first HTTP/1.1", HOST + "X : a\r\n") + SECOND,
  "brackets in a name": get("GET /first HTTP/1.1", HOST + "X(a): a\r\n") + SECOND,
  "no host": get("GET /first HTTP/1.1", "") + SECOND,
  "an empty host": get("GET /first HTTP/1.1", "Host: \r\n") + SECOND,
  "two hosts": get("GET /first HTTP/1.1", HOST + "Host: b\r\n") + SECOND,
  "two equal hosts": get("GET /first HTTP/1.1", HOST + HOST) + SECOND,
  "a host with a path": get("GET /first HTTP/1.1", "Host: a/b\r\n") + SECOND,
  "a host with a user": get("GET /first HTTP/1.1", "Host: x@a\r\n") + SECOND,
  "two hosts in one header": get("GET /first HTTP/1.1", "Host: a, b\r\n") + SECOND,
  "an absolute target": get("GET http://a/first HTTP/1.1") + SECOND,
  "an absolute target of another host": get("GET http://b/first HTTP/1.1") + SECOND,
  "two headers of authorization": get("GET /first HTTP/1.1", HOST + "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n") + SECOND,
  "two content types": post("Content-Length: 1\r\nContent-Type: text/plain\r\nContent-Type: text/html\r\n", "a") + SECOND,
  "an empty line before": "\r\n" + get("GET /first HTTP/1.1") + SECOND,
  "two empty lines before": "\r\n\r\n" + get("GET /first HTTP/1.1") + SECOND,
  "a line feed before": "\n" + get("GET /first HTTP/1.1") + SECOND,
  "an empty line between": get("GET /first HTTP/1.1") + "\r\n" + SECOND,
  "white space before the request line": " " + get("GET /first HTTP/1.1") + SECOND,
  "two spaces before the target": get("GET  /first HTTP/1.1") + SECOND,
  "two spaces before the version": get("GET /first  HTTP/1.1") + SECOND,
  "a tab before the target": get("GET\t/first HTTP/1.1") + SECOND,
  "white space after the version": get("GET /first HTTP/1.1 ") + SECOND,
  "a target with white space": get("GET /fi rst HTTP/1.1") + SECOND,
  "no target": get("GET HTTP/1.1") + SECOND,
  "an empty target": get("GET  HTTP/1.1") + SECOND,
  "a target without a slash": get("GET first HTTP/1.1") + SECOND,
  "a target of *": get("GET * HTTP/1.1") + SECOND,
  "OPTIONS *": get("OPTIONS * HTTP/1.1") + SECOND,
  "a target with a fragment": get("GET /first#a HTTP/1.1") + SECOND,
  "a target with quotes": get('GET /"first" HTTP/1.1') + SECOND,
  "a target with a backslash": get("GET /\\first HTTP/1.1") + SECOND,
  "no version": "GET /first\r\n\r\n" + SECOND,
  "HTTP/0.9": get("GET /first HTTP/0.9") + SECOND,
  "HTTP/1.2": get("GET /first HTTP/1.2") + SECOND,
  "HTTP/2.0": get("GET /first HTTP/2.0") + SECOND,
  "HTTP/1.10": get("GET /first HTTP/1.10") + SECOND,
  "HTTP/01.1": get("GET /first HTTP/01.1") + SECOND,
  "http/1.1": get("GET /first http/1.1") + SECOND,
  "the preface of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "a method in lower case": get("get /first HTTP/1.1") + SECOND,
  "an unknown method": get("FETCH /first HTTP/1.1") + SECOND,
  "a method with a bracket": get("G(T /first HTTP/1.1") + SECOND,
  "CONNECT": get("CONNECT a:1 HTTP/1.1") + SECOND,
  "an upgrade": get("GET /first HTTP/1.1", HOST + "Connection: upgrade\r\nUpgrade: websocket\r\n") + SECOND,
  "an upgrade to HTTP/2": get("GET /first HTTP/1.1", HOST + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n") + SECOND,
  "a body of GET": `GET /first HTTP/1.1\r\n${HOST}Content-Length: ${SECOND.length}\r\n\r\n${SECOND}`,
  "a body of HEAD": `HEAD /first HTTP/1.1\r\n${HOST}Content-Length: 3\r\n\r\nabc` + SECOND,
  "100-continue": post("Content-Length: 3\r\nExpect: 100-continue\r\n", "abc") + SECOND,
  "another expectation": post("Content-Length: 3\r\nExpect: a\r\n", "abc") + SECOND,
  "close and keep-alive": get("GET /first HTTP/1.1", HOST + "Connection: keep-alive, close\r\n") + SECOND,
  "close in capitals": get("GET /first HTTP/1.1", HOST + "Connection: CLOSE\r\n") + SECOND,
  "an empty text": "",
  "bytes of TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
  "headers of 20 KB": get("GET /first HTTP/1.1", HOST + `X: ${"a".repeat(20000)}\r\n`) + SECOND,
  "a target of 9 KB": get(`GET /${"a".repeat(9000)} HTTP/1.1`) + SECOND,
  "150 headers": get("GET /first HTTP/1.1", HOST + Array.from({ length: 150 }, (_, i) => `X-${i}: a\r\n`).join("")) + SECOND,
};

export function cases(random, count) {
  const all = Object.entries(FIXED).map(([name, text]) => ({ name, text, classes: classes(text) }));
  const valid = ["two requests", "a body with its length", "a body in chunks", "chunks with extensions", "chunks with trailers", "close", "HTTP/1.0"];
  for (let i = 0; i < count; ++i) {
    const text = random.damaged(FIXED[random.pick(valid)], "\r\n\r\n\t :;,0123abCX/\0\x7f\xe4\"");
    all.push({ name: text, text, classes: classes(text) });
  }
  return all;
}

/** The properties of a text for which the two sides are decided to differ. */
function classes(text) {
  const found = [];
  if (/^[\r\n]|\n\r\n\r?\n|\r\n\r\n\r/.test(text)) found.push("an empty line before a request");
  if (/[\x80-\xff]/.test(text)) found.push("bytes beyond ASCII");
  if (text.split("\r\nHost: a\r\n").length !== 3) found.push("another host");
  if (/(GET|POST) [^ \r\n]+\r\n/.test(text)) found.push("a request line without a version");
  if (/(GET|POST) ( |[^\r\n]* {2})/.test(text)) found.push("two spaces in a request line");
  if (/HTTP\/(0\.9|2\.0)\r\n/.test(text)) found.push("HTTP/0.9 and HTTP/2.0");
  if (/Transfer-Encoding:(?! chunked\r\n)/.test(text)) found.push("an encoding other than chunked");
  if (/HTTP\/1\.0\r\n(.+\r\n)*Transfer-Encoding:/.test(text)) found.push("chunks in HTTP/1.0");
  if (/Connection:(?! close\r\n)/.test(text)) found.push("a Connection header other than close");
  if (/Content-Length:(?! [03]\r\n)/.test(text)) found.push("a length that ends within the next request");
  if (/Content-Length:[^\r\n]*[ \t]\r\n/.test(text)) found.push("white space after a length");
  if (/^[0-9a-f]+;(?!a=b;c\r\n)/m.test(text)) found.push("an extension of a chunk");
  return found;
}

/** The properties of the requests that millrace takes for which the two sides are decided to differ. */
function classesOf(requests) {
  const found = new Set();
  for (const { method, target } of requests) {
    const text = Buffer.from(target, "base64").toString("latin1");
    if (!METHODS.includes(method)) found.add("an unknown method");
    if (!/^[/*]|^https?:/.test(text)) found.add("a target without a slash");
    if (/[^!-~]/.test(text)) found.add("a target beyond ASCII");
  }
  return [...found];
}

const QUIET = 2000; // milliseconds without an answer after which a connection is closed

let server = null;
let current = null;

async function started() {
  if (server !== null) return;
  server = createServer({ keepAlive: true }, (request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      current.requests.push({
        method: request.method,
        target: Buffer.from(request.url, "latin1").toString("base64"),
        body: Buffer.concat(parts).toString("base64"),
      });
      if (!response.shouldKeepAlive) current.end = "closed";
      response.end();
    });
    request.on("error", () => {});
  });
  server.on("connect", (request, socket) => {
    current.requests.push({ method: request.method, target: Buffer.from(request.url, "latin1").toString("base64"), body: "" });
    current.end = "closed";
    socket.end();
  });
  server.on("clientError", (error, socket) => {
    // The end of the text within a request.
    current.end = error.code === "HPE_INVALID_EOF_STATE" || error.code === "ECONNRESET" ? "incomplete" : "refused";
    socket.destroy();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
}

/** What node takes of a text: the same form as the answer of the probe. */
async function read(text) {
  await started();
  current = { requests: [], end: null };
  const mine = current;
  const statuses = [];
  await new Promise((resolve) => {
    const socket = connect(server.address().port, "127.0.0.1", () => socket.end(Buffer.from(text, "latin1")));
    socket.setTimeout(QUIET, () => socket.destroy());
    socket.on("data", (part) => statuses.push(...part.toString("latin1").matchAll(/HTTP\/1\.1 (\d+)/g)));
    socket.on("error", () => {});
    socket.on("close", resolve);
  });
  // A refusal by the server itself, such as that of a request without a host, is an answer only.
  const isRefused = statuses.some(([, status]) => status.startsWith("4"));
  return { ok: { requests: mine.requests, end: mine.end ?? (isRefused ? "refused" : "done") } };
}

export async function compare({ text }, probe) {
  const ours = await probe.ask({ kind, bytes: Buffer.from(text, "latin1").toString("base64") });
  return { ours: readable(ours), theirs: readable(await read(text)), classes: classesOf(ours.ok?.requests ?? []) };
}

function readable({ ok, error }) {
  if (error !== undefined) return { error };
  const text = (base64) => Buffer.from(base64, "base64").toString("latin1");
  const requests = ok.requests.map(({ method, target, body }) => `${method} ${text(target)} ${JSON.stringify(text(body))}`);
  // A text that is refused and one that never ends are the same for the requests behind it.
  return ok.end === "refused" || ok.end === "incomplete" ? { taken: requests, error: ok.end } : { ok: requests };
}
