/** The connection to a simulated node: answers with logs and the endpoints of a kubelet, and refuses requests that need a process. */
import type { Client } from '../../client/client.ts'
import { Node } from '../../kinds/core/node.ts'
import { logOptions } from '../../kinds/core/pod/log-options.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { containersOf } from '../../kinds/rules/pod/containers/container.ts'
import { abortSignalOf } from '../../lib/cancellation.ts'
import { yieldToOthers } from '../../lib/yield.ts'
import type { Result } from '../../registry/api.ts'
import { notFound, notImplemented, unavailable } from '../../schema/status-error.ts'
import { FAILURE_ANNOTATION, internalIPs, isAlive } from '../node/simulated-node.ts'
import type { CommandRuns } from '../script/command-runs.ts'
import { annotatedScript, scriptOfRun } from '../script/script.ts'
import { kubeletAnswer } from './kubelet-endpoints.ts'
import { type LoggedRun, loggedRun, logPieces, statusOf } from './logs.ts'
import type { NodeConnection, PodRequest } from './node-connection.ts'

export type SimulatedParts = {
  readonly client: Client
  readonly runs: CommandRuns
  /** Ends logs that are followed. */
  readonly signal: AbortSignal
}

export const simulatedConnection = ({ client, runs, signal }: SimulatedParts): NodeConnection => ({
  async pod(request) {
    const { pod, call, node } = request
    if (!isAlive(node))
      throw unavailable(`node "${pod.spec.nodeName}" does not answer: its annotation ${FAILURE_ANNOTATION} says that it has failed`)
    if (call.subresource === 'log') return readLog({ client, runs, signal }, request)
    const { name = '' } = pod.metadata
    throw notImplemented(
      `pod "${name}" runs on the simulated node "${pod.spec.nodeName}": its containers have no processes, so that ${call.subresource} is not possible`,
    )
  },
  async node(name, call, ctx) {
    const node = client.of(Node).get({ name })
    if (!isAlive(node as Node | undefined))
      throw unavailable(`node "${name}" does not answer: its annotation ${FAILURE_ANNOTATION} says that it has failed`)
    const path = call.query.get('path') ?? ''
    const [, namespace, podName = '', container = ''] = LOG_PATH.exec(path) ?? []
    if (namespace !== undefined && call.verb === 'get') {
      const pod = client.of(Pod).get({ namespace, name: podName }) as Pod | undefined
      if (pod?.spec.nodeName !== name) throw notFound({ group: '', plural: 'pods', kind: 'Pod' }, podName)
      return readLog({ client, runs, signal }, { pod, container, node: node as Node, call, ctx })
    }
    const answer = call.verb === 'get' ? kubeletAnswer(client, node as Node, path) : undefined
    if (!answer) throw notImplemented(`node "${name}" is simulated: there is no kubelet that could answer ${path || '/'}`)
    return { type: 'bytes', code: 200, ...answer }
  },
})

const LOG_PATH = /^\/containerLogs\/([^/]+)\/([^/]+)\/([^/]+)$/

async function readLog({ client, runs, signal }: SimulatedParts, { pod, container, node, call, ctx }: PodRequest): Promise<Result> {
  const options = { ...logOptions(call.query, pod.metadata.name ?? ''), container }
  const run = loggedRun(pod, options)
  const pieces = logPieces(await logOf(runs, { pod, container, node, run }), run, options, ctx.now.getTime())
  const answer = { type: 'bytes', code: 200, mediaType: 'text/plain' } as const
  const isFollowed = options.follow && !options.previous && isRunning(pod, container, run)
  if (isFollowed)
    return { ...answer, body: followLog(client, { pod, container, run, pieces, signals: [signal, abortSignalOf(ctx.signal)] }) }
  const [first, second] = [pieces.next(), pieces.next()]
  return { ...answer, body: second.done ? (first.value ?? new Uint8Array()) : inTurns([first.value!, second.value], pieces) }
}

/** The log of a run: from its script, or the output of its command with the current objects. */
async function logOf(runs: CommandRuns, { pod, container: name, node, run }: Logged): Promise<string> {
  const container = containersOf(pod.spec).find(each => each.name === name)
  if (!container) return ''
  const isInit = pod.spec.initContainers?.includes(container) ?? false
  const { log } = annotatedScript(pod.metadata, container, isInit)
  if (log !== '') return log
  const podIPs = (pod.status.podIPs ?? []).flatMap(({ ip }) => ip ?? [])
  const allocatable = node.status.allocatable as Readonly<Record<string, string>> | undefined
  const ran = await runs.resultOf({ pod, hostIPs: internalIPs(node), podIPs, allocatable }, container, run.number)
  return scriptOfRun(pod.metadata, container, { isInit, ran }).log
}
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
