/**
 * Says in the status of quotas what is in force and what is used. Admission counts what is created; here everything is counted when a
 * quota is created or changed, and again when objects of a kind that the quota is about are gone or use something else.
 */
import { counts } from '../../admission/resource-quota/check.ts'
import type { EvaluatorOf } from '../../admission/resource-quota/evaluators.ts'
import type { Reservations } from '../../admission/resource-quota/reservations.ts'
import { sameList } from '../../admission/resource-quota/resource-list.ts'
import type { Client } from '../../client/client.ts'
import { type Change, namedBy, queueKey } from '../../client/object-revision.ts'
import { ResourceQuota } from '../../kinds/core/resourcequota.ts'
import { deepEqual } from '../../lib/json-value.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import { type Controller, defineController, watch, watchAll } from '../controller.ts'
import { type Measured, measure, withMeasured } from './reconcile.ts'

export type QuotaControllerParts = { readonly evaluatorOf: EvaluatorOf; readonly reservations: Reservations }

/** How long a count is good at most: pods whose deletion is overdue are not counted any more, and nothing else tells. */
const COUNT_AGAIN_MS = 5 * 60_000

export const resourceQuotaController = ({ evaluatorOf, reservations }: QuotaControllerParts): Controller =>
  defineController({
    name: 'resourcequota-controller',
    identity: 'resourcequota-controller',
    workers: 5,
    create({ client, enqueue }) {
      const quotas = client.of(ResourceQuota)

      const onChange = (resource: Resource, change: Change) => {
        const { namespace } = change.current
        const evaluator = namespace === '' ? undefined : evaluatorOf(resource)
        if (!evaluator) return
        for (const quota of quotas.list({ namespace }) as Iterable<AnyObject>)
          if (isAffected(quota, change)) enqueue(queueKey(quota.metadata))

        function isAffected(quota: AnyObject, { type, current, previous }: Change): boolean {
          if (!Object.keys(quota['status']?.hard ?? {}).some(name => evaluator!.limits(name))) return false
          if (type === 'deleted' || !current.object) return true
          const isCountedNow = counts(evaluator!, quota, current.object)
          if (type === 'added') return isCountedNow && !reservations.isCounted(current.uid, quota.metadata.name!)
          if (evaluator!.isUniform) return false
          if (!previous?.object || isCountedNow !== counts(evaluator!, quota, previous.object)) return true
          return isCountedNow && !sameList(evaluator!.usage(current.object), evaluator!.usage(previous.object))
        }
      }

      return {
        watches: [
          watch(ResourceQuota, ({ type, current, previous }) => {
            if (type === 'deleted') return undefined
            const isSame = previous?.object && current.object && deepEqual(previous.object.spec.hard, current.object.spec.hard)
            return isSame ? undefined : queueKey(current)
          }),
          watchAll({ changed: onChange, joined: resource => onJoined(resource) }),
        ],
        async reconcile(key) {
          const named = namedBy(key)
          return reservations.exclusively(named.namespace, async () => {
            const quota = quotas.get(named) as AnyObject | undefined
            if (!quota) return undefined
            const reserved = reservations.takeOver(named.namespace, named.name)
            const changed = withMeasured(quota, measure(quota, measuredIn(named.namespace, client, evaluatorOf), reserved))
            if (changed) await quotas.updateStatus(changed as never)
            return COUNT_AGAIN_MS
          })
        },
      }

      /** The objects of a kind can be counted from now on. */
      function onJoined(resource: Resource): void {
        const evaluator = evaluatorOf(resource)
        if (!evaluator) return
        for (const quota of quotas.list() as Iterable<AnyObject>)
          if (Object.keys(quota['spec']?.hard ?? {}).some(name => evaluator.limits(name))) enqueue(queueKey(quota.metadata))
      }
    },
  })

/** Everything in a namespace that quotas may count. */
function* measuredIn(namespace: string, client: Client, evaluatorOf: EvaluatorOf): Iterable<Measured> {
  for (const resource of client.resources()) {
    const evaluator = isCountable(resource) ? evaluatorOf(resource) : undefined
    if (!evaluator) continue
    const all = client.of(resource)
    yield { evaluator, count: () => all.count({ namespace }), objects: () => all.list({ namespace }) }
  }
}

const isCountable = ({ verbs }: Resource): boolean => (['create', 'list', 'watch', 'delete'] as const).every(verb => verbs.includes(verb))
