// Requests to inbound webhooks, signed by the libraries of the services. Slack has no library that signs, only one that
// checks: its requests are signed here, and must pass that check. The forms that belong to no service are signed here too.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";

import { sign as signForGithub } from "@octokit/webhooks-methods";
import { verifySlackRequest } from "@slack/bolt";
import { Webhook } from "standardwebhooks";
import Stripe from "stripe";

/** The content of the secrets, by their names. `old` ones are valid while a service goes over to the new ones. */
export const SECRETS = {
  "git": "It's a Secret to Everybody",
  "git-old": "the secret of last year",
  "pay": "whsec_c2lnbmluZy1zZWNyZXQtb2YtcGF5",
  "pay-old": "whsec_bGFzdC15ZWFy",
  "chat": "8f742231b10e8888abcd99yyyzzz85a5",
  "standard": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  "general": "a key for HMAC with SHA-512",
  "shared": "0123456789abcdef0123456789abcdef",
  "basic": "pass:word",
};

/** The inbound webhooks, by their names: each event has the type `delivered`. */
export const WEBHOOKS = Object.fromEntries(Object.entries({
  git: { form: "github", secrets: ["git", "git-old"] },
  pay: { form: "stripe", secrets: ["pay", "pay-old"] },
  chat: { form: "slack", secrets: ["chat"] },
  standard: { form: "standard", secrets: ["standard"] },
  general: { form: "hmac", secrets: ["general"], header: "X-Signature", algorithm: "sha512", encoding: "base64", prefix: "v7 ", timeHeader: "X-Time", separator: ":" },
  shared: { form: "header", secrets: ["shared"], header: "X-Secret" },
  basic: { form: "basic", secrets: ["basic"], user: "shop" },
}).map(([name, verify]) => [name, { verify, mapping: { type: "delivered", subject: "jq(.hook)" } }]));

/** Now, in seconds since 1970. */
export const now = () => Math.floor(Date.now() / 1000);

const authorization = (user, password) => `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

/**
 * The signed headers of a request, for each inbound webhook: `body` as text, `key` the secret, `at` the time stamp in
 * seconds, `id` that of the delivery (Standard Webhooks).
 */
export const SIGN = {
  git: async (body, { key = SECRETS.git }) => [["X-Hub-Signature-256", await signForGithub(key, body)]],
  pay: async (body, { key = SECRETS.pay, at = now(), scheme = "v1" }) =>
    [["Stripe-Signature", Stripe.webhooks.generateTestHeaderString({ payload: body, secret: key, timestamp: at, scheme })]],
  chat: async (body, { key = SECRETS.chat, at = now() }) => {
    const signature = `v0=${createHmac("sha256", key).update(`v0:${at}:${body}`).digest("hex")}`;
    // The check of the library, at the time of the stamp.
    verifySlackRequest({ signingSecret: key, body, headers: { "x-slack-signature": signature, "x-slack-request-timestamp": at }, nowMilliseconds: at * 1000 });
    return [["X-Slack-Request-Timestamp", String(at)], ["X-Slack-Signature", signature]];
  },
  standard: async (body, { key = SECRETS.standard, at = now(), id, prefix = "webhook" }) =>
    [[`${prefix}-id`, id], [`${prefix}-timestamp`, String(at)], [`${prefix}-signature`, new Webhook(key).sign(id, new Date(at * 1000), body)]],
  general: async (body, { key = SECRETS.general, at = now(), algorithm = "sha512", encoding = "base64", separator = ":" }) =>
    [["X-Time", String(at)], ["X-Signature", `v7 ${createHmac(algorithm, key).update(`${at}${separator}${body}`).digest(encoding)}`]],
  shared: async (body, { key = SECRETS.shared }) => [["X-Secret", key]],
  basic: async (body, { key = SECRETS.basic, user = "shop" }) => [["Authorization", authorization(user, key)]],
};

let made = 0;

/** A delivery that was never sent. Its body has the bytes that a reader must not change: spaces, UTF-8, an escape. */
export function newDelivery(webhook) {
  const number = ++made;
  const body = `{"id": "evt_${number}",  "event_id":"Ev_${number}", "type":"payment", "text": "Größe 👟 \\u00e9", "sum": 1.50}\n`;
  return { webhook, body, id: `msg_${number}`, number };
}

/** The delivery with headers that are signed with `options` (SIGN). */
export async function signed(delivery, options = {}) {
  const headers = await SIGN[delivery.webhook](delivery.body, { id: delivery.id, ...options });
  return { ...delivery, headers: [["Content-Type", "application/json"], ...headers] };
}

/** Whether the id in an answer is the one that the service gave the delivery, or a hash of its body. */
export function assertId(delivery, id) {
  const given = { pay: `evt_${delivery.number}`, chat: `Ev_${delivery.number}`, standard: delivery.id }[delivery.webhook];
  if (given === undefined) return assert.match(id, /^[0-9a-f]{32}$/);
  assert.equal(id, given);
}
