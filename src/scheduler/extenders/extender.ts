/**
 * One extender: a server that is asked over HTTP about nodes for a pod, in the format of `k8s.io/kube-scheduler/extender/v1`. The names
 * of fields are those of Go, with a capital, and are read whatever their case, as Go does.
 */
import { parseJson } from '../../codec/json.ts'
import type { Node } from '../../kinds/core/node.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Cancellation } from '../../lib/cancellation.ts'
import { messageOf } from '../../lib/error-message.ts'
import { isObject, type Json, type JsonObject, jsonTypeName } from '../../lib/json-value.ts'
import { LIMITS } from '../../lib/limits.ts'
import type { WebhookEndpoint } from '../../transport/review-call.ts'
import { type WebhookAnswer, WebhookCallError, type WebhookTransport } from '../../transport/webhook-transport.ts'

export type ExtenderSettings = {
  /** As it is configured; verbs are appended. */
  readonly urlPrefix: string
  /** Where and with which certificates it is called; a text says why it cannot be. */
  readonly endpoint: WebhookEndpoint | string
  readonly timeoutMs: number
  /** Empty for those that it does not have. */
  readonly verbs: { readonly filter: string; readonly prioritize: string; readonly preempt: string; readonly bind: string }
  readonly weight: number
  /** Whether it knows nodes and pods itself, so that names are enough. */
  readonly knowsNodes: boolean
  /** It is asked only about pods that ask for one of these resources; about all pods if there are none. */
  readonly managedResources: ReadonlySet<string>
  /** Whether pods are scheduled without it when it fails. */
  readonly isIgnorable: boolean
}

export type ExtenderParts = { readonly transport: Pick<WebhookTransport, 'call'>; readonly signal: Cancellation }

export type FilterAnswer = {
  /** The names of the nodes that pass. */
  readonly passing: readonly string[]
  /** The reasons of the others, by name. */
  readonly failed: ReadonlyMap<string, string>
  readonly unresolvable: ReadonlyMap<string, string>
}

/** The pods that would have to leave a node. */
export type Victims = { readonly node: string; readonly pods: readonly Pod[]; readonly violations: number }
export type VictimsAnswer = { readonly node: string; readonly uids: readonly string[]; readonly violations: number }

export class Extender {
  readonly settings: ExtenderSettings
  readonly #parts: ExtenderParts

  constructor(settings: ExtenderSettings, parts: ExtenderParts) {
    this.settings = settings
    this.#parts = parts
  }

  isInterestedIn({ spec: { containers = [], initContainers = [] } }: Pod): boolean {
    const { managedResources: managed } = this.settings
    if (managed.size === 0) return true
    return [...containers, ...initContainers].some(({ resources: { requests = {}, limits = {} } = {} }) =>
      [...Object.keys(requests), ...Object.keys(limits)].some(name => managed.has(name)),
    )
  }

  /** Throws when there is no usable answer, as all functions here. */
  async filter(pod: Pod, nodes: readonly Node[]): Promise<FilterAnswer> {
    const { verbs, knowsNodes, urlPrefix } = this.settings
    const answer = new Fields(await this.#send(verbs.filter, this.#aboutNodes(pod, nodes)), 'ExtenderFilterResult')
    const error = answer.text('Error')
    if (error) throw new Error(error)
    const names = answer.list('NodeNames', '[]string')
    const passing = knowsNodes && names ? names.map(String) : namesIn(answer.object('Nodes', 'v1.NodeList'))
    const known = new Set(nodes.map(({ metadata }) => metadata.name))
    const unknown = passing.find(name => !known.has(name))
    if (unknown !== undefined)
      throw new Error(`extender "${urlPrefix}" claims a filtered node "${unknown}" which is not found in the input node list`)
    const reasons = (field: string) => textsIn(answer.object(field, 'v1.FailedNodesMap'))
    return { passing, failed: reasons('FailedNodes'), unresolvable: reasons('FailedAndUnresolvableNodes') }
  }

  /** Scores from 0 to 10 by the name of the node. */
  async prioritize(pod: Pod, nodes: readonly Node[]): Promise<ReadonlyMap<string, number>> {
    const answer = await this.#send(this.settings.verbs.prioritize, this.#aboutNodes(pod, nodes))
    if (answer !== null && !Array.isArray(answer))
      throw new Error(`json: cannot unmarshal ${jsonTypeName(answer)} into Go value of type v1.HostPriorityList`)
    return new Map(
      (answer ?? []).map(each => {
        const priority = new Fields(each, 'HostPriority')
        return [priority.text('Host'), priority.number('Score')]
      }),
    )
  }

  async preempt(pod: Pod, candidates: readonly Victims[]): Promise<readonly VictimsAnswer[]> {
    const { verbs, knowsNodes } = this.settings
    const entries = candidates.map(({ node, pods, violations }) => {
      const shown = knowsNodes ? pods.map(({ metadata }) => ({ UID: metadata.uid })) : pods.map(sent)
      return [node, { Pods: shown, NumPDBViolations: violations }]
    })
    const field = knowsNodes ? 'NodeNameToMetaVictims' : 'NodeNameToVictims'
    const asked = { Pod: sent(pod), NodeNameToVictims: null, NodeNameToMetaVictims: null, [field]: Object.fromEntries(entries) }
    const answer = new Fields(await this.#send(verbs.preempt, asked), 'ExtenderPreemptionResult')
    return Object.entries(answer.object('NodeNameToMetaVictims', 'map[string]*v1.MetaVictims') ?? {}).map(([node, given]) => {
      const victims = new Fields(given, 'MetaVictims')
      const uids = (victims.list('Pods', '[]*v1.MetaPod') ?? []).map(each => new Fields(each, 'MetaPod').text('UID'))
      return { node, uids, violations: victims.number('NumPDBViolations') }
    })
  }

  async bind({ metadata: { name, namespace, uid } }: Pod, node: string): Promise<void> {
    const asked = { PodName: name, PodNamespace: namespace, PodUID: uid, Node: node }
    const error = new Fields(await this.#send(this.settings.verbs.bind, asked), 'ExtenderBindingResult').text('Error')
    if (error) throw new Error(error)
  }

  #aboutNodes(pod: Pod, nodes: readonly Node[]): object {
    if (this.settings.knowsNodes) return { Pod: sent(pod), Nodes: null, NodeNames: nodes.map(({ metadata }) => metadata.name) }
    return {
      Pod: sent(pod),
      Nodes: { metadata: {}, items: nodes.map(({ metadata, spec, status }) => ({ metadata, spec, status })) },
      NodeNames: null,
    }
  }

  async #send(verb: string, asked: object): Promise<Json> {
    const { urlPrefix, endpoint, timeoutMs } = this.settings
    const url = `${urlPrefix.replace(/\/+$/, '')}/${verb}`
    if (typeof endpoint === 'string') throw new Error(`Post ${JSON.stringify(url)}: ${endpoint}`)
    const { transport, signal } = this.#parts
    let answer: WebhookAnswer
    try {
      const path = `${endpoint.path.replace(/\/+$/, '')}/${verb}`
      const body = JSON.stringify(asked)
      answer = await transport.call({
        ...endpoint,
        path,
        body,
        timeoutMs,
        maxResponseBytes: LIMITS.extenderBytes,
        isTriedOnce: true,
        signal,
      })
    } catch (error) {
      if (!(error instanceof WebhookCallError)) throw error
      const why = error.message.replace(/^(?:Post|Get) "(?:[^"\\]|\\.)*": /, '')
      const late = error.isTimeout ? ' (Client.Timeout exceeded while awaiting headers)' : ''
      throw new Error(`Post ${JSON.stringify(url)}: ${why}${late}`)
    }
    if (answer.status !== 200) throw new Error(`failed ${verb} with extender at URL ${url}, code ${answer.status}`)
    if (answer.body.trim() === '') throw new Error('EOF')
    try {
      return parseJson(answer.body).value
    } catch (error) {
      throw new Error(messageOf(error))
    }
  }
}

/** The fields of an answer, whatever the case of their names; null and absent are the same. Wrong types are errors in the words of Go. */
class Fields {
  readonly #struct: string
  readonly #fields = new Map<string, Json>()

  constructor(value: Json, struct: string) {
    this.#struct = struct
    if (value === null) return
    if (!isObject(value)) throw new Error(`json: cannot unmarshal ${jsonTypeName(value)} into Go value of type v1.${struct}`)
    for (const [name, field] of Object.entries(value)) this.#fields.set(name.toLowerCase(), field)
  }

  text(name: string): string {
    return this.#read(name, 'string', (value): value is string => typeof value === 'string') ?? ''
  }

  number(name: string): number {
    return Number(this.#read(name, 'int64', (value): value is number | bigint => typeof value === 'bigint' || Number.isInteger(value)) ?? 0)
  }

  list(name: string, type: string): Json[] | undefined {
    return this.#read(name, type, (value): value is Json[] => Array.isArray(value))
  }

  object(name: string, type: string): JsonObject | undefined {
    return this.#read(name, type, isObject)
  }

  #read<T extends Json>(name: string, type: string, is: (value: Json) => value is T): T | undefined {
    const value = this.#fields.get(name.toLowerCase()) ?? undefined
    if (value === undefined || is(value)) return value
    throw new Error(`json: cannot unmarshal ${jsonTypeName(value)} into Go struct field ${this.#struct}.${name} of type ${type}`)
  }
}

/** A pod as kube-scheduler sends it: without its kind, and without the owners of its fields. */
function sent({ metadata: { managedFields: _, ...metadata }, spec, status }: Pod): Pick<Pod, 'metadata' | 'spec' | 'status'> {
  return { metadata, spec, status }
}

/** The names in a list of nodes. */
function namesIn(list: JsonObject | undefined): string[] {
  const { items } = list ?? {}
  if (!Array.isArray(items)) return []
  return items.map(item => (isObject(item) && isObject(item['metadata']) ? String(item['metadata']['name'] ?? '') : ''))
}

const textsIn = (texts: JsonObject | undefined): ReadonlyMap<string, string> =>
  new Map(Object.entries(texts ?? {}).map(([name, text]) => [name, String(text)]))
