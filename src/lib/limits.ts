/** Every limit on what one client may use, in one place. */

const SECOND = 1000
const KIB = 1024
const MIB = 1024 * KIB

export const LIMITS = {
  /** Bytes of a request body; kube-apiserver's default. */
  bodyBytes: 3 * MIB,
  /** Bytes of one stored object, however often it is patched: more than the largest body and its managed fields. */
  storedObjectBytes: 8 * MIB,
  /**
   * Values in one decoded body: scalars, lists and mappings, and keys of large mappings twice. Every later step (defaults, validation,
   * owned fields) costs a few microseconds for each.
   */
  decodedNodes: 50_000,
  /** Values in one stored object: those of a body, and what its managed fields add. */
  storedNodes: 120_000,
  /** Parts of managedFields in one write that are not written the way the API writes them: each is read and written anew. */
  rewrittenElements: 8_000,
  /** Values in one body of YAML: to read one takes longer than all that follows. Only people write YAML; what programs send is JSON. */
  yamlNodes: 40_000,
  /** Lines of YAML, of which the parser looks at each a few times, whatever is on it. */
  yamlLines: 250_000,
  /** How deep lists and mappings of YAML may nest, well within what any stack takes. */
  yamlDepth: 500,
  /** YAML up to this size is read at once, unless it has anchors; and protobuf up to this. Larger bodies are read in workers. */
  inlineYamlBytes: 4 * KIB,
  inlineProtobufBytes: 128 * KIB,
  /** Workers that read such bodies, what one body may cost there, when a worker without work ends, and bodies of one user that wait. */
  transcoding: { workers: 2, cpuMs: 500, elapsedMs: 10 * SECOND, heapMB: 256, idleMs: 5 * SECOND, waitingPerUser: 16 },
  /** Rules of more work than this (`schema/rule-work.ts`) run in a worker: definitions and policies full of expressions. */
  inlineRuleWork: 3_000,
  /** The same for the worker that does that, which takes longer: an object that is refused here is one that no server would be used with. */
  validation: { workers: 1, cpuMs: 20 * SECOND, elapsedMs: 45 * SECOND, heapMB: 512, idleMs: 5 * SECOND, waitingPerUser: 4 },
  /** Faults that are injected: how many, how long one may delay, and what its texts and lists may hold; bytes of a body that adds some. */
  faults: { rules: 1_000, delayMs: 3600 * SECOND, textLength: 1_000, verbs: 20, bodyBytes: 256 * KIB },
  /** Writes whose users are remembered, names of users that are kept once, and how many writes one request may ask about. */
  notedWrites: 256 * KIB,
  notedUsers: 1_000,
  writesAskedFor: 1_000,
  /** Writes of controllers and simulated nodes: how many are under way at once, and how many begin in one iteration of the event loop. */
  backgroundWrites: { atOnce: 32, perIteration: 4 },
  /** Pods that one look at a StatefulSet creates: however many it asks for, they are planned in parts. */
  statefulPodsAtOnce: 500,
  /** Objects that a storage migration writes in a row, at once, and per second: clients come first. */
  migration: { page: 500, atOnce: 16, perSecond: 1000 },
  /** Bytes of the request line and headers: long selectors and continue tokens travel in the path. */
  headerBytes: 64 * KIB,
  headerPairs: 200,
  /** Streams at once on one HTTP/2 connection, as kube-apiserver allows; what a client asks for beyond waits there, or takes another connection. */
  streamsPerConnection: 100,
  /** Streams beyond that which a connection may have refused. Node still counts those that have just ended, so that who keeps to the limit can pass it. */
  refusedStreams: 100_000,
  /** Requests of one HTTP/2 connection that wait for a seat; further ones are not looked at before. */
  waitingPerConnection: 16,
  connections: 16_384,
  /** From connect to the end of the TLS handshake. */
  handshakeMs: 10 * SECOND,
  /** Certificates behind those of peers that are got at in a way that costs their memory for good, about 10 KB each (`tls-peer.ts`). */
  unfreedCertificates: 2_000,
  /** Client certificates whose verdict is kept for their next connection. */
  knownClientCertificates: 1_000,
  /** From the first byte of an HTTP/1.1 request to the end of its headers, and to the end of its body. */
  headersMs: 30 * SECOND,
  requestMs: 120 * SECOND,
  /** A connection without a request in flight is closed after this. */
  idleMs: 120 * SECOND,
  /** A silent HTTP/2 connection with open streams is pinged after `idleMs`, and dropped without an answer after this. */
  pingMs: 15 * SECOND,
  /** Silence after which the kernel probes a connection. */
  keepAliveMs: 30 * SECOND,
  /** A client that takes nothing of a large answer for this long is dropped. */
  stallMs: 60 * SECOND,
  /** How long what a refused client still sends is thrown away before the connection closes. */
  lingerMs: 1 * SECOND,
  /** Answers up to this size are left to the socket's buffers without a stall timer. */
  smallBytes: 64 * KIB,
  /** How long connecting to a kubelet or a pod may take. */
  connectMs: 10 * SECOND,
  /** What a server behind an APIService may take to tell what it serves, and the bytes of such a document. */
  aggregatedCheckMs: 5 * SECOND,
  aggregatedDocumentBytes: 16 * MIB,
  /** Requests other than watches are answered within this. */
  deadlineMs: 60 * SECOND,
  /** How long what a write has reserved may wait to be stored, over a store that other servers write to: they give it to others after a while. */
  sharedWriteMs: 45 * SECOND,
  /**
   * Over a store that other servers write to: how far what a write is decided by may be behind, in milliseconds; up to which size a
   * write is begun all the same, as it has to begin again if it is rejected; and up to how many on their way to the store.
   */
  behindMs: 100,
  behindBytes: 64 * KIB,
  behindWrites: 12,
  /** Watches open at once, and of one user. */
  watches: 16_384,
  watchesPerUser: 8_192,
  /** How long a request waits for its seat: a quarter of the time for a request, as in kube-apiserver. */
  waitMs: 15 * SECOND,
  /** The size of an error response: how many causes, the length of all their texts, of one value in them, and of the message. */
  errorCauses: 2_000,
  errorTextLength: 160 * KIB,
  errorValueLength: 16 * KIB,
  errorMessageLength: 256 * KIB,
  /** Bytes of a conversion webhook's answer: so many, and so many for each byte that was sent to it. */
  webhookAnswerBytes: 1 * MIB,
  webhookAnswerFactor: 4,
  /** Answers larger than this are compressed for clients that accept it. */
  gzipBytes: 128 * KIB,
  /** Lists up to the first size are sent as a buffer of their own, larger ones in pieces up to the second; those that are encoded anew are whole for longer. */
  listWholeBytes: 16 * KIB,
  listPieceBytes: 256 * KIB,
  wholeListBytes: 4 * MIB,
  /** Characters of a piece of a list that is encoded while it is sent. */
  encodedPieceLength: 64 * KIB,
  /** Received data that the server is willing to hold unread, per stream and per connection. */
  streamWindowBytes: 256 * KIB,
  connectionWindowBytes: 4 * MIB,
  /** Bytes of answers that the client of an HTTP/2 connection has not read; past it, no more are made for it. */
  unreadBytes: 16 * MIB,
  /** Memory one HTTP/2 connection may hold before new streams are refused, in MB as node counts: all streams' small answers and more. */
  sessionMemoryMB: 128,
  /** Bytes and fragments of a message that a client sends over WebSocket, where nothing is expected of it. */
  webSocketMessageBytes: 64 * KIB,
  webSocketFragments: 1024,
  /** Runes of warning headers in one answer; past it each warning is cut to the second number. */
  warningRunes: 4096,
  warningCutRunes: 256,
  /** Units of work that the checks of one request may cost (`schema/budget.ts`); all of them take some tenths of a second. */
  requestWork: 4_000_000,
  /** Characters of one regular expression. */
  patternLength: 16 * KIB,
  /** Instructions that the patterns of a custom resource definition may compile to, together; each takes a microsecond or two. */
  patternInstructions: 250_000,
  /** Units of work that the cells of a table may cost: for each object, and for each byte of it. */
  tableWorkPerObject: 1000,
  tableWorkPerByte: 1 / 4,
  /** Characters of a cron schedule, which is read again for every job that it makes. */
  scheduleLength: 16 * KIB,
  /** Bytes that the defaults of a custom kind may add to one object. */
  defaultBytes: 4 * MIB,
  /** What the search for devices may try before it gives up: on one node, and for one pod. A try takes some tenths of a microsecond. */
  allocationStepsPerNode: 20_000,
  allocationStepsPerPod: 200_000,
  /** Expressions over devices that are kept compiled, and results that are kept of each device. */
  compiledDeviceExpressions: 200,
  resultsPerDevice: 32,
  /** Simulated nodes, and pods on each of them. */
  simulatedNodes: 1000,
  podsOfSimulatedNode: 1000,
  /** Devices of one driver on a simulated node. */
  devicesOfSimulatedNode: 256,
  /**
   * Commands of simulated containers, their probes and hooks (docs/simulated-nodes.md): what one run may use, all of it counted
   * (`nodes/container/budget.ts`); what one may use that is run on the main thread, which takes some microseconds; and the worker
   * that runs all others. Its times are a backstop: a run that keeps to its budget takes a tenth of a second.
   */
  commands: {
    budget: { steps: 10_000, bytes: 4 * MIB, output: 256 * KIB, files: 256, inputs: 16 * MIB },
    inline: { steps: 32, bytes: 4 * KIB, output: 2 * KIB, files: 8, inputs: 0 },
    inlineCommandBytes: 256,
    keptInline: 2_000,
    worker: { workers: 1, cpuMs: 5 * SECOND, elapsedMs: 120 * SECOND, heapMB: 192, idleMs: 5 * SECOND, waitingPerUser: 256 },
    /** Results that are kept, and their bytes. */
    keptResults: 20_000,
    keptBytes: 32 * MIB,
  },
  /** A pod of more containers than this is looked at again after so many milliseconds for each, as every look takes that much longer. */
  manyContainers: 100,
  lookMsPerContainer: 10,
  /** Characters of a message that a simulated node writes into a status or an event. */
  nodeMessageLength: 4 * KIB,
} as const
