// Requests that the libraries of other services sign are accepted and start one instance each; forged ones get one and the
// same answer and start nothing. MILLRACE names the program.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { assertId, WEBHOOKS, newDelivery, now, SECRETS, signed } from "./deliveries.mjs";
import { forgeries } from "./forgeries.mjs";
import { mapSome, Server } from "./server.mjs";

const WORKFLOW = `id: delivered
start: {type: event, event: {type: delivered}}
states:
  - {id: done, type: noop}
`;
// The server holds a refusal back for 200 ms, and at most 64 refusals at a time; a further one gets no answer.
const AT_A_TIME = 32;

let server;
let accepted = 0; // deliveries so far, each of which starts one instance
let requests = 0; // requests so far that have a valid signature

before(async () => {
  server = await Server.start(process.env.MILLRACE);
  await server.call("PUT", "/v1/ns/shop", "{}");
  for (const [name, content] of Object.entries(SECRETS)) {
    await server.call("PUT", `/v1/ns/shop/secrets/${name}`, content, "application/octet-stream");
  }
  await server.call("PUT", "/v1/ns/shop/workflows/delivered", WORKFLOW, "application/yaml");
  await server.call("PUT", "/v1/ns/shop", JSON.stringify({ hooks: WEBHOOKS }));
});

after(() => server?.stop());

/** Sends a signed request, which must be accepted; returns the body of the answer. */
async function accept(request, what = request.webhook) {
  const answer = await server.deliver(request);
  ++requests;
  assert.equal(answer.status, 202, `${what}: ${answer.body}`);
  assertId(request, JSON.parse(answer.body).id);
  return answer.body;
}

/** A delivery that was not sent before, accepted. */
async function acceptNew(request, what) {
  const answer = await accept(request, what);
  ++accepted;
  return answer;
}

/**
 * Checks that each delivery has started one instance, and that nothing else did. Events are applied in their order, so a
 * further delivery is sent, and when its event is applied, those before it are.
 */
async function assertOneInstanceEach() {
  const { id } = JSON.parse(await acceptNew(await signed(newDelivery("git")), "the last delivery"));
  const isApplied = async () => (await server.get(`/v1/ns/shop/events?id=${id}`)).items.some((item) => item.applied);
  await server.eventually(`the event ${id} is applied`, isApplied);
  const { items } = await server.get("/v1/ns/shop/instances/count");
  assert.equal(items.reduce((sum, { count }) => sum + count, 0), accepted);
}

test("each form is accepted; a delivery that is sent again is answered as before and starts nothing", async () => {
  for (const webhook of Object.keys(WEBHOOKS)) {
    const delivery = newDelivery(webhook);
    const request = await signed(delivery);
    const answer = await acceptNew(request);
    assert.equal(await accept(request), answer, `${webhook}, the same request`);
    // Services sign a delivery anew when they send it again.
    const later = await signed(delivery, { at: now() + 60 });
    assert.equal(await accept({ ...later, headers: [...later.headers, ["X-Slack-Retry-Num", "1"]] }), answer, `${webhook}, signed again`);
  }
  await assertOneInstanceEach();
});

test("while a secret is replaced, signatures of both are accepted", async () => {
  await acceptNew(await signed(newDelivery("git"), { key: SECRETS["git-old"] }));
  const delivery = newDelivery("pay");
  const [ofNew, ofOld] = await Promise.all([signed(delivery), signed(delivery, { key: SECRETS["pay-old"] })]);
  const answer = await acceptNew(ofOld);
  // Stripe signs with both secrets, in one header.
  const both = `${ofNew.headers.at(-1)[1]},${ofOld.headers.at(-1)[1].split(",").at(-1)}`;
  assert.equal(await accept({ ...ofNew, headers: [["Stripe-Signature", both]] }), answer);
  await assertOneInstanceEach();
});

test("Svix's names of the headers are accepted", async () => {
  await acceptNew(await signed(newDelivery("standard"), { prefix: "svix" }));
  await assertOneInstanceEach();
});

test("Slack's challenge is answered, and starts nothing", async () => {
  const body = '{"type": "url_verification", "token": "t", "challenge": "3eZbrw1aB10"}';
  const answer = await server.deliver(await signed({ ...newDelivery("chat"), body }));
  ++requests;
  assert.deepEqual([answer.status, answer.body], [200, "3eZbrw1aB10"]);
  await assertOneInstanceEach();
});

test("forged requests get the same answer and start nothing; without the mistake they are accepted", async () => {
  assert.ok(forgeries.length >= 40, `${forgeries.length} forgeries`);
  const all = [...forgeries, { webhook: "git", name: "the token of the server", forge: withToken }];
  const deliveries = all.map(({ webhook }) => newDelivery(webhook));
  const answers = await mapSome([...all.keys()], AT_A_TIME, async (i) => server.deliver(await all[i].forge(deliveries[i])));
  const { code, detail } = JSON.parse(answers[0].body);
  assert.deepEqual([answers[0].status, code], [401, "hooks.refused"]);
  assert.doesNotMatch(detail, /stamp|secret is|twice|missing|namespace/);
  for (const [i, { webhook, name }] of all.entries()) {
    const what = `${webhook}, ${name}`;
    assert.deepEqual(withoutDate(answers[i]), withoutDate(answers[0]), what);
  }
  await assertOneInstanceEach();
  await mapSome(deliveries, AT_A_TIME, async (delivery) => acceptNew(await signed(delivery), "the delivery of a forgery"));
  await assertOneInstanceEach();
  await assertCounted(all.length);
});

async function withToken(delivery) {
  return { ...delivery, headers: [["Authorization", `Bearer ${server.token}`]] };
}

function withoutDate({ status, headers: { date, ...headers }, body }) {
  return { status, headers, body };
}

/** Checks the metrics, and that the event stream has the events of the accepted requests only. */
async function assertCounted(refused) {
  const metrics = await server.call("GET", "/metrics");
  const counted = (signature) => Number(new RegExp(`millrace_inbound_webhooks_total\\{signature="${signature}"\\} (\\d+)`).exec(metrics)[1]);
  assert.deepEqual([counted("valid"), counted("refused")], [requests, refused]);
  const { items } = await server.get("/v1/ns/shop/events?limit=500");
  assert.equal(new Set(items.map(({ source, id }) => `${source} ${id}`)).size, accepted);
}
