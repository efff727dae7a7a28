// A story of a new namespace, by a client that is generated from the OpenAPI document: the
// types of all calls, bodies, answers and error codes come from api.d.ts, so a call that the
// document does not describe does not compile. Usage: node story.js PROGRAM, the program `millrace`.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";

import createClient from "openapi-fetch";

import type { components, paths } from "./api.js";

const PATIENCE_MS = 60_000;

const DEFINITION = `id: order
states:
  - id: wait
    type: consumeEvent
    event: {type: paid}
    transform: {paid: true}
`;

const asText = (body: unknown) => body as string;
const yaml = { bodySerializer: asText, headers: { "Content-Type": "application/yaml" } };

/// Starts `millrace dev` with a broker of its own; returns its URL and a function that ends it.
async function startMillrace(program: string) {
  const server = spawn(program, ["dev", "--listen", "127.0.0.1:0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  const url = await new Promise<string>((resolve, reject) => {
    server.on("error", reject);
    server.on("exit", (code) => reject(new Error(`millrace dev ended with ${code}: ${output}`)));
    server.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      const found = /MILLRACE_URL=(\S+)/.exec(output);
      if (found && output.includes("Ctrl-C stops millrace.")) resolve(found[1]);
    });
  });
  server.removeAllListeners("exit");
  const stop = async () => {
    const ended = once(server, "exit");
    server.kill("SIGTERM");
    await ended;
  };
  return { url, stop };
}

/// Repeats `look` until it returns something.
async function eventually<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    const found = await look();
    if (found !== undefined) return found;
  }
  throw new Error(`${what} did not happen within ${PATIENCE_MS / 1000} s`);
}

async function story(url: string) {
  const client = createClient<paths>({ baseUrl: url });
  const ns = { ns: "story" };
  const order = { ns: "story", workflow: "order" };

  /// Waits until the instance has that status.
  const reach = (instance: string, status: components["schemas"]["Instance"]["status"]) =>
    eventually(`${instance} becomes ${status}`, async () => {
      const { data } = await client.GET("/v1/ns/{ns}/instances/{instance}", {
        params: { path: { ...ns, instance } },
      });
      return data?.status === status ? data : undefined;
    });

  const created = await client.PUT("/v1/ns/{ns}", { params: { path: ns } });
  assert.equal(created.response.status, 201);
  assert.deepEqual(created.data, { name: "story", created: true });

  // A definition with a mistake is refused with the position of the mistake.
  const apply = (body: string) =>
    client.PUT("/v1/ns/{ns}/workflows/{workflow}", { params: { path: order }, body, ...yaml });
  const refused = await apply(DEFINITION.replace("transform", "transfrom"));
  assert.equal(refused.response.status, 422);
  assert.equal(refused.error?.code, "definition.refused");
  assert.equal(refused.error?.errors?.[0]?.code, "definition.unknown_key");
  assert.equal(refused.error?.errors?.[0]?.line, 6);
  assert.equal((await apply(DEFINITION)).data?.revision, 1);

  // A start with the same key starts no second instance.
  const start = (input: unknown, key: string) =>
    client.POST("/v1/ns/{ns}/workflows/{workflow}/start", {
      params: { path: order, header: { "Idempotency-Key": key } },
      body: input,
    });
  const first = await start({ customer: "c-42" }, "order-1");
  assert.equal(first.response.status, 201);
  const id = first.data?.id ?? assert.fail("the start has no id");
  const again = await start({ customer: "c-42" }, "order-1");
  assert.equal(again.response.status, 200);
  assert.equal(again.data?.id, id);
  assert.equal((await start({ customer: "c-43" }, "order-1")).error?.code, "start.conflict");

  // The instance waits for an event, gets it, and completes.
  await reach(id, "waiting");
  const waiting = await client.GET("/v1/ns/{ns}/instances", {
    params: { path: ns, query: { workflow: "order", status: "waiting", limit: 10 } },
  });
  assert.deepEqual(waiting.data?.items.map((one) => one.id), [id]);
  assert.equal(waiting.data?.next, null);
  const event: components["schemas"]["CloudEvent"] = {
    specversion: "1.0",
    id: "1",
    source: "/story",
    type: "paid",
    data: { amount: 7 },
  };
  const published = await client.POST("/v1/ns/{ns}/events", {
    params: { path: ns },
    body: event,
    headers: { "Content-Type": "application/cloudevents+json" },
  });
  assert.deepEqual(published.data, { accepted: 1, duplicates: 0 });
  const complete = await reach(id, "complete");
  assert.deepEqual(complete.output, { paid: true });
  const history = await client.GET("/v1/ns/{ns}/instances/{instance}/history", {
    params: { path: { ...ns, instance: id } },
  });
  const kinds = history.data?.items.map((one) => one.kind) ?? [];
  assert.ok(kinds.includes("woken") && kinds.at(-1) === "ended", kinds.join(", "));

  // Errors have codes.
  const nothing = await client.POST("/v1/ns/{ns}/events", {
    params: { path: ns },
    body: { ...event, specversion: "0.3" },
    headers: { "Content-Type": "application/cloudevents+json" },
  });
  assert.equal(nothing.error?.code, "event.specversion");
  const unknown = await client.GET("/v1/ns/{ns}/instances/{instance}", {
    params: { path: { ...ns, instance: "0190b5a4-7c1e-7f2a-8000-0123456789ab" } },
  });
  assert.equal(unknown.error?.code, "instance.not_found");

  // A second instance is cancelled, once.
  const second = (await start({}, "order-2")).data?.id ?? assert.fail("the start has no id");
  const cancel = () =>
    client.POST("/v1/ns/{ns}/instances/{instance}/cancel", {
      params: { path: { ...ns, instance: second }, query: { now: "1" } },
    });
  assert.deepEqual((await cancel()).data, { id: second, cancelled: true });
  assert.equal((await reach(second, "cancelled")).status, "cancelled");
  assert.equal((await cancel()).error?.code, "instance.ended");

  // Everything is deleted.
  const removed = await client.DELETE("/v1/ns/{ns}/instances/{instance}", {
    params: { path: { ...ns, instance: id } },
  });
  assert.deepEqual(removed.data, { id, deleted: true });
  const deleting = await client.POST("/v1/ns/{ns}/instances/delete", {
    params: { path: ns },
    body: { status: ["cancelled"] },
  });
  assert.deepEqual(deleting.data, { deleting: true });
  const workflow = await client.DELETE("/v1/ns/{ns}/workflows/{workflow}", {
    params: { path: order, query: { cancel: "1" } },
  });
  assert.equal(workflow.response.status, 200);
  const space = await client.DELETE("/v1/ns/{ns}", { params: { path: ns } });
  assert.equal(space.response.status, 200);
  const gone = await client.GET("/v1/ns/{ns}", { params: { path: ns } });
  assert.equal(gone.error?.code, "namespace.not_found");
}

const millrace = await startMillrace(process.argv[2]);
try {
  await story(millrace.url);
} finally {
  await millrace.stop();
}
