/** The connection to a simulated node: answers with logs, sessions in the simulated shell and the endpoints of a kubelet. */
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Client } from '../../client/client.ts'
import { Node } from '../../kinds/core/node.ts'
import { logOptions } from '../../kinds/core/pod/log-options.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { containersOf } from '../../kinds/rules/pod/containers/container.ts'
import { abortSignalOf } from '../../lib/cancellation.ts'
import { goQuote } from '../../lib/go-text.ts'
import { LIMITS } from '../../lib/limits.ts'
import { yieldToOthers } from '../../lib/yield.ts'
import type { Result } from '../../registry/api.ts'
import type { Session } from '../../registry/session.ts'
import { internalError, notFound, notImplemented, unavailable } from '../../schema/status-error.ts'
import { MadeUpAddress, type ReportedDestination } from '../../transport/destination.ts'
import { FAILURE_ANNOTATION, internalIPs, isAlive } from '../node/simulated-node.ts'
import { startOf } from '../pod/container-state.ts'
import type { LivePods } from '../process/live-pods.ts'
import type { CommandRuns, PodToRun } from '../script/command-runs.ts'
import { annotatedScript, scriptOfRun } from '../script/script.ts'
import { attachSession } from './attach.ts'
import { execSession, NO_STREAMS, requestedStreams } from './exec.ts'
import { proxyToPod } from './kubelet.ts'
import { kubeletAnswer } from './kubelet-endpoints.ts'
import { attachProcess, execInProcess } from './local-session.ts'
import { type LoggedRun, loggedRun, logPieces, statusOf } from './logs.ts'
import type { NodeConnection, PodRequest } from './node-connection.ts'
import { processLogPieces } from './process-logs.ts'

export type SimulatedParts = {
  readonly client: Client
  readonly runs: CommandRuns
  readonly live: LivePods
  /** Decides where this server may connect. */
  readonly reported: ReportedDestination
  /** Ends logs that are followed. */
  readonly signal: AbortSignal
}

export const simulatedConnection = (parts: SimulatedParts): NodeConnection => ({
  async pod(request) {
    const { pod, call, node } = request
    if (!isAlive(node))
      throw unavailable(`node "${pod.spec.nodeName}" does not answer: its annotation ${FAILURE_ANNOTATION} says that it has failed`)
    if (call.subresource === 'log') return readLog(parts, request)
    if (call.subresource === 'proxy') return proxyTo(pod, call.name, parts.reported)
    return { type: 'session', session: call.subresource === 'portforward' ? portSession(parts, request) : commandSession(parts, request) }
  },
  async node(name, call, ctx) {
    const { client } = parts
    const node = client.of(Node).get({ name })
    if (!isAlive(node as Node | undefined))
      throw unavailable(`node "${name}" does not answer: its annotation ${FAILURE_ANNOTATION} says that it has failed`)
    const path = call.query.get('path') ?? ''
    const [, namespace, podName = '', container = ''] = LOG_PATH.exec(path) ?? []
    if (namespace !== undefined && call.verb === 'get') {
      const pod = client.of(Pod).get({ namespace, name: podName }) as Pod | undefined
      if (pod?.spec.nodeName !== name) throw notFound({ group: '', plural: 'pods', kind: 'Pod' }, podName)
      return readLog(parts, { pod, container, node: node as Node, call, ctx })
    }
    const answer = call.verb === 'get' ? kubeletAnswer(client, node as Node, path) : undefined
    if (!answer) throw notImplemented(`node "${name}" is simulated: there is no kubelet that could answer ${path || '/'}`)
    return { type: 'bytes', code: 200, ...answer }
  },
})

const LOG_PATH = /^\/containerLogs\/([^/]+)\/([^/]+)\/([^/]+)$/

async function readLog({ client, runs, live, signal }: SimulatedParts, { pod, container, node, call, ctx }: PodRequest): Promise<Result> {
  const options = { ...logOptions(call.query, pod.metadata.name ?? '', ctx.gate), container }
  const run = loggedRun(pod, options)
  const isFollowed = options.follow && !options.previous && isRunning(pod, container, run)
  const answer = { type: 'bytes', code: 200, mediaType: 'text/plain' } as const
  if (isLocal(live, pod, container)) {
    const log = live.run(run.id ?? '')?.process.log
    if (!log) throw internalError(outputLost(pod, container))
    const signals = [signal, abortSignalOf(ctx.signal)]
    return { ...answer, body: processLogPieces(log, { options, now: ctx.now.getTime(), isFollowed, signals }) }
  }
  const pieces = logPieces(await logOf(runs, { pod, container, node, run }), run, options, ctx.now.getTime())
  if (isFollowed)
    return { ...answer, body: followLog(client, { pod, container, run, pieces, signals: [signal, abortSignalOf(ctx.signal)] }) }
  const [first, second] = [pieces.next(), pieces.next()]
  return { ...answer, body: second.done ? (first.value ?? new Uint8Array()) : inTurns([first.value!, second.value], pieces) }
}

const isLocal = (live: LivePods, { spec }: Pod, name: string): boolean => {
  const container = containersOf(spec).find(each => each.name === name)
  return container !== undefined && live.localImage(container) !== undefined
}

/** Output is kept in memory, by the server that runs the process. */
const outputLost = ({ metadata: { namespace, name } }: Pod, container: string): string =>
  `unable to retrieve container logs for container ${container} of pod ${namespace}/${name}: its process was started by another server, or before this one`

const nothingListens = ({ metadata, spec }: Pod): string =>
  `pod "${metadata.name}" is simulated by node "${spec.nodeName}": it has no process that listens`

/** A pod that stands for a process is reached there. */
function proxyTo(pod: Pod, asked: string, reported: ReportedDestination): Result {
  try {
    return proxyToPod(pod, asked, reported)
  } catch (error) {
    if (error instanceof MadeUpAddress) throw unavailable(`error trying to reach service: ${nothingListens(pod)}`)
    throw error
  }
}

/** Connects to a port of a pod that stands for a process. */
function connectTo(pod: Pod, port: number, reported: ReportedDestination): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    try {
      const { host, port: at } = reported(pod.status.podIP ?? '', port)
      const socket = connect({ host, port: at, allowHalfOpen: true, timeout: LIMITS.connectMs })
      const failed = (error: Error) => {
        socket.destroy()
        reject(new Error(`failed to connect to ${host}:${at}: ${error.message}`))
      }
      socket.once('error', failed).once('timeout', () => failed(new Error('connecting took too long')))
      socket.once('connect', () => {
        socket.setTimeout(0)
        resolve(socket.off('error', failed))
      })
    } catch (error) {
      reject(error instanceof MadeUpAddress ? new Error(nothingListens(pod)) : error)
    }
  })
}

/** Ports of the query have been checked. */
function portSession({ reported }: SimulatedParts, { pod, call }: PodRequest): Session {
  const { name = '', namespace = '', uid = '' } = pod.metadata
  if (pod.status.phase !== 'Running') return { type: 'refused', code: 500, message: `pod not found (${goQuote(`${name}_${namespace}`)})` }
  return {
    type: 'ports',
    ports: call.query.getAll('ports').flatMap(value => value.split(',').map(Number)),
    pod: `${name}_${namespace}`,
    uid,
    connect: port => connectTo(pod, port, reported),
  }
}

/** A session of exec or attach, or the refusal of a kubelet. */
function commandSession({ client, runs, live, signal }: SimulatedParts, { pod, container: name, node, call }: PodRequest): Session {
  const container = containersOf(pod.spec).find(each => each.name === name)
  const status = statusOf(pod, name)
  const run = status?.state.running && status.containerID
  const { namespace = '', name: podName = '' } = pod.metadata
  if (!container || !run) {
    const about =
      call.subresource === 'exec' ? `container not found (${goQuote(name)})` : `container ${name} not found in pod ${podName}_${namespace}`
    return { type: 'refused', code: 500, message: about }
  }
  const requested = requestedStreams(call.query)
  if (!requested) return NO_STREAMS
  const command = call.query.getAll('command')
  if (live.localImage(container)) {
    const local = live.run(run)
    if (!local || local.process.end) return { type: 'refused', code: 500, message: `container not found (${goQuote(name)})` }
    return call.subresource === 'exec' ? execInProcess(command, requested, { live, run: local }) : attachProcess(requested, local)
  }
  const to = podToRun(pod, node)
  const parts = { runs, to, container, run, now: () => client.now.getTime() }
  if (call.subresource === 'exec') return execSession(command, requested, parts)
  const logged = { id: run, number: status.restartCount, startedAt: startOf(status) }
  const output = async function* (gone: AbortSignal) {
    const text = Buffer.from(await logOf(runs, { pod, container: name, node, run: logged }))
    yield* followLog(client, { pod, container: name, run: logged, pieces: text.length > 0 ? [text] : [], signals: [signal, gone] })
  }
  return attachSession(requested, { ...parts, output })
}

/** The log of a run: from its script, or the output of its command with the current objects. */
async function logOf(runs: CommandRuns, { pod, container: name, node, run }: Logged): Promise<string> {
  const container = containersOf(pod.spec).find(each => each.name === name)
  if (!container) return ''
  const isInit = pod.spec.initContainers?.includes(container) ?? false
  const { log } = annotatedScript(pod.metadata, container, isInit)
  if (log !== '') return log
  const ran = await runs.resultOf(podToRun(pod, node), container, run.number)
  return scriptOfRun(pod.metadata, container, { isInit, ran }).log
}

const podToRun = (pod: Pod, node: Node): PodToRun => ({
  pod,
  hostIPs: internalIPs(node),
  podIPs: (pod.status.podIPs ?? []).flatMap(({ ip }) => ip ?? []),
  allocatable: node.status.allocatable as Readonly<Record<string, string>> | undefined,
})

type Logged = Pick<PodRequest, 'pod' | 'container' | 'node'> & { readonly run: LoggedRun }

/** The first pieces at once, the others with pauses for other requests. */
async function* inTurns(first: readonly Uint8Array[], others: Iterable<Uint8Array>): AsyncIterable<Uint8Array> {
  yield* first
  for (const piece of others) {
    await yieldToOthers()
    yield piece
  }
}

const isRunning = (pod: Pod, container: string, { id }: LoggedRun): boolean => {
  const status = statusOf(pod, container)
  return status?.state.running !== undefined && status.containerID === id
}

type Follow = {
  readonly pod: Pod
  readonly container: string
  readonly run: LoggedRun
  readonly pieces: Iterable<Uint8Array>
  readonly signals: readonly AbortSignal[]
}

/** The text, and then nothing more until the end of the run. */
async function* followLog(client: Client, { pod, container, run, pieces, signals }: Follow): AsyncIterable<Uint8Array> {
  yield* inTurns([], pieces)
  // A signal that was aborted meanwhile calls no listener any more.
  if (signals.some(({ aborted }) => aborted)) return
  const { name = '', namespace = '', uid } = pod.metadata
  const ending = new AbortController()
  const ended = new Promise<void>(resolve => {
    for (const signal of signals) signal.addEventListener('abort', () => resolve(), { once: true, signal: ending.signal })
    const look = ({ name: changed, namespace: where }: { name: string; namespace: string }) => {
      if (changed !== name || where !== namespace) return
      const now = client.of(Pod).get({ namespace, name }) as Pod | undefined
      if (now?.metadata.uid !== uid || !isRunning(now as Pod, container, run)) resolve()
    }
    void client.of(Pod).watch(({ current, type }) => (type === 'deleted' && current.uid === uid ? resolve() : look(current)), ending.signal)
  })
  try {
    await ended
  } finally {
    ending.abort()
  }
}
