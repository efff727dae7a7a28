// The program probe.cc as a function: one question, one answer.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

export class Probe {
  constructor(program) {
    this.process = spawn(program, [], { stdio: ["pipe", "pipe", "inherit"] });
    this.waiting = [];
    this.failure = null;
    this.process.on("error", (error) => this.fail(error.message));
    this.process.on("exit", (code, signal) => this.fail(`the probe ended (${signal ?? code})`));
    this.process.stdin.on("error", () => {});
    createInterface({ input: this.process.stdout }).on("line", (line) => this.waiting.shift()?.resolve(JSON.parse(line)));
  }

  /** The answer to a question: {ok} or {error}, or what the kind of question says. */
  async ask(question) {
    if (this.failure !== null) throw new Error(this.failure);
    const answer = await new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      this.process.stdin.write(JSON.stringify(question) + "\n");
    });
    if (String(answer.error).startsWith("probe: ")) throw new Error(`${answer.error} at ${JSON.stringify(question)}`);
    return answer;
  }

  fail(message) {
    this.failure = message;
    for (const { reject } of this.waiting.splice(0)) reject(new Error(message));
  }

  close() {
    this.process.stdin.end();
  }
}
