/** Rolls Deployments out: makes, scales and deletes their ReplicaSets, step by step. */

import { type Change, namedBy, queueKey } from '../../client/change.ts'
import { UID_INDEX } from '../../client/informer.ts'
import { Deployment } from '../../kinds/apps/deployment.ts'
import { ReplicaSet } from '../../kinds/apps/replicaset.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { labelTermsOf } from '../../kinds/rules/meta.ts'
import { messageOf } from '../../lib/error-message.ts'
import { isNamespaceTerminating } from '../../schema/status-error.ts'
import { defineController, watch } from '../controller.ts'
import { claimSelected, controlledBy, watchDependents } from '../pods/ownership.ts'
import { isTerminal } from '../pods/pod-state.ts'
import { progressing, stated, withCondition } from './conditions.ts'
import { type Plan, planDeployment } from './reconcile.ts'
import { hasDeadline } from './status.ts'

export const deploymentController = defineController({
  name: 'deployment-controller',
  identity: 'deployment-controller',
  workers: 16,
  create({ client, recorder }) {
    const [deployments, sets, pods] = [client.of(Deployment), client.of(ReplicaSet), client.of(Pod)]

    /** A Deployment that recreates its pods waits for the last of the old ones. */
    function* onPod({ type, current }: Pick<Change<unknown>, 'type' | 'current'>): Iterable<string> {
      if (type !== 'deleted') return
      for (const owner of current.owners)
        for (const set of sets.informer.byIndex(UID_INDEX, owner))
          for (const uid of set.owners)
            for (const deployment of deployments.informer.byIndex(UID_INDEX, uid))
              if (deployment.object?.spec.strategy.type === 'Recreate') yield queueKey(deployment)
    }

    /** Whether the new ReplicaSet is there; where its name is taken, the next one gets another. */
    async function created(deployment: Deployment, set: ReplicaSet): Promise<boolean> {
      const { status, ...draft } = set
      try {
        if (await sets.create(draft)) return true
      } catch (error) {
        if (!isNamespaceTerminating(error)) await reportFailure(deployment, set, error)
        throw error
      }
      const collisionCount = (deployment.status.collisionCount ?? 0) + 1
      await deployments.updateStatus({ ...deployment, status: { ...deployment.status, collisionCount } })
      return false
    }

    async function reportFailure(deployment: Deployment, set: ReplicaSet, error: unknown): Promise<void> {
      const message = `Failed to create new replica set "${set.metadata.name}": ${messageOf(error)}`
      recorder.event(deployment, 'Warning', 'ReplicaSetCreateError', message)
      if (!hasDeadline(deployment)) return
      const status = withCondition(deployment.status, stated(progressing('False', 'ReplicaSetCreateError', message), client.now))
      if (status !== deployment.status) await deployments.updateStatus({ ...deployment, status })
    }

    async function carryOut(deployment: Deployment, plan: Plan): Promise<void> {
      if (plan.create && !(await created(deployment, plan.create))) return
      for (const set of plan.update) await sets.update(set)
      for (const { name, from, to } of plan.scaled)
        recorder.event(
          deployment,
          'Normal',
          'ScalingReplicaSet',
          `Scaled ${from < to ? 'up' : 'down'} replica set ${name} from ${from} to ${to}`,
        )
      for (const set of plan.remove) await sets.delete(set)
      const written = plan.status && (await deployments.updateStatus(plan.status))
      if (!plan.rollback) return
      const { resourceVersion } = (written?.object ?? deployment).metadata
      const back = plan.rollback.deployment
      await deployments.update({ ...back, metadata: { ...back.metadata, ...(resourceVersion && { resourceVersion }) } })
      const { type, reason, message } = plan.rollback.notice
      recorder.event(deployment, type, reason, message)
    }

    return {
      watches: [
        watch(Deployment),
        watchDependents(ReplicaSet, { owners: deployments, selectorOf: ({ spec }) => labelTermsOf(spec.selector) }),
        watch(Pod, onPod),
      ],
      async reconcile(key) {
        const deployment = deployments.get(namedBy(key))
        const terms = deployment && labelTermsOf(deployment.spec.selector)
        if (!deployment || !terms || terms.length === 0) return undefined
        const claimed = await claimSelected({ owner: deployment, owners: deployments, objects: sets }, terms)
        const isRunning = (set: ReplicaSet) => [...controlledBy(pods, set)].some(pod => !isTerminal(pod))
        const plan = planDeployment(deployment, { sets: claimed, isRunning, now: client.now })
        await carryOut(deployment, plan)
        return plan.after
      },
    }
  },
})
