// The types of the HTTP API, made by make-api.mjs from the OpenAPI document: do not edit.

export type AcceptedTasks = {
  /** false: a bound of the server has left something out that no page has. */
  complete: boolean
  items: Array<{
    /** The number of the attempt, from 1. */
    attempt: number
    /** When a timeout ends the attempt at the latest. */
    deadline?: string
    /** No call waits for the answer. */
    detached?: true
    /** The id of the function in the workflow. */
    function: string
    instance: string
    /** The name of the namespace. */
    namespace: string
    /** The newest progress in a heartbeat of the call. */
    progress?: unknown
    /** When that heartbeat came. */
    progressAt?: string
    /** When the attempt was made. */
    since: string
    /** The id of the state that made the call. */
    state: string
    /** The action id of the attempt. */
    task: string
  }>
  /** How many tasks were read for the page. */
  looked: number
  next: string | null
}

export type Active = {
  status: "active"
}

export type Alive = {
  status: "alive"
}

export type AwaitedCall = {
  /** The number of the latest attempt; 0: none yet. */
  attempt: number
  /** The call undoes what a state has done. */
  compensates?: true
  /** When a timeout ends the attempt at the latest. */
  deadline?: string
  /** `callback`: its service has accepted the task, and answers it later; `subflow`: for the end of its instance; `answer`: of the service, worker or container that has the task; `worker`: no worker has taken the task; `connection`: the HTTP service has not got the request; `slot`; `throttle`; `service`: it is paused; `attempt`: for the next one; `others`: for other calls of the state; `resume`: of the instance. */
  for: "callback" | "subflow" | "answer" | "worker" | "connection" | "slot" | "throttle" | "service" | "attempt" | "others" | "resume"
  /** The id of the function. */
  function?: string
  /** It is a service of the namespace `default`. */
  global?: true
  /** The place of the call. */
  index: number
  /** The instance of the latest attempt of a subflow. */
  instance?: string
  lastError?: {
    /** When it happened. */
    at: string
    code: string
    message: string
  }
  /** When the next attempt begins. */
  nextRetryAt?: string
  /** The name of the service that has the task. */
  service?: string
  /** When the attempt was made or failed, or the state was entered. */
  since: string
  status: "queued" | "scheduled" | "running" | "retrying"
  /** The action id of the latest attempt of a function. */
  task?: string
  /** The id of the workflow of a subflow. */
  workflow?: string
}

export type Backup = {
  /** About how many rows the backup has. */
  aboutRows: number
  /** The number of the commit that the backup shows. */
  commit: number
  cursor: {
    /** The sequence of the last applied event. */
    sequence: number
    /** The broker's time of that event. */
    stamped: string
    /** Nanoseconds since 1970. */
    streamCreated: number
  }
  /** The format of the store. */
  format: number
  /** Names the backup in the calls that read its chunks. */
  id: string
  /** The row with the check of the store's key, in hexadecimal digits. */
  key?: string
  /** The release that made the backup. */
  millrace: string
  /** The minor number of the format of the store. */
  minor?: number
  /** From when on events must be in the stream for a restore. */
  since?: string
  /** The id of the store, in hexadecimal digits; empty: it has none. */
  store: string
  /** When the backup began. */
  time: string
  /** The version of the format of backups. */
  version: number
}

export type BackupEnded = {
  ended: true
  id: string
}

export type CallFiles = {
  items: Array<{
    executable: boolean
    /** Relative, with slashes. */
    name: string
    /** The bytes of the file. */
    size: number
    /** Where the file can be read. */
    url: string
  }>
}

export type CallSlot = {
  /** It is a service of the namespace `default`. */
  global?: true
  /** How many calls hold a slot of the service and key. */
  held: number
  /** Of one that waits: the calls that have held theirs longest; at most three. */
  holders?: Array<SlotHolder>
  /** The image of the container. */
  image?: string
  /** The value of `concurrency.key`; none: the call has no key. */
  key?: string | number | boolean
  /** The key may contain data of a secret: it may be masked, and `queues/holders` does not find it by `key`. */
  keySealed?: true
  /** How many calls may hold a slot when this one gets its slot. */
  limit: number
  /** It waits until its instance is resumed. */
  paused?: true
  /** A call with a higher one gets a slot first. */
  priority: number
  /** Whether the call waits for the slot. */
  queued: boolean
  /** The name of the service. */
  service?: string
  /** The service is paused: no call gets a slot or passes the throttle before it is resumed. */
  servicePaused?: true
  /** When its wait ends with `millrace.concurrency.timeout`; missing: it has no timeout, or a pause holds it. */
  until?: string
  /** How many calls wait for one. */
  waiting: number
}

export type CallThrottled = {
  /** It is a service of the namespace `default`. */
  global?: true
  /** The image of the container. */
  image?: string
  /** The value of `throttle.key`; none: the call has no key. */
  key?: string | number | boolean
  /** The key may contain data of a secret: it may be masked, and `queues/holders` does not find it by `key`. */
  keySealed?: true
  /** How many calls may be handed out in the period. */
  limit: number
  /** When the throttle permits the next call of the key; it may have passed. Missing while the service is paused. */
  nextAt?: string
  /** It waits until its instance is resumed. */
  paused?: true
  /** The length of the period, as the definition has it. */
  period: string
  /** A call with a higher one is handed out first. */
  priority: number
  /** The name of the service. */
  service?: string
  /** The service is paused: no call gets a slot or passes the throttle before it is resumed. */
  servicePaused?: true
  /** When its wait ends with `millrace.throttle.timeout`; missing: it has no timeout, or a pause holds it. */
  until?: string
  /** How many calls of the service and key wait. */
  waiting: number
}

export type CallWait = {
  /** The number of the latest attempt; 0: none yet. */
  attempt: number
  /** The call undoes what a state has done. */
  compensates?: true
  /** The id of the function. */
  function?: string
  /** The place of the call. */
  index: number
  /** The instance of the latest attempt of a subflow. */
  instance?: string
  /** When the next attempt begins. */
  nextRetryAt?: string
  /** When the attempt was made or failed, or the state was entered. */
  since: string
  status: "queued" | "scheduled" | "running" | "retrying"
  /** The action id of the latest attempt of a function. */
  task?: string
  /** The id of the workflow of a subflow. */
  workflow?: string
}

export type CallbackAccepted = {
  accepted: true
}

export type CloudEvent = {
  /** The data of the event. */
  data?: unknown
  /** The data of the event, in Base64; instead of `data`. */
  data_base64?: string
  datacontenttype?: string
  dataschema?: string
  /** With `source`, it identifies the event. */
  id: string
  /** A URI reference. */
  source: string
  specversion: "1.0"
  subject?: string
  time?: string
  type: string
}

export type Cluster = {
  active?: {
    /** The URL of the active. */
    address: string
    node: string
  }
  /** The name of the cluster. */
  cluster: string
  /** The latest epoch of the log. */
  epoch: number
  /** The id of the node that answers. */
  node: string
  /** The nodes that have answered, and the registered nodes that have not. */
  nodes: Array<{
    /** The URL at which it answers. */
    address: string
    /** How many messages of the log it has not applied. */
    behindCommits?: number
    /** How old the oldest of them is. */
    behindSeconds?: number
    /** How far its clock is ahead of the clock of the broker. */
    clockOffsetSeconds?: number
    /** The sequence of the latest commit that its folder has. */
    committed?: number
    /** The epoch that the node knows; missing if the node is away. */
    epoch?: number
    error?: {
      /** Why the node is not ready. */
      code: string
      detail: string
    }
    /** When it was registered; missing if it is not registered. */
    firstSeen?: string
    /** The id of the process. */
    incarnation?: string
    /** The id of the node, of its data folder. */
    node: string
    /** The sequence of the log up to which it has applied the messages. */
    position?: number
    role: "active" | "standby" | "starting" | "away"
    /** The release of millrace. */
    version?: string
  }>
  role: "active" | "standby" | "starting"
  snapshots?: {
    /** How many complete snapshots there are. */
    count?: number
    error?: {
      /** Why none could be taken. */
      code: string
      detail: string
    }
    /** How many bytes the log has. */
    logBytes?: number
    newest?: {
      ageSeconds: number
      /** Of its rows. */
      bytes: number
      id: string
      /** The message of the log behind which it is. */
      position: number
    }
  }
}

export type DeadLetter = {
  /** The message; in a list its beginning. */
  data: string
  /** What was wrong, for people. */
  detail: string
  /** The encoding of `data`. */
  encoding: "utf-8" | "base64"
  /** The sequence of the dead letter in its stream. */
  id: string
  /** An error code. */
  reason: string
  /** The bytes of the whole message. */
  size: number
  /** The name of the source that read the message. */
  source?: string
  /** The subject of the message. */
  subject: string
  /** When the broker stored the dead letter. */
  time: string
  /** The queue has only the beginning of the data. */
  truncated?: true
}

export type DeadLetterDeleted = {
  deleted: true
  id: string
}

export type DeadLetterReplayed = {
  /** The id of the event. */
  event: string
  /** The id of the dead letter, which no longer exists. */
  id: string
  /** The sequence of the event in the event stream. */
  sequence: number
}

export type DeadLetters = {
  /** false: a bound of the server has left something out that no page has. */
  complete: boolean
  items: Array<DeadLetter>
  next: string | null
  /** How many dead letters there are of each reason. */
  reasons: Array<{
    count: number
    /** An error code. */
    reason: string
  }>
}

export type DeadLettersDone = {
  /** How many dead letters were replayed or deleted. */
  done: number
  /** How many dead letters of the reason there are now. */
  left: number
  next: string | null
  refused: Array<{
    /** An error code. */
    code: string
    id: string
    /** Why the dead letter was not replayed. */
    msg: string
  }>
}

export type DefinitionSchema = {
  $schema: string
}

export type Evaluations = {
  fast: {
    /** Evaluations that a jq worker has. */
    running: number
    /** Evaluations that no jq worker has. */
    waiting: number
  }
  slow: {
    /** Evaluations that a jq worker has. */
    running: number
    /** Evaluations that no jq worker has. */
    waiting: number
  }
}

/** What the context attributes of an event must be, by the name of the attribute. */
export type EventContext = Record<string, {
  equals: string
} | {
  pattern: string
}>

export type EventEffect = {
  /** The instance that the event started or woke. */
  instance?: string
  /** `started` or `woke` an instance; `grouped`: waits in a group; `duplicate`: an event with its source and id had an effect before; `skipped`: the workflow is singular and had a live instance, or had no free slot; `uncorrelated`: lacks an attribute of `correlate`; `kept`: is stored for instances and listeners that get it later; `refused`: became a dead letter; `expired`: its lifespan in a group ended; `closed`: its group was closed, and it became a dead letter; `rateLimited`: the `rateLimit` of the workflow was used up; `debounced`: the `debounce` of the workflow has put off the start; `batched`: its data is in a batch of starts of the workflow. */
  what: "started" | "woke" | "grouped" | "duplicate" | "skipped" | "uncorrelated" | "kept" | "refused" | "expired" | "closed" | "rateLimited" | "debounced" | "batched"
  /** The id of the workflow; its number if it was deleted. */
  workflow?: string
}

export type EventGroup = {
  /** The attributes that the events of the group share. */
  correlate: Record<string, unknown>
  entries: Array<{
    first?: {
      /** Its id. */
      id?: string
      /** Its sequence. */
      sequence?: number
    }
    /** The type of the events. */
    type: string
    /** How many events wait. */
    waiting: number
  }>
  /** When the next event of the group expires. */
  expiresAt?: string
  /** The id of the group. */
  id: string
  /** The id of the workflow. */
  workflow: string
}

export type EventGroupDropped = {
  /** How many events became dead letters. */
  dropped: number
  /** The id of the group. */
  id: string
}

export type EventGroups = {
  items: Array<EventGroup>
  next: string | null
}

export type EventReplay = {
  /** Context attributes that are set or replaced: extension attributes, `type`, `source` and `subject`; 16 at most. */
  attributes?: Record<string, string | number | boolean>
  /** Whether the answer only says what the replay would do. */
  dryRun?: boolean
  /** The namespace to which the event is sent; missing: the same one. */
  namespace?: string
}

export type EventReplayed = {
  /** The id of the replayed event. */
  id: string
  /** The sequence of the new message. */
  sequence: number
}

export type EventTried = {
  asOf: {
    /** The number of the commit. */
    commit: number
    /** The sequence of the last applied event. */
    cursor: number
  }
  /** false: a bound has ended the look. */
  complete: boolean
  /** The source and id are known: the event would be dropped. */
  duplicate?: true
  /** Other namespaces in which something listens for the type. */
  elsewhere?: Array<string>
  event: {
    id: string
    source: string
    type: string
  }
  /** The only instance whose verdict is shown, as the call asked. */
  instance?: string
  /** How many listeners were judged, with those that the event woke. */
  looked: number
  /** The nearest listeners first. */
  near: Array<JudgedListener>
  /** About how many there are; missing: the engine did not answer in time. */
  of?: number
  /** Listeners that are not shown, by what does not hold. */
  others: Array<{
    /** How many listeners. */
    count: number
    what: string
  }>
  /** Types of events for which something listens. */
  similarTypes?: Array<string>
}

export type EventWhy = {
  /** Whether the engine has applied the event. */
  applied: boolean
  asOf: {
    /** The number of the commit. */
    commit: number
    /** The sequence of the last applied event. */
    cursor: number
  }
  /** false: a bound has ended the look. */
  complete: boolean
  deadLetter?: {
    /** What was wrong, for people. */
    detail: string
    /** The id of the dead letter that the event became. */
    id: string
    /** An error code. */
    reason: string
  }
  /** How many effects the event had. */
  effectCount: number
  /** What became of the event; the first 20. */
  effects: Array<EventEffect>
  /** Other namespaces in which something listens for the type. */
  elsewhere?: Array<string>
  error?: {
    /** An error code. */
    code: string
    /** The message. */
    msg: string
  }
  event: {
    id?: string
    /** The sequence of the event in the event stream. */
    sequence: number
    source?: string
    /** When the broker stored the event. */
    time: string
    type?: string
  }
  /** The only instance whose verdict is shown, as the call asked. */
  instance?: string
  /** How many listeners were judged, with those that the event woke. */
  looked: number
  /** The nearest listeners first. */
  near: Array<JudgedListener>
  /** About how many there are; missing: the engine did not answer in time. */
  of?: number
  /** Listeners that are not shown, by what does not hold. */
  others: Array<{
    /** How many listeners. */
    count: number
    what: string
  }>
  /** The newest replays of the event, three at most. */
  replays?: Array<{
    /** Whether the engine has applied the replay. */
    applied: boolean
    /** How many effects the replay had. */
    effectCount: number
    /** What became of the replay; the first 20. */
    effects: Array<EventEffect>
    /** The namespace to which the event was sent again. */
    namespace: string
    /** The sequence of the replay in the event stream. */
    sequence: number
  }>
  /** Types of events for which something listens. */
  similarTypes?: Array<string>
}

export type EventsAccepted = {
  /** How many events the stream has now, those included that it had before. */
  accepted: number
  /** How many of them the stream had before, so that nothing was stored for them. */
  duplicates: number
}

export type ExpressionResult = {
  result: unknown
}

export type ExpressionTrial = {
  /** How it is read; missing: query. */
  as?: "query" | "value" | "template"
  /** The data of the instance; missing: an empty object. */
  data?: unknown
  /** The value of `$instance`; missing: null. */
  instance?: unknown
  /** The expression, or a value whose strings contain expressions. */
  text: unknown
}

export type Finding = {
  /** The stable code of the finding. */
  code: string
  /** The column of the place, from 1; 0: the whole line. */
  column: number
  /** The line of the place, from 1; 0: the whole document. */
  line: number
  /** What is wrong, and how to correct it. */
  message: string
  /** The place in the definition, such as `states[0].timeout`. */
  path: string
  severity: "error" | "warning" | "note"
}

export type Findings = {
  errors: Array<Finding>
  /** How many further findings are not listed. */
  omitted?: number
}

export type Firings = {
  /** false: something that fires at `exactUntil` or later may be missing. */
  complete: boolean
  /** What has cut the list: its `limit`, or how much the server looks at in one call; missing: complete. */
  cutBy?: "limit" | "look"
  /** Nothing that fires before is missing; missing: complete. */
  exactUntil?: string
  items: Array<{
    at: string
    caller?: {
      /** The instance whose call gets the error. */
      instance: string
      /** Whether another attempt of the call follows; missing: it is not known. */
      retries?: boolean
    }
    /** What follows: the instance goes to the state `then` (`state`), makes another `attempt` of it, or begins another `run`; it ends with the status `ends` (`end`); a `call` makes its next attempt or times out; or it `depends` on the data or another timeout; a delayed `event` is published; an event leaves its group (`expiry`); an instance starts (`start`); or a call that has waited for its throttle is made (`handOut`). */
    causes: "state" | "attempt" | "run" | "end" | "call" | "depends" | "event" | "expiry" | "start" | "handOut"
    /** It makes its compensations before it ends. */
    compensates?: true
    /** The status with which the instance ends. */
    ends?: "complete" | "failed" | "timedout" | "cancelled"
    /** The code of the error that the timer raises, or with which the instance ends. */
    error?: string
    /** It is one of the namespace `default`. */
    global?: true
    /** Of a `throttle` of calls: the image. */
    image?: string
    inputs?: number
    /** The instance; of a `pendingStart`, the id that it will have; of a `throttle`, the start that is next, or that of the call. */
    instance?: string
    /** Of a `pendingStart` or a `throttle`: the value of its `key`; none: it has none. */
    key?: unknown
    kind: "stateTimeout" | "delay" | "retry" | "interrupt" | "kill" | "runTimeout" | "executionTimeout" | "call" | "queueTimeout" | "throttleTimeout" | "delayedEvent" | "lifespan" | "tick" | "pendingStart" | "throttle"
    latestAt?: string
    maxSize?: number
    /** The instance, the workflow or the service is paused. */
    paused?: true
    /** Of a `throttle`: how many starts or calls wait. */
    queued?: number
    /** Of a `pendingStart`. */
    reason?: "debounce" | "batch"
    refusal?: {
      /** An error code. */
      code: string
      /** Of a `pendingStart`: why its `rateLimit` would not permit it now. */
      msg: string
    }
    /** Of a `throttle` of calls: the service. */
    service?: string
    /** Of a `pendingStart`: as in the list of queues, like the next members. */
    since?: string
    startsAt?: string
    /** The id of the state. */
    state?: string
    /** Of a `throttle` of calls: the action id of the call that is next. */
    task?: string
    /** The id of the state in which the instance continues. */
    then?: string
    /** The id of the workflow. */
    workflow?: string
  }>
  /** At how many instances, events and timers the server has looked. */
  looked: number
  next: string | null
}

export type Found = {
  /** false: a bound of the server has left something out that no page has. */
  complete: boolean
  items: Array<{
    /** The id of the instance (of a `pendingStart` the one that will start), workflow, group, task, replay or dead letter, the name of the source, inbound webhook or service, or the sequence of the event. */
    id: string
    /** The instance whose call made the task. */
    instance?: string
    kind: "instance" | "workflow" | "key" | "group" | "task" | "replay" | "source" | "webhook" | "service" | "event" | "deadLetter" | "pendingStart"
    /** What it is, for people. */
    label: string
    /** The id of the workflow of the `pendingStart`. */
    workflow?: string
  }>
  next: string | null
  notRead?: {
    /** The error code. */
    code: string
    /** Why the broker did not answer. */
    msg: string
  }
}

export type History = {
  items: Array<HistoryRecord>
  next: string | null
}

export type HistoryRecord = {
  /** The data of the instance after the record. */
  data?: unknown
  /** What is known of this kind of record. Of `returned`, `by` says that the answer did not come from the runner of the call: `httpCallback`, `natsCallback` or `operator`. */
  detail?: unknown
  kind: "started" | "entered" | "woken" | "elapsed" | "published" | "log" | "raised" | "caught" | "fixed" | "cancelled" | "ended" | "called" | "returned" | "retrying" | "timedout" | "skipped" | "run" | "output" | "paused" | "resumed" | "revived" | "continued" | "noted" | "compensating" | "undoing" | "undone" | "compensationStopped" | "queued" | "admitted" | "throttled" | "released"
  /** The number of the record, from 1. */
  number: number
  /** The id of the state. */
  state?: string
  time: string
}

export type InboundAccepted = {
  /** The id of the event. */
  id: string
}

export type InboundTrial = {
  /** The body in Base64, if it is not UTF-8. */
  base64?: string
  /** The body of the request; missing: it is empty. */
  body?: string
  /** The headers by name. */
  headers?: Record<string, string | Array<string>>
  /** The parameters of the URL. */
  query?: Record<string, string>
}

export type InboundTried = {
  /** The answer to the request, of which no event is made. */
  challenge?: string
  /** The data of a large event is left out. */
  cut?: true
  /** The source and id are known. */
  duplicate?: true
  error?: {
    /** An error code. */
    code: string
    /** Why the request would become no event. */
    msg: string
  }
  event?: Record<string, unknown>
  name: string
  /** Requests are answered 503. */
  paused?: true
  signature: {
    /** An error code. */
    code?: string
    fits: boolean
    /** Why the request would be refused. */
    msg?: string
  }
  /** Types for which a workflow listens; it does not for the type of the event. */
  similarTypes?: Array<string>
  /** What the event would start or wake. */
  would?: Array<{
    instance?: string
    verdict: "woke" | "started" | "filled" | "grouped" | "paused"
    workflow: string
  }>
}

export type InboundWebhook = {
  /** How many requests became events. */
  accepted: number
  /** Since when this process counts requests. */
  countedSince: string
  /** How many of them were answered 429 or 503. */
  deferred: number
  /** How the service writes its signature into its requests. */
  form: string
  /** Of an event or a duplicate. */
  lastAcceptedAt?: string
  lastError?: {
    at: string
    /** An error code. */
    code: string
    /** Why a request with a valid signature was not accepted. */
    msg: string
  }
  lastRefusal?: {
    at: string
    /** An error code. */
    code: string
    /** Why the signature was refused. */
    msg: string
  }
  name: string
  /** The path of the URL to which the other service posts. */
  path: string
  paused: boolean
  /** How many requests had no valid signature. */
  refused: number
  /** How many requests were duplicates. */
  repeated: number
  /** The names of the secrets, each of which is valid. */
  secrets: Array<string>
  settings?: {
    mapping: {
      type: string
    }
    paused?: boolean
    verify: {
      form: string
    }
  }
  /** The type of the events, of the mapping. */
  type: string
  /** How many requests with a valid signature became no event. */
  unmapped: number
}

export type InboundWebhookDeleted = {
  deleted: true
  name: string
}

export type InboundWebhookPaused = {
  /** Whether it was not so before. */
  changed: boolean
  name: string
  paused: boolean
}

export type InboundWebhooks = {
  items: Array<InboundWebhook>
  next: string | null
}

export type InputChecked = {
  /** Empty. */
  errors: Array<Mistake>
  valid: true
}

export type InputSchema = {
  /** A value for a form to begin with. */
  example: unknown
  from: string | null
  /** The JSON Schema of the input; null: the first state does not check it. */
  schema: unknown
}

/** The input; no body: an empty object. */
export type InputToCheck = unknown

export type Instance = {
  /** The number of the current attempt. */
  attempt: number
  /** How many calls have each status. */
  callCounts?: Record<string, number>
  calls?: Array<InstanceCall>
  cancelling?: {
    /** When the cancel came; missing: its record is not among the newest ones. */
    since?: string
    /** How many running tasks must end before the instance ends. */
    tasks: number
  }
  children?: {
    /** false: there are more children than were counted. */
    complete: boolean
    /** How many of the children have each status. */
    counts: Record<string, number>
  }
  compensation?: {
    /** The status after them. */
    ends?: "failed" | "timedout" | "cancelled"
    error?: {
      /** The error code of the newest one, which has failed. */
      code: string
      /** The message. */
      msg: string
    }
    /** How many compensations were noted and not made. */
    left: number
    /** Whether the instance makes them now. */
    making: boolean
  }
  /** Those that are left, newest first; at most 100. */
  compensations?: Array<{
    /** What is wrong with the row of the compensation; then the row is not shown. */
    damage?: string
    /** The id of the function that it calls. */
    function?: string
    /** The input of the call, or what it is evaluated over. */
    input?: unknown
    /** The number of the compensation, from 1. */
    number: number
    /** The id of the state that it undoes. */
    state?: string
  }>
  /** The correlation of the start. */
  correlation?: string
  /** What is wrong with the rows of the instance. */
  damage?: string
  /** The data. */
  data: unknown
  /** The earliest deadline. */
  deadline?: string
  endedAt?: string
  error?: {
    /** The error code. */
    code: string
    /** The message. */
    msg: string
  }
  /** The id of the state that failed. */
  failedState?: string
  /** How many records of the history were erased. */
  historyTrimmed?: number
  id: string
  /** The input. */
  input: unknown
  /** The idempotency key of the start. */
  key?: string
  /** How many other calls have not ended. */
  moreWaits?: number
  /** When the next attempt begins. */
  nextRetryAt?: string
  /** The data at the end of an ended instance. */
  output?: unknown
  /** The instance that started this one. */
  parent?: string
  /** Of an ended instance: the compensations that an operator has passed over since it was last retried or restarted, as far as its newest records show them. */
  passedCompensations?: Array<number>
  /** The revision of the workflow. */
  revision: number
  /** The number of the run, from 1; missing: the instance is damaged. */
  run?: number
  /** The data may contain a secret, and is masked or hidden. */
  sealed?: true
  slot?: Slot
  startedAt: string
  /** The detail of the first record of the history. */
  startedBy?: unknown
  /** The id of the state in which the instance is. */
  state: string
  status: "pending" | "running" | "waiting" | "paused" | "complete" | "failed" | "timedout" | "cancelled" | "damaged"
  throttled?: Throttled
  /** What time will cause, soonest first. */
  timers?: Array<{
    at: string
    caller?: {
      /** The instance whose call gets the error. */
      instance: string
      /** Whether another attempt of the call follows; missing: it is not known. */
      retries?: boolean
    }
    /** What follows: the instance goes to the state `then` (`state`), makes another `attempt` of it, or begins another `run`; it ends with the status `ends` (`end`); a `call` makes its next attempt or times out; or it `depends` on the data or another timeout. */
    causes: "state" | "attempt" | "run" | "end" | "call" | "depends"
    /** It makes its compensations before it ends. */
    compensates?: true
    /** The status with which the instance ends. */
    ends?: "complete" | "failed" | "timedout" | "cancelled"
    /** The code of the error that the timer raises, or with which the instance ends. */
    error?: string
    /** The instance is paused, and the timer does not fire before its resume; of a `call` also: the service is paused, and no time of the calls counts. */
    held?: true
    kind: "stateTimeout" | "delay" | "retry" | "interrupt" | "kill" | "runTimeout" | "executionTimeout" | "call" | "queueTimeout" | "throttleTimeout"
    /** The id of the state in which the instance continues. */
    then?: string
  }>
  /** How many states the instance has entered. */
  transitions: number
  /** What the instance waits for: events, the end of a delay, the next attempt, or calls; at most 20 calls. */
  waits?: Array<{
    context: EventContext
    /** When the instance entered its state. */
    since: string
    /** The type of the events. */
    type: string
  } | TimeWait | CallWait>
  /** The id of the workflow; empty: the instance is damaged. */
  workflow: string
}

export type InstanceCall = {
  /** The number of the latest attempt; 0: none yet. */
  attempt: number
  /** The deadlines of the call, by the name of the timeout. */
  deadlines?: Record<string, string>
  /** The id of the function in the workflow. */
  function?: string
  /** The instance of the latest attempt of a subflow. */
  instance?: string
  lastError?: {
    /** When it happened. */
    at: string
    code: string
    message: string
  }
  /** When the next attempt begins. */
  nextRetryAt?: string
  /** The newest progress in a heartbeat of the call. */
  progress?: unknown
  /** When that heartbeat came. */
  progressAt?: string
  status: "queued" | "scheduled" | "running" | "retrying" | "complete" | "failed"
  /** The action id of the latest attempt of a function. */
  task?: string
}

export type InstanceCalls = {
  items: Array<{
    /** The number of the latest attempt; 0: none yet. */
    attempt: number
    /** The deadlines of the call, by the name of the timeout. */
    deadlines?: Record<string, string>
    /** The id of the function in the workflow; missing: the definition is damaged. */
    function?: string
    /** The place of the call. */
    index: number
    /** The instance of the latest attempt of a subflow. */
    instance?: string
    lastError?: {
      /** When it happened. */
      at: string
      code: string
      message: string
    }
    /** When the next attempt begins. */
    nextRetryAt?: string
    /** The newest progress in a heartbeat of the call. */
    progress?: unknown
    /** When that heartbeat came. */
    progressAt?: string
    slot?: CallSlot
    status: "queued" | "scheduled" | "running" | "retrying" | "complete" | "failed"
    /** The action id of the latest attempt of a function. */
    task?: string
    throttled?: CallThrottled
  }>
  next: string | null
}

export type InstanceCancelled = {
  /** Whether this call cancelled it. */
  cancelled: boolean
  id: string
  /** `debounce` or `batch` had put off the start of the instance: the start was dropped, and no instance will have the id. */
  pendingStart?: true
}

export type InstanceCompensating = {
  id: string
  /** How many compensations are left. */
  left: number
}

export type InstanceCounts = {
  asOf: string
  items: Array<{
    /** How many instances there are. */
    count: number
    revision?: number
    state?: string | null
    status?: string
    /** The id of the workflow. */
    workflow?: string
  }>
  next: string | null
}

export type InstanceDeleted = {
  deleted: true
  id: string
}

export type InstanceHead = {
  compensation?: {
    /** The status after them. */
    ends?: "failed" | "timedout" | "cancelled"
    error?: {
      /** The error code of the newest one, which has failed. */
      code: string
      /** The message. */
      msg: string
    }
    /** How many compensations were noted and not made. */
    left: number
    /** Whether the instance makes them now. */
    making: boolean
  }
  /** What is wrong with the rows of the instance. */
  damage?: string
  /** The earliest deadline. */
  deadline?: string
  endedAt?: string
  error?: {
    /** The error code. */
    code: string
    /** The message. */
    msg: string
  }
  /** The id of the state that failed. */
  failedState?: string
  /** How many records of the history were erased. */
  historyTrimmed?: number
  id: string
  /** How many other events or calls it waits for. */
  moreWaits?: number
  /** When the next attempt begins. */
  nextRetryAt?: string
  /** The instance that started this one. */
  parent?: string
  /** The revision of the workflow. */
  revision: number
  /** The number of the run, from 1; missing: the instance is damaged. */
  run?: number
  /** The data may contain a secret, and is masked or hidden. */
  sealed?: true
  startedAt: string
  /** The id of the state in which the instance is. */
  state: string
  status: "pending" | "running" | "waiting" | "paused" | "complete" | "failed" | "timedout" | "cancelled" | "damaged"
  /** What the instance waits for: events, the end of a delay, the next attempt, calls, or its start. Four at most; without a `context` whose texts are too long. Of more than eight calls only how many there are. */
  waits?: Array<{
    context?: EventContext
    /** The type of the events. */
    type: string
  } | TimeWait | CallWait | StartWait | {
    /** How many calls the state has made. */
    calls: number
    /** The id of the function, if it is the same for the first and the last. */
    function?: string
  }>
  /** The id of the workflow; empty: the instance is damaged. */
  workflow: string
}

export type InstancePaused = {
  id: string
  /** Whether this call paused it. */
  paused: boolean
}

export type InstanceResumed = {
  id: string
  /** Whether this call resumed it. */
  resumed: boolean
}

export type InstanceRun = {
  id: string
  /** The number of the run. */
  run: number
}

export type InstanceSelection = {
  /** The instances ended before this time. */
  before?: string
  status: Array<"complete" | "failed" | "timedout" | "cancelled">
  /** The id of the workflow; missing: of all workflows. */
  workflow?: string
}

export type InstanceStarted = {
  id: string
  /** Of a start that `debounce` has put off: when the instance starts, unless a newer request comes. With `batch`: when it starts at the latest. */
  startsAt?: string
}

export type InstanceWhy = {
  asOf: {
    /** The number of the commit. */
    commit: number
    /** The sequence of the last applied event. */
    cursor: number
  }
  /** false: a bound has ended the look. */
  complete: boolean
  /** Other namespaces that have an event of such a type. */
  elsewhere?: Array<string>
  /** An event of each of them that fits, if one was read. */
  elsewhereEvents?: Array<{
    id?: string
    /** The namespace of it. */
    namespace: string
    /** The sequence of the event in the event stream. */
    sequence: number
    source?: string
    /** When the broker stored the event. */
    time: string
    type?: string
  }>
  elsewhereLook?: {
    /** Since when their events were looked at. */
    from?: string
    /** Those that were looked at; others were not. */
    namespaces?: Array<string>
    /** The names without a namespace that were looked at; others were not. */
    unknown?: Array<string>
  }
  /** The nearest events first. */
  events: Array<{
    /** Whether the engine has applied the event. */
    applied?: boolean
    /** What completes the group, the best one first. One is enough: each that is followed starts an instance of its own. */
    corrections?: Array<{
      /** The values that a replay gives it. */
      attributes: Record<string, string>
      /** Whether a group is complete then. */
      completes: boolean
      differs: "correlate" | "data" | "type" | "namespace"
      /** The namespace that got it. */
      namespace: string
      /** Whether it is the event that is judged. */
      own: boolean
      /** The correction, for people. */
      says: string
      /** The sequence of the event to send again. */
      sequence: number
      /** The namespace to send it to. */
      toNamespace?: string
    }>
    /** The attributes by which the event is grouped. */
    correlate?: Record<string, string>
    early?: {
      /** How long the event came before the wait, or the definition. */
      seconds: number
      /** Whether the instance started after the event. */
      startedAfterEvent?: boolean
    }
    /** How many effects the event had. */
    effectCount?: number
    /** What became of the event; the first 20. */
    effects?: Array<EventEffect>
    /** The instance has ended, and can take no event. */
    ended?: true
    id?: string
    leftPartner?: {
      /** The sequence of the event. */
      sequence: number
      /** About when its lifespan ended. */
      time: string
      /** The type of the event. */
      type: string
    }
    /** From when on the state takes events that came before its wait. */
    lookbackFrom?: string
    moreGroups?: {
      /** false: there may be more, which were not looked at. */
      complete: boolean
      /** How many others have an event of a missing type. */
      count: number
    }
    /** The nearest other groups that have missing events. */
    nearGroups?: Array<{
      /** The attributes that the events of the group share. */
      correlate: Record<string, string>
      /** The missing types of which the group has events. */
      has: Array<string>
      hint?: "case" | "space" | "zeros" | "typo"
      /** The sequence of the first of these events in the event stream. */
      sequence?: number
    }>
    /** Events that would have completed the group, but for one thing. */
    partners?: Array<{
      differs: "namespace" | "type" | "data"
      /** The attributes with which it would have completed the group. */
      fits: Record<string, string>
      /** The other namespace that got it. */
      namespace?: string
      /** The sequence of the event. */
      sequence: number
      /** The type of the event. */
      type: string
    }>
    predicates: Array<JudgedPredicate>
    /** The verdict, for people. */
    says: string
    sequence: number
    source?: string
    /** The state in which the instance is now, which does not wait for the type: sent again, the event would not wake it. */
    stateNow?: string
    time: string
    type?: string
    verdict: "woke" | "started" | "filled" | "grouped" | "predicate" | "before" | "after" | "unread" | "duplicate" | "paused" | "skipped" | "correlation" | "lifespan" | "limit" | "dead" | "rateLimit" | "debounced" | "batched"
    /** The types of events that are still missing. */
    waitsFor?: Array<string>
    /** Of a wait that is over: whether the event fits what it asked for; missing: that is not known. */
    wouldFit?: boolean
  }>
  instance: {
    /** The types of the events that have come. */
    arrived?: Array<string>
    cancelling?: {
      /** When the cancel came; missing: its record is not among the newest ones. */
      since?: string
      /** How many running tasks must end before the instance ends. */
      tasks: number
    }
    compensation?: {
      /** The status after them. */
      ends?: "failed" | "timedout" | "cancelled"
      error?: {
        /** The error code of the newest one, which has failed. */
        code: string
        /** The message. */
        msg: string
      }
      /** How many compensations were noted and not made. */
      left: number
      /** Whether the instance makes them now. */
      making: boolean
    }
    /** The events for which its state will wait. */
    entering?: Array<{
      /** From when on the state takes events that came before its wait. */
      lookbackFrom?: string
      type: string
    }>
    error?: {
      /** The error code with which it ended. */
      code: string
      /** The message. */
      msg: string
    }
    id: string
    /** How many other calls have not ended. */
    moreWaits?: number
    /** Of an ended instance: the compensations that an operator has passed over since it was last retried or restarted, as far as its newest records show them. */
    passedCompensations?: Array<number>
    /** Of a paused one: whether its workflow is paused, too (the resume of the workflow resumes it), or only the instance. */
    paused?: "workflow" | "instance"
    /** When the instance entered its state, or ended. */
    since: string
    slot?: Slot
    /** The id of the state. */
    state?: string
    status: string
    /** Of an instance that runs and waits for nothing else: its next step waits for its turn, for a jq evaluation, or for the search for early events. The evaluations are those of its namespace. */
    step?: {
      evaluations: Evaluations
    }
    throttled?: Throttled
    waited?: {
      /** Of one that ended by its wait to start: for what it waited. */
      for: "slot" | "throttle"
      /** The value of the key; none: the limit has no key. */
      key?: unknown
      /** Since when it waited. */
      since: string
    }
    /** The first calls that wait for a slot or a throttle; at most three. */
    waitingCalls?: Array<{
      /** The place of the call. */
      index: number
      slot?: CallSlot
      throttled?: CallThrottled
    }>
    /** What it waits for: events, the end of a delay, the next attempt, or calls; at most 20 calls. */
    waits: Array<{
      context: EventContext
      /** From when on the state takes events that came before its wait. */
      lookbackFrom?: string
      type: string
    } | TimeWait | AwaitedCall>
    /** The id of the workflow. */
    workflow: string
  }
  /** How many messages of the stream were read. */
  looked: number
  /** When the oldest message that was read was stored. */
  lookedFrom?: string
  next?: string | null
  /** How many of them have such a type; missing: one event was named. */
  of?: number
  /** Names for which an event of such a type came, and which no namespace has. */
  unknownNamespaces?: Array<{
    /** The id of the dead letter that the event became. */
    deadLetter?: string
    /** Whether the event fits what the instance waits for; false: it has such a type only. */
    fits: boolean
    id?: string
    /** The name that no namespace has. */
    namespace: string
    /** The sequence of the event in the event stream. */
    sequence: number
    source?: string
    /** When the broker stored the event. */
    time: string
    type?: string
  }>
}

export type Instances = {
  /** false: a bound of the server has left something out that no page has. */
  complete: boolean
  items: Array<InstanceHead>
  /** How many instances were read for the page. */
  looked: number
  next: string | null
}

export type InstancesChanged = {
  /** How many instances the command changed. */
  done: number
  next: string | null
  /** Of `cancel`, with the last page: how many starts that `debounce` or `batch` had put off were dropped; missing: none. */
  pendingStarts?: number
  refused: Array<{
    /** An error code. */
    code: string
    /** Why the command was refused. */
    detail: string
    id: string
  }>
}

export type InstancesDeleting = {
  /** false: no ended instance is selected. */
  deleting: boolean
}

export type JudgedListener = {
  /** What completes the group, the best one first. One is enough: each that is followed starts an instance of its own. */
  corrections?: Array<{
    /** The values that a replay gives it. */
    attributes: Record<string, string>
    /** Whether a group is complete then. */
    completes: boolean
    differs: "correlate" | "data" | "type" | "namespace"
    /** The namespace that got it. */
    namespace: string
    /** Whether it is the event that is judged. */
    own: boolean
    /** The correction, for people. */
    says: string
    /** The sequence of the event to send again. */
    sequence: number
    /** The namespace to send it to. */
    toNamespace?: string
  }>
  /** The attributes by which the event is grouped. */
  correlate?: Record<string, string>
  early?: {
    /** How long the event came before the wait, or the definition. */
    seconds: number
    /** Whether the instance started after the event. */
    startedAfterEvent?: boolean
  }
  /** The instance has ended, and can take no event. */
  ended?: true
  instance?: string
  kind: "start" | "instance"
  leftPartner?: {
    /** The sequence of the event. */
    sequence: number
    /** About when its lifespan ended. */
    time: string
    /** The type of the event. */
    type: string
  }
  /** From when on the state takes events that came before its wait. */
  lookbackFrom?: string
  moreGroups?: {
    /** false: there may be more, which were not looked at. */
    complete: boolean
    /** How many others have an event of a missing type. */
    count: number
  }
  /** The nearest other groups that have missing events. */
  nearGroups?: Array<{
    /** The attributes that the events of the group share. */
    correlate: Record<string, string>
    /** The missing types of which the group has events. */
    has: Array<string>
    hint?: "case" | "space" | "zeros" | "typo"
    /** The sequence of the first of these events in the event stream. */
    sequence?: number
  }>
  /** Events that would have completed the group, but for one thing. */
  partners?: Array<{
    differs: "namespace" | "type" | "data"
    /** The attributes with which it would have completed the group. */
    fits: Record<string, string>
    /** The other namespace that got it. */
    namespace?: string
    /** The sequence of the event. */
    sequence: number
    /** The type of the event. */
    type: string
  }>
  predicates: Array<JudgedPredicate>
  /** The verdict, for people. */
  says: string
  /** From when on it listens. */
  since?: string
  start?: PredictedStart
  /** The id of the state. */
  state?: string
  /** The state in which the instance is now, which does not wait for the type: sent again, the event would not wake it. */
  stateNow?: string
  verdict: "woke" | "started" | "filled" | "grouped" | "predicate" | "before" | "after" | "unread" | "duplicate" | "paused" | "skipped" | "correlation" | "lifespan" | "limit" | "dead" | "rateLimit" | "debounced" | "batched"
  /** The types of events that are still missing. */
  waitsFor?: Array<string>
  /** The id of the workflow. */
  workflow: string
  /** Of a wait that is over: whether the event fits what it asked for; missing: that is not known. */
  wouldFit?: boolean
}

export type JudgedPredicate = {
  /** What the listener asks for. */
  asks: string
  /** The context attribute. */
  attribute: string
  /** A value of the attribute for which the predicate holds, if one is known. */
  fits?: string
  got: string | null
  hint?: "case" | "space" | "zeros" | "data" | "anchored" | "attribute" | "typo"
  holds: boolean
  kind: "equals" | "pattern"
  /** The hint, for people. */
  says?: string
}

export type Listener = {
  context: EventContext
  /** When the wait ends without an event. */
  deadline?: string
  /** The instance that waits. */
  instance?: string
  kind: "start" | "instance"
  /** The state in which the instance waits. */
  state?: string
  /** The type of the events. */
  type: string
  /** The id of the workflow. */
  workflow: string
}

export type Listeners = {
  /** false: a bound of the server has left something out that no page has. */
  complete: boolean
  items: Array<Listener>
  /** How many instances were read for the page. */
  looked: number
  next: string | null
}

export type LossAccepted = {
  /** Registered nodes that do not answer: what they have more is lost, too. */
  away: Array<{
    address: string
    node: string
  }>
  /** The latest epoch that it has. */
  epoch: number
  /** What other nodes had, and is lost now. */
  missing: Array<{
    address: string
    /** The latest epoch that this node has. */
    fromEpoch: number
    /** The first message of the log that is lost. */
    fromSequence: number
    /** The id of the node that has it. */
    node: string
    /** The latest epoch that is lost. */
    toEpoch: number
    /** The last message of the log that is lost. */
    toSequence: number
  }>
  /** The id of this node, which continues. */
  node: string
  /** The sequence of the log up to which its folder has the commits. */
  position: number
  /** What the log has lost, as `/readyz` says it. */
  why: string
}

export type Mistake = {
  /** The stable code of a finding. */
  code?: string
  /** The column of a place in a definition, from 1; 0: the whole line. */
  column?: number
  /** The line of a place in a definition, from 1; 0: the whole document. */
  line?: number
  /** What is wrong. */
  message: string
  /** The place, such as `states[0].timeout` or `.order.id`. */
  path: string
  severity?: "error" | "warning" | "note"
}

export type Namespace = {
  createdAt: string
  evaluations?: Evaluations
  name: string
  /** The quotas by name. */
  quotas: Record<string, {
    limit: number | "unlimited"
    /** The limit over HTTP, if it is another one. */
    overHttp?: number
    /** How much is used; missing: it is not counted. */
    used?: number
  }>
  settings?: NamespaceSettings | string
  /** Why the stored settings do not apply. */
  settingsError?: string
  settingsWarnings?: Array<{
    /** What is doubtful, and how to correct it. */
    message: string
    /** The place in the settings. */
    path: string
  }>
}

export type NamespaceCreated = {
  /** false: the namespace existed before. */
  created: boolean
  name: string
  /** What the former settings had and the new ones lack. */
  removed?: Array<{
    /** The place in the former settings. */
    path: string
    /** The URL of the service or webhook. */
    url?: string
  }>
  warnings?: Array<{
    /** What is doubtful, and how to correct it. */
    message: string
    /** The place in the settings. */
    path: string
  }>
}

export type NamespaceDeleted = {
  /** How many instances were cancelled. */
  cancelled: number
  /** With `dropCompensations`: how many compensations these instances had left. */
  droppedCompensations?: number
  /** Of a workflow: how many starts that `debounce` or `batch` had put off were dropped; missing: none. */
  pendingStarts?: number
} | {
  erasing: true
  number: number
}

export type NamespaceHead = {
  createdAt: string
  name: string
  settings?: NamespaceSettings | string
  /** Why the stored settings do not apply. */
  settingsError?: string
  settingsWarnings?: Array<{
    /** What is doubtful, and how to correct it. */
    message: string
    /** The place in the settings. */
    path: string
  }>
}

export type NamespaceSettings = unknown

export type Namespaces = {
  items: Array<NamespaceHead>
  next: string | null
}

export type NodeRemoved = {
  /** The id of the node. */
  node: string
  removed: boolean
}

export type OpenApi = {
  info: Record<string, unknown>
  /** The version of OpenAPI. */
  openapi: string
  paths: Record<string, unknown>
}

export type Overview = {
  asOf: string
  /** What asks for attention, 20 items of each kind at most. */
  attention: Array<{
    /** When the next attempt or the timeout is due. */
    at?: string
    /** What follows: the instance goes to the state `then` (`state`), makes another `attempt` of it, or begins another `run`; it ends with the status `ends` (`end`); a `call` makes its next attempt or times out; or it `depends` on the data or another timeout. */
    causes?: "state" | "attempt" | "run" | "end" | "call" | "depends"
    /** It makes its compensations before it ends. */
    compensates?: true
    /** How many instances, groups, dead letters or waiting tasks. */
    count?: number
    /** What is wrong, for people. */
    detail?: string
    /** The status with which the instance ends. */
    ends?: "complete" | "failed" | "timedout" | "cancelled"
    /** The code of the error that the timer raises, or with which the instance ends. */
    error?: string
    /** It is a service of the namespace `default`. */
    global?: true
    instance?: string
    kind: "failed" | "timedout" | "compensationStopped" | "incompleteGroups" | "pausedWorkflow" | "pausedService" | "pausedSource" | "sourceWaits" | "settings" | "retrying" | "deadline" | "noWorkers" | "deadLetters" | "unknownNamespace" | "server"
    /** The name to which events were sent, and which no namespace has. */
    namespace?: string
    /** How many tasks of the service run. */
    running?: number
    /** The name of the service. */
    service?: string
    /** Since when the instance is in the state, or the oldest task waits. */
    since?: string
    /** The name of the source. */
    source?: string
    /** The id of the state. */
    state?: string
    /** The id of the state in which the instance continues. */
    then?: string
    /** The id of the workflow. */
    workflow?: string
  }>
  broker: {
    /** How many losses of the broker are known. */
    losses: number
    /** Whether events are read. */
    reading: boolean
    /** Why no events are read. */
    waitingFor?: string
  }
  /** The id of a workflow, a status, and how many instances there are. */
  counts: Array<Array<string | number>>
  /** The kinds of which items may be missing. */
  cut: Array<{
    /** Why items may be missing, for people; missing: there are more. */
    detail?: string
    /** Nothing that is due before is missing. */
    exactUntil?: string
    kind: "counts" | "failed" | "timedout" | "compensationStopped" | "incompleteGroups" | "pausedWorkflow" | "pausedService" | "pausedSource" | "sourceWaits" | "retrying" | "deadline" | "noWorkers" | "unknownNamespace"
  }>
  levels: {
    evaluationsRunning: number
    evaluationsWaiting: number
    httpRunning: number
    httpWaiting: number
    jqWorkers: number
    /** Whether events are read. */
    readsEvents: boolean
    /** Whether tasks are sent and reports read. */
    runsTasks: boolean
    /** Whether events can be sent. */
    sendsEvents: boolean
    tasksUnsent: number
  }
  store?: {
    /** The size of data.mdb. */
    dataBytes: number
    /** How much of it has rows. */
    usedBytes: number
  }
}

export type PredictedStart = {
  /** Of one that would wait: how many of these come before it; missing: more than 1 000. */
  before?: number
  error?: {
    /** An error code. */
    code: string
    /** The message. */
    msg: string
  }
  /** How many instances hold a slot of the key. */
  held?: number
  /** The instance that would be cancelled, or that is to start for the key by an earlier request. */
  instance?: string
  /** The value of the `key` of the limit; none: it has none. */
  key?: unknown
  /** How many slots the key has, how many instances may start in the period, or how many inputs a batch has. */
  limit?: number
  /** When the `rateLimit` or the throttle permits a start of the key. */
  nextAt?: string
  /** `starts`: the instance begins at once; `waits`: for a slot or the throttle; `replaces`: another instance is cancelled for it; `debounced`, `batched`: the start is put off; `skipped`; `refused`: the event becomes a dead letter. */
  outcome: "starts" | "waits" | "replaces" | "debounced" | "batched" | "skipped" | "refused"
  /** The length of the period, as the definition has it. */
  period?: string
  /** Of one that would wait: its priority. */
  priority?: number
  /** The limit that decides; missing: none keeps the start. */
  reason?: "singular" | "quota" | "rateLimit" | "debounce" | "batch" | "concurrency" | "throttle"
  /** Of a batch: how many inputs it has then. */
  size?: number
  /** Of a start that is put off: when the instance starts. */
  startsAt?: string
  /** How many starts of the key wait. */
  waiting?: number
}

export type Problem = {
  /** The stable code of the error; docs/errors.md lists all codes. */
  code: string
  /** What is wrong, for people. The text may change between releases. */
  detail: string
  errors?: Array<Mistake>
  /** The HTTP status. */
  status: number
  /** The reason phrase of the HTTP status. */
  title: string
  /** Always about:blank. */
  type: string
}

export type Queue = {
  /** It is a service of the namespace `default`. */
  global?: true
  /** How many instances or calls hold a slot; not of a throttle. */
  held?: number
  holder?: {
    /** The instance that has held a slot longest, or that of the oldest call with a slot; of a pending start that is refused because its workflow is singular: the active instance. */
    instance?: string
    /** Since when it holds the slot, or is active. */
    since: string
    /** The action id of the call. */
    task?: string
  }
  /** Of starts: all instances that hold a slot are paused. */
  holdersPaused?: true
  /** Of calls: the image of the container. */
  image?: string
  /** Of a batch: how many inputs it has. */
  inputs?: number
  /** Of a pending start: the instance that will start. */
  instance?: string
  /** The value of the `key` of what is the `reason`; none: it has none. */
  key?: unknown
  kind: "starts" | "calls"
  /** Until when newer requests may move that; missing: for ever, or it is a batch. */
  latestAt?: string
  /** How many slots the key has, or how many instances may start, or calls be handed out, in the period of the throttle; of calls: for the call that is next. */
  limit?: number
  /** Of a batch: with how many inputs it starts. */
  maxSize?: number
  next?: {
    /** The start, or the instance of the call, that has the next turn. */
    instance?: string
    /** Its priority. */
    priority: number
    /** Since when it waits. */
    since: string
    /** The action id of the call. */
    task?: string
  }
  /** When the throttle permits the next start or call; it may have passed. Missing while all that wait are paused, by themselves or with their workflow or service. */
  nextAt?: string
  /** How many calls wait until their instance is resumed, or how many starts have no turn of the throttle until they are resumed. */
  paused?: number
  /** The length of the period of the throttle, as the definition has it. */
  period?: string
  /** How many starts or calls wait, without those in `paused`. */
  queued: number
  /** For what the starts or calls wait; `debounce` and `batch` have put off one start, which is a pending start. */
  reason: "concurrency" | "throttle" | "debounce" | "batch"
  refusal?: {
    /** An error code. */
    code: string
    /** Of a pending start: why it would not be permitted now, by `rateLimit`, `singular` or a quota. One that is due and not permitted is tried again when the `rateLimit` permits it, else every 10 seconds. */
    msg: string
  }
  /** Of calls: the name of the service. */
  service?: string
  /** Of calls: the service is paused, and no call that waits is made before it is resumed. */
  servicePaused?: true
  /** Of a pending start: the time of its first request. */
  since?: string
  /** When the pending start begins, unless a newer request moves that; a batch begins at the latest then. */
  startsAt?: string
  /** Of starts: the id of the workflow. */
  workflow?: string
  /** Of starts: the workflow is paused, and no start that waits begins before it is resumed. */
  workflowPaused?: true
}

export type Queues = {
  items: Array<Queue>
  next: string | null
}

export type Ready = {
  status: "ready"
}

export type Replay = {
  createdAt: string
  /** Whether the events are only counted. */
  dryRun: boolean
  error?: {
    /** An error code. */
    code: string
    /** The message. */
    msg: string
  }
  /** The sequence of the first message of the range. */
  first: number
  id: string
  /** The sequence of the last message of the range. */
  last: number
  /** How many sequences the stream dropped before they were read. */
  lost: number
  /** How many events of the range matched. */
  matched: number
  /** The next sequence. */
  position: number
  /** How many events are sent in a second, at most. */
  rate: number
  /** How many events would be too large with the attributes of a replay. */
  refused: number
  /** How many events were sent. */
  sent: number
  since?: string
  source?: string
  state: "running" | "done" | "stopped" | "failed"
  to?: {
    /** The only instance that may take the events. */
    instance?: string
    /** The id of the only workflow that may take the events; its number if it was deleted. */
    workflow?: string
  }
  type?: string
  until?: string
  waits?: {
    /** An error code. */
    code: string
    /** Why a running replay sends nothing now. */
    msg: string
  }
}

export type ReplayRange = {
  /** Whether the events are only counted. */
  dryRun?: boolean
  /** The sequence of the first message; either `first` or `since` is needed. */
  first?: number
  /** The sequence of the last message; missing or 0: the newest. */
  last?: number
  /** How many events are sent in a second, at most 100000; missing: 1000. */
  rate?: number
  /** Only events that the stream got at this time or later. */
  since?: string
  /** A glob for the source of the events. */
  source?: string
  to?: {
    /** The only instance that may take the events. */
    instance?: string
    /** The id of the only workflow that may take the events. */
    workflow?: string
  }
  /** A glob for the type of the events. */
  type?: string
  /** Only events that the stream got before this time. */
  until?: string
}

export type ReplayStarted = {
  /** The id of the replay. */
  id: string
}

export type ReplayStopped = {
  id: string
  stopped: true
}

export type Replays = {
  items: Array<Replay>
  next: string | null
}

export type Revision = {
  createdAt: string
  /** The text of the revision. */
  definition: string
  revision: number
  /** The id of the workflow. */
  workflow: string
}

export type Revisions = {
  items: Array<{
    createdAt: string
    /** The text of the revision; missing: `texts` was 0. */
    definition?: string
    revision: number
  }>
  next: string | null
}

export type Schedule = {
  /** The cron expression; missing: the workflow starts by calls only. */
  cron?: string
  lastTick?: string
  nextTick?: string
  /** Whether the workflow is paused. */
  paused: boolean
  /** The next ticks. */
  upcoming?: Array<string>
  /** The id of the workflow. */
  workflow: string
  /** The time zone of the cron expression. */
  zone?: string
}

export type ScheduleHead = {
  /** The cron expression; missing: the workflow starts by calls only. */
  cron?: string
  lastTick?: string
  nextTick?: string
  /** Whether the workflow is paused. */
  paused: boolean
  /** The id of the workflow. */
  workflow: string
  /** The time zone of the cron expression. */
  zone?: string
}

export type Schedules = {
  items: Array<ScheduleHead>
  next: string | null
}

export type SecretDeleted = {
  deleted: true
  name: string
}

export type SecretStored = {
  /** false: the secret had a value before. */
  created: boolean
  name: string
}

export type Secrets = {
  items: Array<{
    name: string
  }>
  next: string | null
}

export type Series = {
  from: string | null
  /** The numbers of each step, by the name of the series. */
  series: Record<string, Array<number>>
  /** The length of a step, in seconds. */
  step: number
}

export type ServerInfo = {
  broker?: {
    /** The latest losses of the broker. */
    losses: Array<{
      detail: string
      /** The first message that was lost. */
      first: number
      kind: string
      /** The last message that was lost. */
      last: number
      time: string
    }>
    /** Whether events are read. */
    reading: boolean
    /** Why no events are read. */
    waitingFor?: string
  }
  damagedRows?: {
    count: number
    items: Array<unknown>
  }
  /** The data folder. */
  data?: string
  engine?: {
    longestUnitKind: string
    longestUnitSeconds: number
  }
  /** The limits by name. */
  limits?: Record<string, number>
  /** The addresses of the NATS servers. */
  nats?: unknown
  natsInboxPrefix?: string
  requestSubjects?: Array<string>
  retention?: {
    deadLetters: {
      lastPassEnded?: string
      nextPass?: string
      running: boolean
    }
    instances: {
      lastPassEnded?: string
      nextPass?: string
      running: boolean
    }
    namespaces: Array<{
      namespace: string
    }>
  }
  store?: {
    dataBytes: number
    usedBytes: number
  }
  streams?: {
    prefix: string
    replicas: number
  }
  unreadableSettings?: Array<{
    /** Why they do not apply. */
    error: string
    namespace: string
  }>
  /** The release of millrace. */
  version: string
}

export type ServicePaused = {
  /** false: the service was paused, or not paused, before. */
  changed: boolean
  name: string
  paused: boolean
}

export type Services = {
  /** false: a bound of the server has left something out that no page has. */
  complete: boolean
  items: Array<{
    /** How many requests of workers for tasks are open. */
    asking?: number
    /** It is a service of the namespace `default`. */
    global?: true
    lastError?: {
      at: string
      /** An error code. */
      code: string
      /** The message; missing: it may contain a secret. */
      message?: string
    }
    /** Since when the oldest of the tasks in `waiting` waits. */
    oldest?: string
    paused: boolean
    /** How many others wait for a slot or the throttle of the service. */
    queued?: number
    /** How many tasks run. */
    running: number
    scheduleToStart?: {
      /** Seconds. */
      p50: number
      /** Seconds. */
      p99: number
    }
    /** The name of the service. */
    service: string
    target: {
      /** The subject, URL or image. */
      at: string
      kind: "workers" | "request" | "http" | "container"
    }
    /** How many tasks wait for a worker or the service. */
    waiting: number
  }>
  /** How many tasks were read. */
  looked: number
  next: string | null
}

export type Session = {
  /** The namespaces of the caller: `*` is all of them. */
  namespaces: Array<string>
  /** What the caller may do: `admin` is everything. */
  scopes: Array<string>
  /** When the session ends unless it is renewed. Missing: the caller has the token. */
  until?: string
}

export type Slot = {
  /** The error code. */
  error?: string
  /** How many instances hold a slot of the key. */
  held: number
  /** Those that have held theirs longest; at most three. */
  holders: Array<{
    /** An instance that holds a slot. */
    instance: string
    /** The instance is paused. */
    paused?: true
    /** Since when it holds the slot. */
    since: string
    /** It waits itself: for the throttle of the workflow. */
    waitsFor?: "throttle"
  }>
  /** Of one that waits: all that hold a slot are paused, and none gets free before one of them is resumed. */
  holdersPaused?: true
  /** The value of `concurrency.key`; none: the workflow has no key. */
  key?: unknown
  /** How many slots the newest revision of the workflow gives each key. */
  limit?: number
  /** The instance is paused, and its wait begins again, with its whole timeout, when it is resumed. */
  paused?: true
  /** A start with a higher one gets a slot first. */
  priority: number
  /** Whether the instance waits for the slot. */
  queued: boolean
  /** When its wait ends with the `error`; missing: the wait has no timeout. */
  until?: string
  /** How many starts wait for one. */
  waiting: number
  /** Of one that waits: the workflow is paused, and no start that waits begins before it is resumed. */
  workflowPaused?: true
}

export type SlotHolder = {
  /** The service is one of the namespace `default`. */
  global?: true
  /** The instance that holds the slot, or that of the call. */
  instance?: string
  /** The value of the `key` of the `concurrency`; none: it has none. */
  key?: unknown
  /** The instance, or that of the call, is paused. */
  paused?: true
  /** Since when it holds the slot. */
  since: string
  /** The action id of the call that holds the slot. */
  task?: string
  /** It waits itself: for the throttle of the workflow, or of the service of the call. */
  waitsFor?: "throttle"
}

export type SlotHolders = {
  items: Array<SlotHolder>
  next: string | null
}

export type Source = {
  /** When the settings were applied last. */
  appliedAt: string
  /** Where reading begins; missing: "new". */
  begin: "new" | "all" | {
    sequence: number
  } | {
    time: string
  }
  /** How many consumers this process has created. */
  consumers?: number
  createdAt: string
  /** How many messages were applied as events. */
  events: number
  /** How many sequences the stream removed before they were read. */
  gone?: number
  /** The highest sequence that is applied. */
  highest: number
  /** How often the consumer, or messages to this process, were lost. */
  interrupted?: number
  /** How many messages are not applied yet, as far as is known. */
  lag?: number
  lastRefusal?: {
    at: string
    /** An error code. */
    code: string
    /** Why the message became a dead letter. */
    msg: string
    /** Of the message in its stream. */
    sequence: number
  }
  /** How often the event stream had lost events of the source. */
  lostEvents?: number
  name: string
  notice?: {
    /** An error code. */
    code: string
    /** What happened last to one of the streams. */
    msg: string
  }
  /** Whether millrace made the stream for this source. */
  ownStream: boolean
  paused: boolean
  /** All messages of the stream up to this sequence are applied. */
  position: number
  /** How many messages are read in a second, at most. */
  rate: number
  /** The sequence that was read last. */
  read?: number
  /** Whether the stream is read now. */
  reading: boolean
  /** How often the stream had been created again. */
  recreated?: number
  /** How many messages became dead letters. */
  refused: number
  /** How many repetitions of events were dropped. */
  repeated: number
  /** How often the stream had lost messages that were applied. */
  rolledBack?: number
  settings?: Record<string, unknown>
  /** The name of the stream that is read. */
  stream: string
  /** Only messages of these subjects; empty: all. */
  subjects: Array<string>
  waits?: {
    /** An error code. */
    code: string
    /** Why nothing is read now. */
    msg: string
  }
}

export type SourceApplied = {
  /** Whether reading continues where it was. */
  continues: boolean
  /** Whether the source is new. */
  created: boolean
  name: string
  warnings?: Array<{
    /** What is doubtful, and how to correct it. */
    message: string
    /** The place in the settings. */
    path: string
  }>
}

export type SourceDeleted = {
  deleted: true
  name: string
}

export type SourcePaused = {
  name: string
  paused: boolean
}

export type SourceSettings = {
  /** Where reading begins; missing: "new". */
  begin?: "new" | "all" | {
    sequence: number
  } | {
    time: string
  }
  /** Whether millrace acknowledges the messages of the stream. */
  consume?: boolean
  mapping?: {
    /** The type of the events. */
    type: string
  }
  /** Of the stream that millrace makes, such as "7d". */
  maxAge?: string
  /** Of the stream that millrace makes, such as "256MiB". */
  maxBytes?: number | string
  /** Missing: as it is. */
  paused?: boolean
  /** How many messages are read in a second, at most 100000. */
  rate?: number
  /** The name of the stream that is read; missing: millrace makes one. */
  stream?: string
  /** Only messages of these subjects, with wildcards. */
  subjects?: Array<string>
}

export type SourceTried = {
  /** The newest first. */
  items: Array<{
    /** The data of a large event is left out. */
    cut?: true
    /** The source and id are known. */
    duplicate?: true
    error?: {
      /** An error code. */
      code: string
      /** Why the message would become a dead letter. */
      msg: string
    }
    event?: Record<string, unknown>
    /** Of the message in its stream. */
    sequence: number
    /** Types for which a workflow listens; it does not for the type of the event. */
    similarTypes?: Array<string>
    subject: string
    /** When the broker stored the message. */
    time: string
    /** What the event would start or wake. */
    would?: Array<{
      instance?: string
      verdict: "woke" | "started" | "filled" | "grouped" | "paused"
      workflow: string
    }>
  }>
  stream: string
}

export type Sources = {
  items: Array<Source>
  next: string | null
}

export type StartWait = {
  /** Of one that waits to start: for what it waits. */
  for: "slot" | "throttle"
  /** The value of the key; none: the limit has no key. */
  key?: unknown
}

export type StartedOrEnded = InstanceStarted | Instance

export type StoreReport = {
  /** How many findings have each code. */
  codes: Record<string, number>
  /** Whether the index was compared with the instances. */
  indexCompared: boolean
  items: Array<{
    /** What to do. */
    action: string
    /** The stable code of the finding; docs/store-check.md lists all codes. */
    code: string
    expected: string
    found: string
    instance?: string
    key: string
    namespace?: string
    table: string
  }>
  /** How many rows were read of each table. */
  rows: Record<string, number>
  /** Whether the check found nothing. */
  sound: boolean
  /** How many rows could not be read. */
  unreadable: number
}

export type StoredEvent = {
  /** Whether the engine has applied the event. */
  applied: boolean
  /** The other context attributes. */
  attributes?: Record<string, string | number | boolean>
  /** The data of a message that is not an event. */
  data?: string
  /** How many effects the event had. */
  effectCount: number
  /** What became of the event; the first 20. */
  effects: Array<EventEffect>
  /** The encoding of `data`. */
  encoding?: "utf-8" | "base64"
  error?: {
    /** An error code. */
    code: string
    /** The message. */
    msg: string
  }
  event?: CloudEvent
  /** The names and values of the headers of the message. */
  headers?: Array<Array<string>>
  id?: string
  position: {
    sequence: number
    /** The number of the stream. */
    stream: number
  }
  /** The id of the event that this one replays. */
  replayof?: unknown
  /** The sequence of the event in the event stream. */
  sequence: number
  /** The bytes of the message. */
  size: number
  source?: string
  subject?: string
  /** When the broker stored the event. */
  time: string
  to?: {
    /** The workflow does not exist any more. */
    deleted?: true
    /** The only instance that may take the event. */
    instance?: string
    /** The id of the only workflow that may take the event; its number if it was deleted. */
    workflow?: string
  }
  type?: string
}

export type StoredEventHead = {
  /** Whether the engine has applied the event. */
  applied: boolean
  /** The other context attributes. */
  attributes?: Record<string, string | number | boolean>
  /** How many effects the event had. */
  effectCount: number
  /** What became of the event; the first 20. */
  effects: Array<EventEffect>
  error?: {
    /** An error code. */
    code: string
    /** The message. */
    msg: string
  }
  id?: string
  /** The sequence of the event in the event stream. */
  sequence: number
  /** The bytes of the message. */
  size: number
  source?: string
  subject?: string
  /** When the broker stored the event. */
  time: string
  to?: {
    /** The workflow does not exist any more. */
    deleted?: true
    /** The only instance that may take the event. */
    instance?: string
    /** The id of the only workflow that may take the event; its number if it was deleted. */
    workflow?: string
  }
  type?: string
}

export type StoredEvents = {
  /** false: a bound of the server has left something out that no page has. */
  complete: boolean
  inOtherCase?: {
    /** Its values that differ in upper and lower case only. */
    attributes: Record<string, string>
    /** The sequence of the first event that fits in other case. */
    sequence: number
  }
  items: Array<StoredEventHead>
  /** How many messages of the stream were read. */
  looked: number
  /** The newest sequence of the event stream. */
  newest: number
  next: string | null
}

export type TaskFailure = {
  /** The error code, as `catch` and `retries` compare it. */
  code: string
  message?: string
}

export type TaskProgress = {
  /** How far the service is: at most 4 KiB of JSON. */
  progress?: unknown
}

export type Throttled = {
  /** The error code. */
  error?: string
  /** The value of `throttle.key`; none: the throttle has no key. */
  key?: unknown
  /** How many instances may start in the period. */
  limit?: number
  /** When the throttle permits the next start of the key; it may have passed. Missing while the workflow is paused. */
  nextAt?: string
  /** The instance is paused, and its wait begins again, with its whole timeout, when it is resumed. */
  paused?: true
  /** The length of the period, as the definition has it. */
  period?: string
  /** A start with a higher one begins first. */
  priority: number
  /** When its wait ends with the `error`; missing: the wait has no timeout. */
  until?: string
  /** How many starts of the key wait that are not paused. */
  waiting: number
  /** The workflow is paused, and no start that waits begins before it is resumed. */
  workflowPaused?: true
}

export type TimeWait = {
  /** What follows: the instance goes to the state `then` (`state`), makes another `attempt` of it, or begins another `run`; it ends with the status `ends` (`end`); a `call` makes its next attempt or times out; or it `depends` on the data or another timeout. */
  causes: "state" | "attempt" | "run" | "end" | "call" | "depends"
  /** It makes its compensations before it ends. */
  compensates?: true
  /** The status with which the instance ends. */
  ends?: "complete" | "failed" | "timedout" | "cancelled"
  /** The code of the error that the timer raises, or with which the instance ends. */
  error?: string
  /** The instance is paused: what follows comes at its resume if the time has passed by then. */
  held?: true
  /** The id of the state in which the instance continues. */
  then?: string
  /** When it ends. */
  until: string
  /** `delay`: the end of a delay; `attempt`: the next attempt of the state; `run`: the next run of the workflow. */
  what: "delay" | "attempt" | "run"
}

export type VariableDeleted = {
  deleted: true
  key: string
}

export type VariableHead = {
  contentType: string
  key: string
  /** An instance that holds a secret set the variable. */
  sealed?: true
  /** The bytes of the value. */
  size: number
}

export type VariableStored = {
  contentType: string
  key: string
  /** The bytes of the value. */
  size: number
}

export type Variables = {
  items: Array<VariableHead>
  next: string | null
}

export type WholeDeadLetter = {
  /** The message; in a list its beginning. */
  data: string
  /** What was wrong, for people. */
  detail: string
  /** The encoding of `data`. */
  encoding: "utf-8" | "base64"
  /** The names and values of the headers of the message. */
  headers: Array<Array<string>>
  /** The sequence of the dead letter in its stream. */
  id: string
  /** An error code. */
  reason: string
  /** The bytes of the whole message. */
  size: number
  /** The name of the source that read the message. */
  source?: string
  /** The subject of the message. */
  subject: string
  /** When the broker stored the dead letter. */
  time: string
  /** The queue has only the beginning of the data. */
  truncated?: true
}

export type Workflow = {
  /** The text of the newest revision. */
  definition: string
  description: string
  id: string
  name: string
  paused: boolean
  /** The newest revision. */
  revision: number
  start: "default" | "event" | "eventsXor" | "eventsAnd" | "scheduled"
  states: Array<{
    id: string
    /** The type of the state. */
    type: string
  }>
  /** When the newest revision was applied. */
  updatedAt: string
  version: string
}

export type WorkflowApplied = {
  /** false: the newest revision has this text. */
  changed: boolean
  dryRun?: true
  id: string
  /** The newest revision; missing: `dry_run` was set. */
  revision?: number
  warnings?: Array<Finding>
}

export type WorkflowDeleted = {
  /** How many instances were cancelled. */
  cancelled: number
  /** With `dropCompensations`: how many compensations these instances had left. */
  droppedCompensations?: number
  /** Of a workflow: how many starts that `debounce` or `batch` had put off were dropped; missing: none. */
  pendingStarts?: number
} | {
  kept: boolean
  number: number
}

export type WorkflowGraph = {
  /** The workflow has `compensate: true`. */
  compensates?: true
  /** The id of the workflow. */
  id: string
  /** The limits of starts and of calls; missing: there are none. */
  limits?: Array<{
    /** The id of the function whose calls it limits. */
    function?: string
    /** Its key in the definition. */
    kind: "singular" | "rateLimit" | "debounce" | "batch" | "concurrency" | "throttle" | "priority"
    /** The line where it is written. */
    line: number
    /** The id of the state whose calls it limits. */
    state?: string
    /** Its keys and values, in short. */
    text: string
  }>
  revision: number
  start: {
    /** The types of the events, or the schedule. */
    label: string
    state: string | null
  }
  states: Array<{
    /** The functions that the state calls. */
    calls: Array<string>
    /** An Error state with `compensate: true`. */
    compensates?: true
    id: string
    /** The line where the state begins. */
    line: number
    /** The type of the state. */
    type: string
    /** The function of its `compensate`. */
    undo?: string
    /** The types of the events for which the state waits. */
    waits: Array<string>
  }>
  ways: Array<{
    /** An `on_failure` with `compensate: true`. */
    compensates?: true
    from: string | null
    kind: "transition" | "condition" | "event" | "default" | "catch" | "on_failure"
    /** The condition, the type of the event or the error codes; may be empty. */
    label: string
    /** The line where the way is written. */
    line: number
    /** The way leads to the next run of the instance (continueAsNew). */
    nextRun?: true
    to: string | null
  }>
}

export type WorkflowHead = {
  /** How many instances have each status. */
  counts?: Record<string, number>
  id: string
  name: string
  /** The next tick of the schedule. */
  nextTick?: string
  paused: boolean
  /** The newest revision. */
  revision: number
  start: "default" | "event" | "eventsXor" | "eventsAnd" | "scheduled"
  /** When the newest revision was applied. */
  updatedAt: string
}

export type WorkflowPaused = {
  /** How many instances were paused or resumed. */
  changed: number
  id: string
  paused: boolean
}

export type Workflows = {
  items: Array<WorkflowHead>
  next: string | null
}
