/** Keeps the rules of cluster roles that are aggregated from others up to date. */
import type { Draft } from '../../client/client.ts'
import { ClusterRole } from '../../kinds/rbac/clusterrole.ts'
import { defineController, watch } from '../controller.ts'
import { aggregatedRules } from './reconcile.ts'

const NAME = 'clusterrole-aggregation-controller'
const ALL = 'all'

export const clusterRoleAggregationController = defineController({
  name: NAME,
  identity: NAME,
  create({ client, signal }) {
    const roles = client.of(ClusterRole)
    return {
      // Each write is a change that is looked at again: roles that aggregate aggregated ones are done after a few rounds.
      watches: [watch(ClusterRole, () => ALL)],
      async reconcile() {
        const all = [...roles.list()]
        for (const role of all) {
          const rules = signal.aborted ? undefined : await finish(aggregatedRules(role, all))
          if (!rules) continue
          // Without any the field is left out, which leaves null.
          const draft = { metadata: { name: role.metadata.name }, ...(rules.length > 0 && { rules }) }
          await roles.apply(draft as Draft<typeof role>, { manager: NAME })
        }
      },
    }
  },
})

const YIELD_AFTER_MS = 20

/** Runs long work to its end, with time for others in between: users decide how many selectors and roles there are. */
async function finish<R>(work: Iterator<unknown, R>): Promise<R> {
  for (let began = performance.now(); ; ) {
    const { done, value } = work.next()
    if (done) return value
    if (performance.now() - began < YIELD_AFTER_MS) continue
    await new Promise(setImmediate)
    began = performance.now()
  }
}
