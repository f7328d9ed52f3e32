/** Makes the stored priority levels and flow schemas take effect, and keeps the condition that tells whether a schema has its level. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { FlowControl } from '../http/flow-control/flow-control.ts'
import type { FlowSchema, PolicyRules } from '../http/flow-control/flow-schema.ts'
import type { LevelConfiguration } from '../http/flow-control/seats.ts'
import { formatTime, instantOf } from '../lib/time.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { clientFor, type Inner, SERVER } from './inner.ts'
import { noteChanges } from './note-changes.ts'

export const CONSUMER = 'api-priority-and-fairness-config-consumer-v1'
/** Between two looks at the conditions; another server might have another opinion about them. */
const REST_MS = 200

type Level = { readonly metadata: AnyObject['metadata']; readonly spec: LevelSpec }
type LevelSpec = {
  readonly type: string
  readonly limited?: {
    readonly nominalConcurrencyShares?: number
    readonly lendablePercent?: number
    readonly borrowingLimitPercent?: number
    readonly limitResponse?: {
      readonly queuing?: { readonly queues?: number; readonly handSize?: number; readonly queueLengthLimit?: number }
    }
  }
  readonly exempt?: { readonly nominalConcurrencyShares?: number; readonly lendablePercent?: number }
}
type Schema = {
  readonly metadata: AnyObject['metadata']
  readonly spec: {
    readonly priorityLevelConfiguration: { readonly name: string }
    readonly matchingPrecedence?: number
    readonly distinguisherMethod?: { readonly type: 'ByUser' | 'ByNamespace' }
    readonly rules?: readonly PolicyRules[]
  }
  readonly status?: { readonly conditions?: readonly Condition[] }
}
type Condition = { readonly type: string; readonly status: string; readonly reason?: string; readonly message?: string }

/** Changes take effect before they are answered; conditions follow. */
export function followFlowControl(flowControl: FlowControl, parts: Inner & { readonly groupDomain: string }): void {
  const { catalog, caches, groupDomain, signal, log } = parts
  const [levelResource, schemaResource] = ['prioritylevelconfigurations', 'flowschemas'].map(plural =>
    catalog.find(`flowcontrol.apiserver.${groupDomain}`, 'v1', plural),
  )
  if (!levelResource || !schemaResource) return
  const levels = new Map<string, Level>()
  const schemas = new Map<string, Schema>()
  const conditions = keepConditions({ ...parts, resource: schemaResource, levels, schemas })
  const configure = () => {
    flowControl.configure([...levels.values()].flatMap(levelOf), [...schemas.values()].map(schemaOf))
    if (!signal.aborted) conditions().catch(error => log.warn({ error: String(error) }, 'conditions of flow schemas could not be written'))
  }
  const follow = <O>(resource: Resource, objects: Map<string, O>) =>
    noteChanges(caches, resource, {
      put({ name, read }) {
        const object = read() as O | undefined
        if (object) objects.set(name, object)
        configure()
      },
      remove({ name }) {
        objects.delete(name)
        configure()
      },
    })
  follow(levelResource, levels)
  follow(schemaResource, schemas)
}

/** A level as it is configured; nothing for one that makes no sense, which is as if it were not there. */
export function levelOf({ metadata: { name = '', uid = '' }, spec }: Level): LevelConfiguration[] {
  const isExempt = spec.type === 'Exempt'
  if (isExempt !== (name === 'exempt')) return []
  const { nominalConcurrencyShares: shares = isExempt ? 0 : 30, lendablePercent = 0 } = (isExempt ? spec.exempt : spec.limited) ?? {}
  const { queues = 64, handSize = 8, queueLengthLimit = 50 } = spec.limited?.limitResponse?.queuing ?? {}
  return [
    {
      name,
      uid,
      isExempt,
      shares,
      lendablePercent,
      borrowingLimitPercent: spec.limited?.borrowingLimitPercent,
      queuing: spec.limited?.limitResponse?.queuing === undefined ? undefined : { queues, handSize, queueLengthLimit },
    },
  ]
}

function schemaOf({ metadata: { name = '', uid = '' }, spec }: Schema): FlowSchema {
  const { priorityLevelConfiguration, matchingPrecedence = 1000, distinguisherMethod, rules = [] } = spec
  return { name, uid, level: priorityLevelConfiguration.name, matchingPrecedence, distinguisher: distinguisherMethod?.type, rules }
}

/** The condition that a schema should have. */
export function danglingOf({ spec }: Pick<Schema, 'spec'>, levels: ReadonlyMap<string, unknown>): Required<Condition> {
  const { name } = spec.priorityLevelConfiguration
  const found = levels.has(name)
  return {
    type: 'Dangling',
    status: found ? 'False' : 'True',
    reason: found ? 'Found' : 'NotFound',
    message: `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(name)} ${found ? 'and it exists' : 'but there is no such object'}`,
  }
}

type Conditions = Inner & {
  readonly groupDomain: string
  readonly resource: Resource
  readonly levels: ReadonlyMap<string, unknown>
  readonly schemas: ReadonlyMap<string, Schema>
}

/** Writes conditions that are not as they should be, one look at a time. */
function keepConditions(parts: Conditions): () => Promise<void> {
  const { resource, levels, schemas, now, signal, groupDomain } = parts
  let isLooking = false
  let isAskedAgain = false
  const look = async () => {
    const client = clientFor(parts, { user: SERVER, manager: CONSUMER, groupDomain })
    for (const [name, schema] of [...schemas]) {
      const wanted = danglingOf(schema, levels)
      const stored = schema.status?.conditions?.find(({ type }) => type === wanted.type)
      if (stored?.status === wanted.status && stored.reason === wanted.reason && stored.message === wanted.message) continue
      const condition = { ...wanted, lastTransitionTime: formatTime(instantOf(now().getTime())) }
      const body = { apiVersion: resource.apiVersion, kind: resource.kind, metadata: { name }, status: { conditions: [condition] } }
      const query = `fieldManager=${CONSUMER}&force=true`
      await client.patch(resource, { name }, body, { type: 'application/apply-patch+yaml', subresource: 'status', query })
    }
  }
  return async () => {
    isAskedAgain = true
    if (isLooking) return
    isLooking = true
    try {
      // What is written now is seen by this look, which is not to run inside of a write.
      while (isAskedAgain && !signal.aborted) {
        await sleep(REST_MS, undefined, { ref: false })
        isAskedAgain = false
        if (!signal.aborted) await look()
      }
    } finally {
      isLooking = false
    }
  }
}
