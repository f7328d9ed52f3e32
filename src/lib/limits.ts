/** The limits on the resources one client may use. */

const SECOND = 1000
const KIB = 1024
const MIB = 1024 * KIB

export const LIMITS = {
  /** Bytes of a request body; kube-apiserver's default. */
  bodyBytes: 3 * MIB,
  /** Bytes of one stored object, however often it is patched: more than the largest body and its managed fields. */
  storedObjectBytes: 8 * MIB,
  /**
   * Values in one decoded body, and in one stored object with its managed fields: scalars, lists and mappings; a key of a large mapping
   * counts as several, since V8 takes that much longer for it. Every later step (defaults, validation, owned fields) takes time for each
   * value. Custom objects and definitions may be large, as all their steps let others run: the densest of the real ones
   * (docs/capacity.md) have 15 bytes for each value, so that a body of 3 MiB holds 210,000. The rules of other kinds have no stops; the
   * largest that they allow in lists, an EndpointSlice of 1,000 endpoints and 100 ports with all fields, has 22,408 values. Keys of stored objects weigh less, as those of managed fields are in
   * mappings that are large wherever a list of items with keys is.
   */
  values: {
    large: { decoded: { values: 220_000, keyWeight: 8 }, stored: { values: 480_000, keyWeight: 4 } },
    other: { decoded: { values: 50_000, keyWeight: 2 }, stored: { values: 120_000, keyWeight: 2 } },
  },
  /** Operations of one JSON patch, and the bytes that all its copies may add together; both as in kube-apiserver. */
  patchOperations: 10_000,
  patchCopyBytes: 3 * MIB,
  /** Parts of managedFields in one write that are not in canonical form: each of them is parsed and written again. */
  rewrittenElements: 8_000,
  /** Nesting depth of JSON and CBOR: far below the depth that would exhaust the stack of any later walk. */
  jsonDepth: 1000,
  /** Nesting depth of protobuf messages; declared types are nowhere near it. */
  protobufDepth: 256,
  /** Lines of YAML: the parser visits each of them several times, whatever its content. */
  yamlLines: 250_000,
  /** Nesting depth of YAML lists and mappings, well within the size of the stack. */
  yamlDepth: 500,
  /**
   * YAML up to this size is parsed on the main thread unless it has anchors, and so is protobuf up to its size. Larger bodies are parsed in
   * workers.
   */
  inlineYamlBytes: 4 * KIB,
  inlineProtobufBytes: 128 * KIB,
  /**
   * The workers that parse such bodies: their number, the cost of one body, the time until an idle worker ends, and the queued bodies per
   * user.
   */
  transcoding: { workers: 2, cpuMs: 3 * SECOND, elapsedMs: 20 * SECOND, heapMB: 384, idleMs: 5 * SECOND, waitingPerUser: 16 },
  /** Rules of more work than this (`schema/rule-work.ts`) run in a worker: definitions and policies full of expressions. */
  inlineRuleWork: 3_000,
  /** The worker for such rules, which may take longer: an object that exceeds this would make any server unusable. */
  validation: { workers: 1, cpuMs: 20 * SECOND, elapsedMs: 45 * SECOND, heapMB: 512, idleMs: 5 * SECOND, waitingPerUser: 4 },
  /** Injected faults: their number, the longest delay, the length of strings and lists, and the bytes of a request body that adds some. */
  faults: { rules: 1_000, delayMs: 3600 * SECOND, textLength: 1_000, verbs: 20, bodyBytes: 256 * KIB },
  /** Writes whose users are remembered, user names kept (each once), and writes that one request may ask about. */
  notedWrites: 256 * KIB,
  notedUsers: 1_000,
  writesAskedFor: 1_000,
  /** Snapshots of the store that are saved at once: each has a page of records in memory, and keeps history from being compacted. */
  snapshotsAtOnce: 2,
  /** Snapshots that a server for tests keeps in memory: their number, the bytes of all of them, and those of a file that is sent. */
  keptSnapshots: { count: 100, bytes: 1024 * MIB, fileBytes: 256 * MIB },
  /**
   * Workspaces of a server: their number; bytes of the records of one with their history, and of all memory that its caches count with;
   * requests of one that are handled at once and that wait; and how long one may work before the others have their turn.
   */
  workspaces: { count: 1_000, storeBytes: 128 * MIB, memoryBytes: 512 * MIB, inflight: 50, waiting: 500, sliceMs: 5 },
  /** Recorded changes in one answer, and the longest wait for components to settle. */
  recordsPerAnswer: 10_000,
  settledWaitSeconds: 3600,
  /**
   * Sessions of the console: their number, that of one user, and of logouts that are remembered; how long one lasts, also without any use;
   * how long a code for a login is valid; bytes of a login; and sessions that are looked for in other processes at once.
   */
  console: {
    sessions: 1_000,
    sessionsOfUser: 20,
    logouts: 10_000,
    sessionMs: 12 * 3600 * SECOND,
    idleMs: 1800 * SECOND,
    codeMs: 60 * SECOND,
    bodyBytes: 64 * KIB,
    questions: 32,
  },
  /**
   * Requests that are recorded while somebody looks at them, and always on servers for tests: their number, their bytes together; the length
   * of one text in them, how long they are recorded after the last look, and the bytes that wait for a client that follows them.
   */
  recordedRequests: {
    lookedAt: { number: 2_000, bytes: 4 * MIB },
    always: { number: 10_000, bytes: 16 * MIB },
    textLength: 1_000,
    lookedAtMs: 300 * SECOND,
    unsentBytes: MIB,
  },
  /** Bodies that are recorded for those who look at requests: of all of them together, and of one. */
  recordedBodies: { bytes: 4 * MIB, bodyBytes: 64 * KIB },
  /** Slow requests that are remembered. */
  slowRequests: 20,
  /** Writes of controllers and simulated nodes: in flight at once, and started in one iteration of the event loop. */
  backgroundWrites: { atOnce: 32, perIteration: 4 },
  /** Pods that one reconcile of a StatefulSet creates: more are created by the next ones. */
  statefulPodsAtOnce: 500,
  /** Objects that a storage migration reads per page, writes concurrently, and writes per second: clients come first. */
  migration: { page: 500, atOnce: 16, perSecond: 1000 },
  /** Bytes of the request line and headers: long selectors and continue tokens travel in the path. */
  headerBytes: 64 * KIB,
  headerPairs: 200,
  /** Concurrent streams on one HTTP/2 connection, as in kube-apiserver; further requests wait in the client, or use another connection. */
  streamsPerConnection: 100,
  /**
   * Streams beyond that limit that a connection may have refused. Node still counts streams that have just ended, so that a client within
   * the limit can exceed it.
   */
  refusedStreams: 100_000,
  /** Requests of one HTTP/2 connection that wait for a seat; further ones are not read before. */
  waitingPerConnection: 16,
  connections: 16_384,
  /** Bytes buffered of an HTTP/1.1 client that does not wait for responses; beyond it the connection is no longer read. */
  pipelinedBytes: 64 * KIB,
  /** Bytes of a request head up to which node:http is bypassed, as substrings keep all of it in memory; and header names that are cached. */
  plainHeadBytes: 8 * KIB,
  cachedHeaderNames: 512,
  /** Cached routes, and the length of their targets. */
  cachedRoutes: 256,
  cachedTargetLength: 256,
  /** Characters of an audit id that a client sends. */
  auditIdLength: 64,
  /** From connecting to the end of the TLS handshake: a time in which the server runs (`handshakes.ts`). */
  handshake: { ticks: 10, tickMs: SECOND },
  /** Intermediate certificates of peers that are read in a way that leaks their memory, about 10 KB each (`tls-peer.ts`). */
  unfreedCertificates: 2_000,
  /** Characters of a bearer token: it is parsed, hashed and compared before its user is known. */
  tokenLength: 32 * KIB,
  /** Verified tokens that each authenticator caches. */
  cachedTokens: 4_096,
  /** Decisions of an authorization webhook that are cached, and the length of a review's strings beyond which they are not. */
  cachedReviews: 8_192,
  cachedReviewLength: 10_000,
  /** Pairs of requestor and impersonated user whose mode is cached. */
  cachedImpersonations: 10_000,
  /** Client certificates whose verification result is cached for their next connection. */
  knownClientCertificates: 1_000,
  /** From the first byte of an HTTP/1.1 request to the end of its headers, and to the end of its body. */
  headersMs: 30 * SECOND,
  requestMs: 120 * SECOND,
  /** An idle connection, without a request in flight, is closed after this. */
  idleMs: 120 * SECOND,
  /** A silent HTTP/2 connection with open streams is pinged after `idleMs`, and dropped if the ping is not answered within this. */
  pingMs: 15 * SECOND,
  /** Silence after which the kernel sends a keep-alive probe. */
  keepAliveMs: 30 * SECOND,
  /** A client that reads nothing of a large response for this long is dropped. */
  stallMs: 60 * SECOND,
  /** How long further data of a refused client is discarded before the connection closes. */
  lingerMs: 1 * SECOND,
  /** Responses up to this size are left to the socket's buffers without a stall timer. */
  smallBytes: 64 * KIB,
  /** Timeout for connecting to a kubelet or a pod. */
  connectMs: 10 * SECOND,
  /** Timeout for a discovery document of the server behind an APIService, and its bytes. */
  aggregatedCheckMs: 5 * SECOND,
  aggregatedDocumentBytes: 16 * MIB,
  /** Deadline of requests other than watches. */
  deadlineMs: 60 * SECOND,
  /**
   * How long a write may keep its reservations (such as cluster IPs) before it is stored, when other servers share the store: they release
   * reservations after a while.
   */
  sharedWriteMs: 45 * SECOND,
  /** How long a write with an unknown outcome may still be made: no write to a store that servers share lasts as long. */
  undecidedWriteMs: 90 * SECOND,
  /**
   * When other servers share the store: how far behind the cache may be, in milliseconds, for a write to start from it; the size up to
   * which a write starts even so, although it has to be repeated if it conflicts; and the number of such writes in flight.
   */
  behindMs: 100,
  behindBytes: 64 * KIB,
  behindWrites: 12,
  /** Bytes that a watch has written and its client has not read; beyond it no more events are sent until the client has caught up. */
  watchBacklogBytes: 1 * MIB,
  /** Open watches, in total and per user. */
  watches: 16_384,
  watchesPerUser: 8_192,
  /** How long a request waits for a seat: a quarter of the request timeout, as in kube-apiserver. */
  waitMs: 15 * SECOND,
  /** Size of an error response: the number of causes, the length of all their messages, of one value in them, and of the message. */
  errorCauses: 2_000,
  errorTextLength: 160 * KIB,
  errorValueLength: 16 * KIB,
  errorMessageLength: 256 * KIB,
  /** Bytes of an admission webhook's response: a patch can be larger than the object that it patches. */
  admissionAnswerBytes: 16 * MIB,
  /** Bytes of a conversion webhook's response: a constant, and a factor for each byte of the request. */
  webhookAnswerBytes: 1 * MIB,
  webhookAnswerFactor: 4,
  /** Bytes of a review that an authentication or authorization webhook returns. */
  reviewBytes: 1 * MIB,
  /** Responses larger than this are compressed for clients that accept it. */
  gzipBytes: 128 * KIB,
  /**
   * Lists up to the first size are sent as one buffer, larger ones in chunks up to the second; lists that are encoded for the request are
   * sent whole up to the third.
   */
  listWholeBytes: 16 * KIB,
  listPieceBytes: 256 * KIB,
  wholeListBytes: 4 * MIB,
  /** Characters of one chunk of a list that is encoded while it is sent. */
  encodedPieceLength: 64 * KIB,
  /** Flow-control windows: received data that the server buffers unread, per stream and per connection. */
  streamWindowBytes: 256 * KIB,
  connectionWindowBytes: 4 * MIB,
  /**
   * Bytes of responses that the client of an HTTP/2 connection has not read; beyond it, the server produces no further responses for it.
   */
  unreadBytes: 16 * MIB,
  /**
   * Memory of one HTTP/2 connection before new streams are refused, in MB as Node counts them: small responses of all streams, and more.
   */
  sessionMemoryMB: 128,
  /** Bytes and fragments of a WebSocket message from a client, where no input is expected. */
  webSocketMessageBytes: 64 * KIB,
  webSocketFragments: 1024,
  /** Bytes of a WebSocket message in a session with a container. */
  sessionMessageBytes: 4 * MIB,
  /** Input of a session that the server buffers until the command reads it; then the client has to wait. */
  sessionInputBytes: 256 * KIB,
  /** How long a client may take to open the streams of a session, as at a kubelet. */
  streamCreationMs: 30_000,
  /** Bytes of a header block or another control frame of SPDY, streams of one connection, and data that a stream buffers unread. */
  spdyHeaderBytes: 64 * KIB,
  spdyStreams: 1024,
  spdyStreamBytes: 256 * KIB,
  /** Input that a simulated command reads, and a line that somebody types. */
  sessionStdinBytes: 1 * MIB,
  sessionLineBytes: 4 * KIB,
  /** Bytes and number of files that clients' commands may change in one simulated pod, and bytes of all pods. */
  changedFileBytes: 1 * MIB,
  changedFiles: 256,
  allChangedFileBytes: 32 * MIB,
  /** Runes of warning headers in one response; beyond it each warning is truncated to the second number. */
  warningRunes: 4096,
  warningCutRunes: 256,
  /** Warnings that one write collects: more than any response can carry. */
  warnings: 5_000,
  /** Unknown fields of a custom object that are named, in the order of their paths: more than any response can carry. */
  unknownFields: 10_000,
  /** Units of work for the checks of one request (`schema/budget.ts`); all of them take some tenths of a second. */
  requestWork: 4_000_000,
  /** Characters of a duration: parsing megabytes would block other requests for a second. */
  durationLength: 4 * KIB,
  /** Nesting depth of a shard selector. */
  shardSelectorDepth: 100,
  /**
   * An explanation of admission: its steps, the length of a string and of a patch in it, and the bytes of the header; every client accepts
   * a header of that size.
   */
  explanation: { steps: 200, textLength: 300, patchLength: KIB, headerBytes: 8 * KIB },
  /** Characters of one regular expression. */
  patternLength: 16 * KIB,
  /** Instructions that all patterns of a CustomResourceDefinition may compile to; each takes a microsecond or two. */
  patternInstructions: 250_000,
  /** Units of work for the cells of a table: per object, and per byte of it. */
  tableWorkPerObject: 1000,
  tableWorkPerByte: 1 / 4,
  /** Bytes that the defaults of a custom kind may add to one object. */
  defaultBytes: 4 * MIB,
  /** Events of a component that wait to be written; further ones are lost. The recorders of Kubernetes keep a tenth of that. */
  waitingEvents: 10_000,
  /** Bytes of a response of a scheduler extender, which may have all nodes in it. */
  extenderBytes: 64 * MIB,
  /** Steps of the search for devices before it gives up: on one node, and for one pod. A step takes some tenths of a microsecond. */
  allocationStepsPerNode: 20_000,
  allocationStepsPerPod: 200_000,
  /** Cached compiled expressions over devices, and cached results per device. */
  compiledDeviceExpressions: 200,
  resultsPerDevice: 32,
  /** Simulated nodes, and pods on each of them. */
  simulatedNodes: 10_000,
  podsOfSimulatedNode: 1000,
  /** Devices of one driver on a simulated node. */
  devicesOfSimulatedNode: 256,
  /**
   * Commands of simulated containers, their probes and hooks (docs/simulated-nodes.md): the budget of one run
   * (`nodes/container/budget.ts`); the budget of a run on the main thread, which takes some microseconds; and the worker that runs all
   * others. The worker's times are a backstop: a run within its budget takes a tenth of a second.
   */
  commands: {
    budget: { steps: 10_000, bytes: 4 * MIB, output: 256 * KIB, files: 256, inputs: 16 * MIB },
    inline: { steps: 32, bytes: 4 * KIB, output: 2 * KIB, files: 8, inputs: 0 },
    inlineCommandBytes: 256,
    keptInline: 2_000,
    worker: { workers: 1, cpuMs: 5 * SECOND, elapsedMs: 120 * SECOND, heapMB: 192, idleMs: 5 * SECOND, waitingPerUser: 256 },
    /** Cached results, and their bytes. */
    keptResults: 20_000,
    keptBytes: 32 * MIB,
  },
  /**
   * A pod with more containers than this is reconciled again only after this many milliseconds per container, as each reconcile takes that
   * much longer.
   */
  manyContainers: 100,
  lookMsPerContainer: 10,
  /** Characters of a message that a simulated node writes into a status or an event. */
  nodeMessageLength: 4 * KIB,
  /**
   * Local processes of containers: the memory for the output of a run, the output of a probe that is kept, and how long a process may take
   * to end when the server does.
   */
  localProcess: { logBytes: 10 * MIB, probeOutputBytes: 10 * KIB, endMs: 2 * SECOND },
} as const
