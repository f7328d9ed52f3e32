/** Keeps the rules of cluster roles that are aggregated from others up to date. */
import type { Draft } from '../../client/client.ts'
import { ClusterRole } from '../../kinds/rbac/clusterrole.ts'
import { Pace } from '../../lib/pace.ts'
import { run } from '../../lib/step.ts'
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
          const rules = signal.aborted ? undefined : await run(aggregatedRules(role, all), new Pace())
          if (!rules) continue
          // Without any the field is left out, which leaves null.
          const draft = { metadata: { name: role.metadata.name }, ...(rules.length > 0 && { rules }) }
          await roles.apply(draft as Draft<typeof role>, { manager: NAME })
        }
      },
    }
  },
})
