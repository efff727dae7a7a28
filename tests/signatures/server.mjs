// `millrace dev` with a token and a broker of its own, and requests with the headers exactly as they are given.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PATIENCE_MS = 60_000;

/** Sends a request on a connection of its own; returns status, headers and body. A header that is given twice is sent twice. */
export async function send(url, { method = "POST", headers = [], body = "" }) {
  const bytes = Buffer.from(body);
  const all = [["Host", new URL(url).host], ...headers, ["Content-Length", String(bytes.length)], ["Connection", "close"]];
  const sent = httpRequest(url, { method, headers: all.flat(), agent: false });
  sent.end(bytes);
  const [response] = await once(sent, "response");
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  return { status: response.statusCode, headers: response.headers, body: text };
}

export class Server {
  /** Starts the program `millrace`, and waits until it answers. */
  static async start(program) {
    const server = new Server();
    server.folder = mkdtempSync(join(tmpdir(), "millrace-signatures-"));
    server.token = "b1946ac92492d2347c6235b4d2611184";
    writeFileSync(join(server.folder, "token"), server.token, { mode: 0o600 });
    const words = ["dev", "--listen", "127.0.0.1:0", "--token-file", join(server.folder, "token")];
    server.process = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"], cwd: server.folder, env: { ...process.env, MILLRACE_URL: "" } });
    let log = "";
    server.url = await new Promise((done, fail) => {
      const read = (text) => {
        log += text;
        const found = /MILLRACE_URL=(\S+)/.exec(log);
        if (found && log.includes("Ctrl-C stops millrace.")) done(found[1]);
      };
      for (const pipe of [server.process.stdout, server.process.stderr]) pipe.setEncoding("utf8").on("data", read);
      server.process.on("error", fail);
      server.process.on("exit", (code) => fail(new Error(`millrace dev ended with ${code}: ${log}`)));
    });
    return server;
  }

  async stop() {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      const ended = once(this.process, "exit");
      this.process.kill("SIGTERM");
      await ended;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Calls the API with the token; returns the text of the answer. Throws if the status is not 2xx. */
  async call(method, path, body, type = "application/json") {
    const headers = [["Authorization", `Bearer ${this.token}`], ["Content-Type", type]];
    const answer = await send(this.url + path, { method, headers, body });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
    return answer.body;
  }

  async get(path) {
    return JSON.parse(await this.call("GET", path));
  }

  /** Sends a delivery to its inbound webhook, without the token. */
  deliver({ ns = "shop", webhook, query = "", headers, body }) {
    return send(`${this.url}/v1/ns/${ns}/hooks/${webhook}${query}`, { headers, body });
  }

  /** Repeats `look` until it returns true. */
  async eventually(what, look) {
    const end = Date.now() + PATIENCE_MS;
    while (!(await look())) {
      if (Date.now() > end) throw new Error(`${what} not within ${PATIENCE_MS / 1000} s`);
    }
  }
}

/** Maps each item by an asynchronous function, at most `count` of them at a time. */
export async function mapSome(items, count, map) {
  const results = new Array(items.length);
  let next = 0;
  const work = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await map(items[index]);
    }
  };
  await Promise.all(Array.from({ length: count }, work));
  return results;
}
