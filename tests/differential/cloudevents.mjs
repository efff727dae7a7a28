// Events in HTTP messages, compared with the package cloudevents: events that one side writes and the other reads, in
// binary and structured mode, and a list of messages with mistakes.
import { CloudEvent, HTTP } from "cloudevents";

export const kind = "cloudevents";

const TYPE = "application/cloudevents+json";
// The types of JSON that the package parses in binary mode; it gives the text of others.
const PARSED_TYPES = ["application/json", "application/json; charset=utf-8", TYPE, `${TYPE}; charset=utf-8`];
const JSON_TYPE = /^application\/(.+\+)?json\s*(;|$)/i;

const CORE = { specversion: "1.0", id: "1", source: "/s", type: "t" };
const without = (name) => Object.fromEntries(Object.entries(CORE).filter(([key]) => key !== name));

function structured(event, type = TYPE) {
  return { headers: type === null ? {} : { "content-type": type }, body: typeof event === "string" ? event : JSON.stringify(event) };
}

function binary(attributes, body = "", type = null) {
  const headers = Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`ce-${name}`, value]));
  return { headers: { ...headers, ...(type === null ? {} : { "content-type": type }) }, body };
}

const MESSAGES = {
  "structured: an event": structured(CORE),
  "structured: data": structured({ ...CORE, datacontenttype: "application/json", data: { a: [1, "b", null] } }),
  "structured: data without a content type": structured({ ...CORE, data: { a: 1 } }),
  "structured: text": structured({ ...CORE, datacontenttype: "text/plain", data: "a" }),
  "structured: Base64": structured({ ...CORE, datacontenttype: "application/octet-stream", data_base64: "AAEC/w==" }),
  "structured: bad Base64": structured({ ...CORE, data_base64: "A" }),
  "structured: data and Base64": structured({ ...CORE, datacontenttype: "text/plain", data: "a", data_base64: "YQ==" }),
  "structured: data of null": structured({ ...CORE, data: null }),
  "structured: data of 0": structured({ ...CORE, data: 0 }),
  "structured: data of false": structured({ ...CORE, data: false }),
  "structured: an empty text": structured({ ...CORE, datacontenttype: "text/plain", data: "" }),
  "structured: no id": structured(without("id")),
  "structured: no source": structured(without("source")),
  "structured: no type": structured(without("type")),
  "structured: no specversion": structured(without("specversion")),
  "structured: an empty id": structured({ ...CORE, id: "" }),
  "structured: an empty source": structured({ ...CORE, source: "" }),
  "structured: an empty subject": structured({ ...CORE, subject: "" }),
  "structured: a subject of null": structured({ ...CORE, subject: null }),
  "structured: an extension of null": structured({ ...CORE, ext: null }),
  "structured: a type that is a number": structured({ ...CORE, type: 5 }),
  "structured: version 0.3": structured({ ...CORE, specversion: "0.3" }),
  "structured: version 2.0": structured({ ...CORE, specversion: "2.0" }),
  "structured: a time that is none": structured({ ...CORE, time: "yesterday" }),
  "structured: a time without an offset": structured({ ...CORE, time: "2020-01-01T00:00:00" }),
  "structured: a time with an offset": structured({ ...CORE, time: "2020-01-01T00:00:00.5+02:00" }),
  "structured: a source with white space": structured({ ...CORE, source: "a b" }),
  "structured: a relative dataschema": structured({ ...CORE, dataschema: "a/b" }),
  "structured: a dataschema": structured({ ...CORE, dataschema: "http://a.example/b" }),
  "structured: a content type that is none": structured({ ...CORE, datacontenttype: "text", data: "a" }),
  "structured: a control character": structured({ ...CORE, id: "a\u0001" }),
  "structured: a name with a bar": structured({ ...CORE, a_b: "c" }),
  "structured: a name in capitals": structured({ ...CORE, Ab: "c" }),
  "structured: an integer": structured({ ...CORE, ext: 7 }),
  "structured: an integer of 33 bits": structured({ ...CORE, ext: 2 ** 32 }),
  "structured: a fraction": structured({ ...CORE, ext: 1.5 }),
  "structured: a Boolean": structured({ ...CORE, ext: true }),
  "structured: an object as attribute": structured({ ...CORE, ext: { a: 1 } }),
  "structured: an attribute twice": structured('{"specversion":"1.0","id":"1","source":"/s","type":"t","type":"u"}'),
  "structured: not JSON": structured("{"),
  "structured: a list": structured("[]"),
  "structured: a text": structured("a"),
  "structured: a body of nothing": structured(""),
  "structured: no content type": structured(CORE, null),
  "structured: UTF-8": structured(CORE, `${TYPE}; charset=utf-8`),
  "structured: UTF-8 in capitals": structured(CORE, `${TYPE};charset=UTF-8`),
  "structured: Latin 1": structured(CORE, `${TYPE}; charset=iso-8859-1`),
  "structured: XML": structured(CORE, "application/cloudevents+xml"),
  "structured: a type in capitals": structured(CORE, "Application/CloudEvents+JSON"),
  "batch: none": structured("[]", "application/cloudevents-batch+json"),
  "batch: two": structured([CORE, { ...CORE, id: "2" }], "application/cloudevents-batch+json"),
  "batch: one without a type": structured([CORE, without("type")], "application/cloudevents-batch+json"),
  "batch: one without an id": structured([without("id")], "application/cloudevents-batch+json"),
  "batch: an event alone": structured(CORE, "application/cloudevents-batch+json"),
  "batch: not JSON": structured("[", "application/cloudevents-batch+json"),
  "binary: an event": binary(CORE),
  "binary: JSON": binary(CORE, '{"a":1}', "application/json"),
  "binary: text": binary(CORE, "a", "text/plain"),
  "binary: a body that is not JSON": binary(CORE, "hello", "application/json"),
  "binary: a body that is half JSON": binary(CORE, '{"a":', "application/json"),
  "binary: an own type of JSON": binary(CORE, '{"a":1}', "application/vnd.a+json"),
  "binary: no id": binary(without("id")),
  "binary: no source": binary(without("source")),
  "binary: no type": binary(without("type")),
  "binary: no specversion": binary(without("specversion")),
  "binary: an empty subject": binary({ ...CORE, subject: "" }),
  "binary: an extension": binary({ ...CORE, ext: "a" }),
  "binary: an extension in capitals": { headers: { ...binary(CORE).headers, "Ce-Ext": "a" }, body: "" },
  "binary: a name with a bar": binary({ ...CORE, a_b: "c" }),
  "binary: version 0.3": binary({ ...CORE, specversion: "0.3" }),
  "binary: a time that is none": binary({ ...CORE, time: "yesterday" }),
  "binary: a header datacontenttype": binary({ ...CORE, datacontenttype: "text/plain" }, "a"),
  "binary: quotes": binary({ ...CORE, subject: '"a b"' }),
  "binary: half of a percent-encoding": binary({ ...CORE, subject: "100%" }),
  "binary: a percent-encoding": binary({ ...CORE, subject: "%C3%A4" }),
  "binary: a percent-encoding that is not UTF-8": binary({ ...CORE, subject: "%ff" }),
  "binary: white space": binary({ ...CORE, subject: "a b" }),
};

export function cases(random, count) {
  const all = Object.entries(MESSAGES).map(([name, message]) => ({ name, message, classes: [] }));
  for (let i = 0; i < count; ++i) {
    const event = written(random);
    for (const mode of ["binary", "structured"]) {
      for (const writer of ["ours", "theirs"]) {
        all.push({ name: `${mode}, written by ${writer}: ${JSON.stringify(event)}`, event, mode, writer, classes: classes(event, mode) });
      }
    }
  }
  return all;
}

/** The properties of an event for which the two sides are decided to differ. */
function classes(event, mode) {
  const found = [];
  const values = [event.id, event.source, event.type, event.subject ?? "", ...Object.values(event.extensions).map(String)];
  if (mode === "binary" && values.some((value) => /[^!-~]|["%]/.test(value))) found.push("percent-encoding");
  if (event.data === undefined || !isJson(event.datacontenttype)) return found;
  const value = JSON.parse(Buffer.from(event.data, "base64"));
  if (mode === "structured" && !value) found.push("data that JavaScript takes for false");
  if (mode === "binary" && typeof value === "string") found.push("a JSON string in binary mode");
  if (mode === "binary" && ["number", "boolean"].includes(typeof value)) found.push("a JSON number or Boolean in binary mode");
  return found;
}

function isJson(type) {
  return type === undefined || JSON_TYPE.test(type);
}

/** An event in the form of the probe: data in Base64. */
function written(random) {
  const special = () => random.pick(["a b", "ä", "50%", 'say "a"', "%20", "日本"]);
  const text = () => (random.once(8) ? special() : random.pick(["a", "a-b", "A.b:c", "1", "x/y?z=1", "~"]));
  const plain = () => random.pick(["a", "b-1", "C.d"]);
  const event = { id: text(), source: random.pick(["/s", "urn:a:b", "http://a.example/b?c", "s"]), type: plain(), extensions: {} };
  if (random.once(2)) event.subject = text();
  if (random.once(2)) event.time = random.pick(["2020-02-29T12:00:00Z", "2021-06-01T00:00:00.123Z", "2019-12-31T23:59:59+02:00"]);
  if (random.once(4)) event.dataschema = "http://a.example/schema";
  if (random.once(2)) event.extensions.ext1 = random.pick([text(), true, false, 7, -2147483648, 0]);
  if (random.once(4)) event.extensions.traceparent = plain();
  const [type, data] = random.pick([
    [undefined, undefined],
    ["application/json", JSON.stringify(random.pick([{ a: 1, b: [true, null] }, [], {}, [1.5], { ä: "ö" }]))],
    ["application/json", random.pick(['"a b"', "0", "1", "true", "false"])],
    ["application/json; charset=utf-8", '{"a":{"b":"c"}}'],
    ["application/vnd.a+json", '{"a":1}'],
    ["text/plain", random.pick(["a", "a\nb", "ä"])],
    ["application/octet-stream", random.pick(["\x00\x01\x02", "\xff\xfe", "abc"])],
    [undefined, '{"a":1}'],
  ]);
  if (type !== undefined) event.datacontenttype = type;
  if (data !== undefined) event.data = Buffer.from(data, type === "application/octet-stream" ? "latin1" : "utf8").toString("base64");
  return event;
}

export async function compare(one, probe) {
  if (one.message !== undefined) {
    return { ours: await readByUs(one.message, probe), theirs: readByThem(one.message), classes: [] };
  }
  const expected = { ok: [comparable(one.event, one.event)] };
  if (one.writer === "ours") {
    const message = await probe.ask({ kind: "encode", mode: one.mode, event: one.event });
    if (message.error !== undefined) return { ours: message, theirs: expected, classes: [] };
    const body = Buffer.from(message.ok.body, "base64");
    return { ours: expected, theirs: readByThem({ headers: Object.fromEntries(message.ok.headers), body: textOf(body) }, one.event), classes: [] };
  }
  const { headers, body } = HTTP[one.mode](theirEvent(one.event));
  // What fetch() would send of a body that is neither a text nor bytes.
  const message = { headers, body: body === undefined || typeof body === "string" || ArrayBuffer.isView(body) ? body : String(body) };
  return { ours: await readByUs(message, probe, one.event), theirs: expected, classes: [] };
}

/** The body as node gives it to the package: a text, or bytes if they are none. */
function textOf(bytes) {
  const text = bytes.toString("utf8");
  return Buffer.from(text).equals(bytes) ? text : bytes;
}

function theirEvent(event) {
  const { extensions, data, ...attributes } = event;
  const bytes = data === undefined ? undefined : Buffer.from(data, "base64");
  const isBytes = event.datacontenttype === "application/octet-stream";
  const value = bytes === undefined ? undefined : isJson(event.datacontenttype) ? JSON.parse(bytes) : isBytes ? new Uint8Array(bytes) : bytes.toString();
  return new CloudEvent({ ...attributes, ...extensions, ...(value === undefined ? {} : { data: value }) });
}

async function readByUs({ headers, body }, probe, written) {
  const bytes = Buffer.from(body ?? "").toString("base64");
  const list = Object.entries(headers).map(([name, value]) => [name, String(value)]);
  const answer = await probe.ask({ kind: "decode", headers: list, body: bytes });
  if (answer.error !== undefined) return answer;
  return { ok: answer.ok.map((event) => comparable(event, written ?? event)) };
}

function readByThem(message, written) {
  try {
    const read = HTTP.toEvent(message);
    const events = Array.isArray(read) ? read : [read];
    for (const event of events) event.validate();
    const isBinary = !String(message.headers["content-type"]).startsWith("application/cloudevents");
    return { ok: events.map((event) => comparable(fromTheirs(event, message, isBinary), written ?? event)) };
  } catch (error) {
    return { error: error.message };
  }
}

/** Their event in the form of the probe. */
function fromTheirs(event, message, isBinary) {
  const { id, source, type, specversion, subject, time, datacontenttype, dataschema, data, data_base64, ...rest } = event;
  const extensions = Object.fromEntries(Object.entries(rest).filter(([name, value]) => value != null && !["datacontentencoding", "schemaurl"].includes(name)));
  const out = { id, source, type, extensions, ...(specversion === "1.0" ? {} : { specversion }) };
  if (subject != null) out.subject = subject;
  // Without a time the package sets the current one.
  const hasTime = isBinary ? Object.keys(message.headers).some((name) => name.toLowerCase() === "ce-time") : message.body.includes('"time"');
  if (hasTime) out.time = time;
  if (datacontenttype != null) out.datacontenttype = datacontenttype;
  if (dataschema != null) out.dataschema = dataschema;
  const bytes = isBinary && message.body.length === 0 ? undefined : bytesOf(data, datacontenttype, isBinary);
  if (bytes !== undefined) out.data = bytes.toString("base64");
  return out;
}

function bytesOf(data, type, isBinary) {
  if (data === undefined || data === null) return undefined;
  if (ArrayBuffer.isView(data)) return Buffer.from(data);
  const isValue = isBinary ? PARSED_TYPES.includes(type) : isJson(type);
  return Buffer.from(isValue ? JSON.stringify(data) : String(data));
}

/**
 * An event in a form that is equal if the events mean the same. An extension is compared as text, a time as an instant. A
 * content type or a time that the writer was not given is left out: both sides add a type for JSON, the package a time.
 */
function comparable(event, written) {
  const { time, datacontenttype, extensions, data, ...rest } = event;
  const out = { ...rest, extensions: Object.fromEntries(Object.entries(extensions).map(([name, value]) => [name, String(value)]).sort()) };
  if (time !== undefined && written.time !== undefined) out.time = new Date(time).getTime();
  if (datacontenttype !== undefined && written.datacontenttype !== undefined) out.datacontenttype = datacontenttype;
  if (data !== undefined && data !== "") out.data = comparableData(Buffer.from(data, "base64"), datacontenttype);
  return out;
}

function comparableData(bytes, type) {
  if (isJson(type)) {
    try {
      return { json: JSON.parse(bytes) };
    } catch {
      // The bytes are compared.
    }
  }
  return { bytes: bytes.toString("base64") };
}
