/** What simulated nodes answer: logs, what a kubelet tells of itself, and for whatever needs a process a clear refusal. */
import type { Client } from '../../client/client.ts'
import { Node } from '../../kinds/core/node.ts'
import { logOptions } from '../../kinds/core/pod/log-options.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import type { PodObject } from '../../kinds/core/pod/preparation.ts'
import type { Container } from '../../kinds/shapes/pod/containers/container.ts'
import { abortSignalOf } from '../../lib/cancellation.ts'
import type { Result } from '../../registry/api.ts'
import { notFound, notImplemented, unavailable } from '../../schema/status-error.ts'
import { inputsOf } from '../container/inputs-of-container.ts'
import { sourcesOf } from '../container/sources.ts'
import { FAILURE_ANNOTATION, isAlive, type NodeObject } from '../node/simulated-node.ts'
import { kubeletAnswer } from './kubelet-endpoints.ts'
import { type LoggedRun, loggedRun, logText, statusOf } from './logs.ts'
import type { NodeConnection, PodRequest } from './node-connection.ts'

/** Until the signal: then logs that are followed end. */
export const simulatedConnection = (client: Client, signal: AbortSignal): NodeConnection => ({
  pod(request) {
    const { pod, call, node } = request
    if (!isAlive(node))
      throw unavailable(`node "${pod.spec.nodeName}" does not answer: its annotation ${FAILURE_ANNOTATION} says that it has failed`)
    if (call.subresource === 'log') return readLog(client, request, signal)
    const { name = '' } = pod.metadata
    throw notImplemented(
      `pod "${name}" runs on the simulated node "${pod.spec.nodeName}": its containers have no processes, so that ${call.subresource} is not possible`,
    )
  },
  node(name, call, ctx) {
    const node = client.of(Node).get({ name })
    if (!isAlive(node as NodeObject | undefined))
      throw unavailable(`node "${name}" does not answer: its annotation ${FAILURE_ANNOTATION} says that it has failed`)
    const path = call.query.get('path') ?? ''
    const [, namespace, podName = '', container = ''] = LOG_PATH.exec(path) ?? []
    if (namespace !== undefined && call.verb === 'get') {
      const pod = client.of(Pod).get({ namespace, name: podName }) as PodObject | undefined
      if (pod?.spec.nodeName !== name) throw notFound({ group: '', plural: 'pods', kind: 'Pod' }, podName)
      return readLog(client, { pod, container, node: node as NodeObject, call, ctx }, signal)
    }
    const answer = call.verb === 'get' ? kubeletAnswer(client, node as NodeObject, path) : undefined
    if (!answer) throw notImplemented(`node "${name}" is simulated: there is no kubelet that could answer ${path || '/'}`)
    return { type: 'bytes', code: 200, mediaType: answer.mediaType, body: Buffer.from(answer.text) }
  },
})

const LOG_PATH = /^\/containerLogs\/([^/]+)\/([^/]+)\/([^/]+)$/

function readLog(client: Client, { pod, container, node, call, ctx }: PodRequest, signal: AbortSignal): Result {
  const options = { ...logOptions(call.query, pod.metadata.name ?? ''), container }
  const run = loggedRun(pod, options)
  const sources = sourcesOf(client, pod.metadata.namespace ?? '', node)
  const surroundings = { now: ctx.now.getTime(), inputsOf: (each: Container) => inputsOf(each, pod, sources) }
  const text = Buffer.from(logText(pod, run, options, surroundings))
  const answer = { type: 'bytes', code: 200, mediaType: 'text/plain' } as const
  if (!options.follow || options.previous || !isRunning(pod, container, run)) return { ...answer, body: text }
  return { ...answer, body: followLog(client, { pod, container, run, text, signals: [signal, abortSignalOf(ctx.signal)] }) }
}

const isRunning = (pod: PodObject, container: string, { id }: LoggedRun): boolean => {
  const status = statusOf(pod, container)
  return status?.state.running !== undefined && status.containerID === id
}

type Follow = {
  readonly pod: PodObject
  readonly container: string
  readonly run: LoggedRun
  readonly text: Uint8Array
  readonly signals: readonly AbortSignal[]
}

/** The text, and then nothing more until the run has ended. */
async function* followLog(client: Client, { pod, container, run, text, signals }: Follow): AsyncIterable<Uint8Array> {
  if (text.byteLength > 0) yield text
  const { name = '', namespace = '', uid } = pod.metadata
  const ending = new AbortController()
  const ended = new Promise<void>(resolve => {
    for (const signal of signals) signal.addEventListener('abort', () => resolve(), { once: true, signal: ending.signal })
    const look = ({ name: changed, namespace: where }: { name: string; namespace: string }) => {
      if (changed !== name || where !== namespace) return
      const now = client.of(Pod).get({ namespace, name }) as PodObject | undefined
      if (now?.metadata.uid !== uid || !isRunning(now as PodObject, container, run)) resolve()
    }
    void client.of(Pod).watch(({ current, type }) => (type === 'deleted' && current.uid === uid ? resolve() : look(current)), ending.signal)
  })
  try {
    await ended
  } finally {
    ending.abort()
  }
}
