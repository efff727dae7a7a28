// Forged requests: each is a signed delivery with one mistake, so the same delivery without the mistake is accepted.
import { createHash, createHmac } from "node:crypto";

import { now, SECRETS, signed } from "./deliveries.mjs";

const OUTSIDE_THE_WINDOW = 400; // seconds; the window is 300 s

/** The request with other values of a header: `change` gets the value, and returns one, several, or none. */
function withHeader(request, name, change) {
  const headers = request.headers.flatMap(([other, value]) => (other === name ? [change(value)].flat().map((one) => [other, one]) : [[other, value]]));
  return { ...request, headers };
}

/** A forgery of a delivery that was signed with other options than the right ones. */
const withOptions = (options) => (delivery) => signed(delivery, options);

/** A forgery that changes one header of a signed delivery. */
const withChange = (name, change) => async (delivery) => withHeader(await signed(delivery), name, (value) => change(value, delivery));

/** A forgery that sends another body under the headers of a signed delivery. */
const withBody = (change) => async (delivery) => ({ ...(await signed(delivery)), body: change(delivery.body) });

/** A forgery that sends a signed delivery to another place. */
const withPlace = (place) => async (delivery) => ({ ...(await signed(delivery)), ...place });

const GIT = "X-Hub-Signature-256";
const PAY = "Stripe-Signature";
const CHAT = "X-Slack-Signature";
const CHAT_TIME = "X-Slack-Request-Timestamp";

const ofGit = (algorithm, key, encoding = "hex") => (value, delivery) => `sha256=${createHmac(algorithm, key).update(delivery.body).digest(encoding)}`;
const firstDigitChanged = (value) => value.replace(/=(.)/, (match, digit) => `=${digit === "0" ? "1" : "0"}`);
const old = () => now() - OUTSIDE_THE_WINDOW;
const future = () => now() + OUTSIDE_THE_WINDOW;

const FORGERIES = {
  git: {
    "another key": withOptions({ key: "another" }),
    "the key of another inbound webhook": withOptions({ key: SECRETS.pay }),
    "the key with a line feed": withOptions({ key: `${SECRETS.git}\n` }),
    "an empty key": withChange(GIT, ofGit("sha256", "")),
    "no key, a hash": withChange(GIT, (value, { body }) => `sha256=${createHash("sha256").update(body).digest("hex")}`),
    "a changed body": withBody((body) => body.replace("1.50", "9.50")),
    "a body of the same JSON value": withBody((body) => JSON.stringify(JSON.parse(body))),
    "a body without its line feed": withBody((body) => body.trimEnd()),
    "a body with a line feed more": withBody((body) => `${body}\n`),
    "an empty body": withBody(() => ""),
    "the body in UTF-16": withBody((body) => Buffer.from(body, "utf16le")),
    "the signature of an empty body": withChange(GIT, () => `sha256=${createHmac("sha256", SECRETS.git).digest("hex")}`),
    "SHA-1": withChange(GIT, (value, { body }) => `sha1=${createHmac("sha1", SECRETS.git).update(body).digest("hex")}`),
    "SHA-1 under its own name": async (delivery) => {
      const request = await signed(delivery);
      const sha1 = `sha1=${createHmac("sha1", SECRETS.git).update(delivery.body).digest("hex")}`;
      return { ...request, headers: [["X-Hub-Signature", sha1], ...request.headers.filter(([name]) => name !== GIT)] };
    },
    "SHA-512": withChange(GIT, ofGit("sha512", SECRETS.git)),
    "the first half of SHA-512": withChange(GIT, (value, delivery) => ofGit("sha512", SECRETS.git)(value, delivery).slice(0, 71)),
    "Base64": withChange(GIT, ofGit("sha256", SECRETS.git, "base64")),
    "capitals": withChange(GIT, (value) => `sha256=${value.slice(7).toUpperCase()}`),
    "no prefix": withChange(GIT, (value) => value.slice(7)),
    "a changed digit": withChange(GIT, firstDigitChanged),
    "a byte less": withChange(GIT, (value) => value.slice(0, -2)),
    "a digit less": withChange(GIT, (value) => value.slice(0, -1)),
    "a byte more": withChange(GIT, (value) => `${value}00`),
    "the prefix alone": withChange(GIT, () => "sha256="),
    "an empty header": withChange(GIT, () => ""),
    "no header": withChange(GIT, () => []),
    "the header twice": withChange(GIT, (value) => [value, value]),
    "the header with a wrong one before it": withChange(GIT, (value) => [firstDigitChanged(value), value]),
    "the header with a wrong one behind it": withChange(GIT, (value) => [value, firstDigitChanged(value)]),
    "two signatures in one header": withChange(GIT, (value) => `${value}, ${value}`),
    "the signature as a parameter of the URL": async (delivery) => {
      const request = withHeader(await signed(delivery), GIT, () => []);
      return { ...request, query: `?${GIT}=${(await signed(delivery)).headers.at(-1)[1]}` };
    },
    "another inbound webhook": withPlace({ webhook: "pay" }),
    "an inbound webhook that does not exist": withPlace({ webhook: "none" }),
    "a name in capitals": withPlace({ webhook: "GIT" }),
    "a namespace that does not exist": withPlace({ ns: "none" }),
    "a namespace without inbound webhooks": withPlace({ ns: "default" }),
  },
  pay: {
    "another key": withOptions({ key: "whsec_another" }),
    "the key without its prefix": withOptions({ key: SECRETS.pay.slice("whsec_".length) }),
    "a changed body": withBody((body) => body.replace("1.50", "9.50")),
    "an old stamp": (delivery) => signed(delivery, { at: old() }),
    "a future stamp": (delivery) => signed(delivery, { at: future() }),
    "a new stamp before an old signature": async (delivery) => withHeader(await signed(delivery, { at: old() }), PAY, (value) => value.replace(/t=\d+/, `t=${now()}`)),
    "two stamps": async (delivery) => withHeader(await signed(delivery, { at: old() }), PAY, (value) => `t=${now()},${value}`),
    "a stamp in milliseconds": (delivery) => signed(delivery, { at: now() * 1000 }),
    "a negative stamp": (delivery) => signed(delivery, { at: -now() }),
    "no stamp": withChange(PAY, (value) => value.replace(/t=\d+,/, "")),
    "no signature": withChange(PAY, (value) => value.replace(/,v1=.*/, "")),
    "another scheme": withOptions({ scheme: "v0" }),
    "the right signature behind sixteen others": withChange(PAY, (value) => value.replace(",v1=", `${`,v1=${"0".repeat(64)}`.repeat(16)},v1=`)),
    "the header twice": withChange(PAY, (value) => [value, value]),
  },
  chat: {
    "another key": withOptions({ key: "another" }),
    "a changed body": withBody((body) => body.replace("1.50", "9.50")),
    "an old stamp": (delivery) => signed(delivery, { at: old() }),
    "a future stamp": (delivery) => signed(delivery, { at: future() }),
    "another stamp": withChange(CHAT_TIME, (value) => String(Number(value) + 1)),
    "a new stamp beside the old one": async (delivery) => withHeader(await signed(delivery, { at: old() }), CHAT_TIME, (value) => [value, String(now())]),
    "no stamp": withChange(CHAT_TIME, () => []),
    "another version": withChange(CHAT, (value) => value.replace("v0=", "v1=")),
    "a challenge with another key": (delivery) => signed({ ...delivery, body: '{"type": "url_verification", "challenge": "c"}' }, { key: "another" }),
  },
  standard: {
    "another key": withOptions({ key: `whsec_${Buffer.from("another").toString("base64")}` }),
    "the text of the key": withOptions({ key: Buffer.from(SECRETS.standard).toString("base64") }),
    "a changed body": withBody((body) => body.replace("1.50", "9.50")),
    "another id": withChange("webhook-id", (value) => `${value}0`),
    "an id with a dot": async (delivery) => signed(delivery, { id: `${delivery.id}.0` }),
    "an old stamp": (delivery) => signed(delivery, { at: old() }),
    "a future stamp": (delivery) => signed(delivery, { at: future() }),
    "another version": withChange("webhook-signature", (value) => value.replace("v1,", "v2,")),
    "hexadecimal": withChange("webhook-signature", (value) => `v1,${Buffer.from(value.slice(3), "base64").toString("hex")}`),
    "no padding": withChange("webhook-signature", (value) => value.replace(/=+$/, "")),
    "no id": withChange("webhook-id", () => []),
    "names of both kinds": async (delivery) => {
      const request = await signed(delivery);
      return { ...request, headers: request.headers.map(([name, value]) => [name.replace("webhook-id", "svix-id"), value]) };
    },
  },
  general: {
    "SHA-256": withOptions({ algorithm: "sha256" }),
    "hexadecimal": withOptions({ encoding: "hex" }),
    "Base64 of URLs": withOptions({ encoding: "base64url" }),
    "another separator": withOptions({ separator: "." }),
    "an old stamp": (delivery) => signed(delivery, { at: old() }),
  },
  shared: {
    "another secret": withOptions({ key: "another" }),
    "a part of the secret": withOptions({ key: SECRETS.shared.slice(0, -1) }),
    "an empty secret": withOptions({ key: "" }),
    "the header twice": withChange("X-Secret", (value) => [value, value]),
    "another header": async (delivery) => ({ ...delivery, headers: [["Authorization", `Bearer ${SECRETS.shared}`]] }),
  },
  basic: {
    "another password": withOptions({ key: "word" }),
    "another user": withOptions({ user: "Shop" }),
    "no user": withOptions({ user: "" }),
    "no header": withChange("Authorization", () => []),
    "another scheme": withChange("Authorization", (value) => value.replace("Basic", "Bearer")),
    "a password that is not in Base64": withChange("Authorization", () => `Basic shop:${SECRETS.basic}`),
  },
};

/** All forgeries: the inbound webhook, a name, and a function from a delivery to the forged request. */
export const forgeries = Object.entries(FORGERIES).flatMap(([webhook, forged]) => Object.entries(forged).map(([name, forge]) => ({ webhook, name, forge })));
