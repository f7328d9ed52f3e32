/**
 * Keeps the status of quotas: the limits in force, and the amounts in use. Admission counts creates; here everything is counted when a
 * quota is created or changed, and again when objects of a kind that the quota is about are gone or use something else.
 */
import type { Evaluator } from '../../admission/plugins/resource-quota/evaluator.ts'
import type { EvaluatorOf } from '../../admission/plugins/resource-quota/evaluators.ts'
import { MAX_RESERVED_MS, type Note, type Reservations } from '../../admission/plugins/resource-quota/reservations.ts'
import { addLists, listOf, only, type ResourceList } from '../../admission/plugins/resource-quota/resource-list.ts'
import { type Change, namedBy, queueKey } from '../../client/change.ts'
import type { Client } from '../../client/client.ts'
import { ResourceQuota } from '../../kinds/core/resourcequota.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { Pace } from '../../lib/pace.ts'
import { run, type Step } from '../../lib/step.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { ObjectRevision } from '../../schema/object-revision.ts'
import type { Resource } from '../../schema/resource.ts'
import { type Controller, defineController, watch, watchAll } from '../controller.ts'
import { changesUsage, limitedNames, usedBy, usedByNumber, withMeasured } from './reconcile.ts'

export type QuotaControllerParts = {
  readonly evaluatorOf: EvaluatorOf
  readonly reservations: Reservations
  /** Whether a write that another server has noted can be read; then counting finds it. */
  readonly isVisible: (note: Note, namespace: string) => boolean
}

/** How long a count is good at most: pods whose deletion is overdue are not counted any more, and nothing else tells. */
const COUNT_AGAIN_MS = 5 * 60_000
/** How many objects are measured before others may run. */
const MAX_BATCH = 200
/** Changes are collected the longer, the more has to be counted because of them: a millisecond for so many objects. */
const OBJECTS_PER_MS = 10

export const resourceQuotaController = ({ evaluatorOf, reservations, isVisible }: QuotaControllerParts): Controller =>
  defineController({
    name: 'resourcequota-controller',
    identity: 'resourcequota-controller',
    workers: 5,
    create({ client, enqueue }) {
      const quotas = client.of(ResourceQuota)
      /** How many objects were looked at for each quota the last time. */
      const looked = new Map<string, number>()
      const countAgain = ({ metadata }: AnyObject) => {
        const key = queueKey(metadata)
        enqueue(key, Math.floor((looked.get(key) ?? 0) / OBJECTS_PER_MS))
      }
      const quotasOn = function* (evaluator: Evaluator, namespace?: string): Iterable<AnyObject> {
        for (const quota of quotas.list(namespace === undefined ? {} : { namespace }) as Iterable<AnyObject>)
          if (limitedNames(quota, evaluator).length > 0) yield quota
      }

      const onChange = (resource: Resource, { type, current, previous }: Change) => {
        const { namespace, uid } = current
        const evaluator = namespace === '' ? undefined : evaluatorOf(resource)
        if (!evaluator) return
        for (const quota of quotasOn(evaluator, namespace)) {
          // A create that admission has counted is counted.
          if (type === 'added' && reservations.isCounted(uid, quota.metadata.name!)) continue
          // Only here is the object decoded: most changes are in namespaces without a quota.
          const { object } = current
          if (type === 'deleted' || !object || changesUsage(quota, evaluator, { from: previous?.object, to: object })) countAgain(quota)
        }
      }

      /** The objects of a kind can be counted from now on. */
      const onJoined = (resource: Resource) => {
        const evaluator = evaluatorOf(resource)
        if (evaluator) for (const quota of quotasOn(evaluator)) countAgain(quota)
      }

      return {
        watches: [
          watch(ResourceQuota, ({ type, current, previous }) => {
            if (type === 'deleted') {
              looked.delete(queueKey(current))
              return undefined
            }
            const { object: before } = previous ?? {}
            const { object } = current
            if (!before || !object || !deepEqual(before.spec.hard, object.spec.hard)) return queueKey(current)
            // Admission charged for a write whose outcome may never be known. When its reservation has ended, a count tells.
            if (!deepEqual(before.status?.used, object.status?.used)) enqueue(queueKey(current), MAX_RESERVED_MS)
            return undefined
          }),
          watchAll({ changed: onChange, joined: onJoined }),
        ],
        reconcile(key) {
          const { namespace, name } = namedBy(key)
          return reservations.exclusively(namespace, async () => {
            const quota = quotas.get({ namespace, name }) as AnyObject | undefined
            if (!quota) return undefined
            const { notes } = reservations
            const others = (await notes?.readOthers(namespace)) ?? []
            await notes?.fresh()
            // All as of the same moment; whatever changes later is heard of.
            const elsewhere = others.filter(note => note.takes[name] && !isVisible(note, namespace))
            const content = contentOf(namespace, { client, evaluatorOf, quota })
            looked.set(key, numberOf(content))
            const reserved = reservations.takeOver(namespace, name)
            let used = await run(measure(quota, content), new Pace())
            for (const taken of [...reserved, ...elsewhere.map(({ takes }) => listOf(takes[name]))])
              used = addLists(used, only(taken, used.keys()))
            const changed = withMeasured(quota, used)
            if (changed) await quotas.updateStatus(changed as ResourceQuota)
            return reserved.length + elsewhere.length > 0 ? MAX_RESERVED_MS : COUNT_AGAIN_MS
          })
        },
      }
    },
  })

type Content = readonly { readonly evaluator: Evaluator; readonly objects: readonly ObjectRevision[] }[]

/** Everything in a namespace that a quota counts. */
function contentOf(
  namespace: string,
  { client, evaluatorOf, quota }: { readonly client: Client; readonly evaluatorOf: EvaluatorOf; readonly quota: AnyObject },
): Content {
  return [...client.resources()].filter(isCountable).flatMap(resource => {
    const evaluator = evaluatorOf(resource)
    if (!evaluator || limitedNames(quota, evaluator).length === 0) return []
    return [{ evaluator, objects: [...client.of(resource).revisions({ namespace })] }]
  })
}

/** How many objects have to be looked at one by one. */
const numberOf = (content: Content): number =>
  content.reduce((sum, { evaluator, objects }) => sum + (evaluator.isUniform ? 0 : objects.length), 0)

const isCountable = ({ verbs }: Resource): boolean => (['create', 'list', 'watch', 'delete'] as const).every(verb => verbs.includes(verb))

function* measure(quota: AnyObject, content: Content): Step<ResourceList> {
  let used: ResourceList = new Map()
  for (const { evaluator, objects } of content) {
    const ofNumber = usedByNumber(quota, evaluator, objects.length)
    if (ofNumber) {
      used = addLists(used, ofNumber)
      continue
    }
    for (let i = 0; i === 0 || i < objects.length; i += MAX_BATCH) {
      if (i > 0) yield
      const some = objects.slice(i, i + MAX_BATCH).flatMap(({ object }) => object ?? [])
      used = addLists(used, usedBy(quota, evaluator, some))
    }
  }
  return used
}
