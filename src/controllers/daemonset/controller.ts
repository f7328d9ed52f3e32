/** Runs the pods of DaemonSets, one on each node that is to have one. */

import { type Change, namedBy, queueKey } from '../../client/change.ts'
import { recordAll } from '../../client/event-recorder.ts'
import { NODE_INDEX } from '../../client/informer.ts'
import { ControllerRevision } from '../../kinds/apps/controllerrevision.ts'
import { DaemonSet } from '../../kinds/apps/daemonset.ts'
import { Node } from '../../kinds/core/node.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { isEmptySelector, labelTermsOf } from '../../kinds/rules/meta.ts'
import { tolerationsInEffect } from '../../kinds/rules/pod/scheduling/tolerance.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { isNamespaceTerminating } from '../../schema/status-error.ts'
import { defineController, watch } from '../controller.ts'
import { claimSelected, controlledBy, isControlledBy, watchDependents } from '../pods/ownership.ts'
import { podControl } from '../pods/pod-control.ts'
import { nextAvailable } from '../pods/pod-state.ts'
import { slowStart } from '../pods/slow-start.ts'
import { FailedPods } from './failed-pods.ts'
import { surplusRevisions } from './history.ts'
import { keepHistory } from './keep-history.ts'
import { placementOf, podFor } from './placement.ts'
import { type PodPlan, planUpdate, planUpkeep, statusOf } from './reconcile.ts'

export const daemonSetController = defineController({
  name: 'daemonset-controller',
  identity: 'daemon-set-controller',
  workers: 2,
  create({ client, recorder, gate }) {
    const inEffect = tolerationsInEffect(gate)
    const [sets, pods, nodes, revisions] = [client.of(DaemonSet), client.of(Pod), client.of(Node), client.of(ControllerRevision)]
    const control = podControl(pods, recorder)
    const failed = new FailedPods()
    const selectorOf = ({ spec }: DaemonSet) => labelTermsOf(spec.selector)

    /** The sets to which a change of a node matters. */
    function* onNode({ type, current, previous }: Change<Node>): Iterable<string> {
      const [node, before] = [current.object, previous?.object]
      if (!node) return
      const isSame = deepEqual(node.metadata.labels, before?.metadata.labels) && deepEqual(node.spec.taints, before?.spec.taints)
      if (type === 'updated' && before && isSame) return
      const here = [...pods.byIndex(NODE_INDEX, current.name)]
      for (const set of sets.list()) {
        const { mayStart, mayStay } = placementOf(set, inEffect)(node)
        const isPlaced = here.some(pod => isControlledBy(pod, set))
        const isConcerned = isPlaced ? !mayStay || set.status.numberMisscheduled > 0 : mayStart
        if (type === 'deleted' || isConcerned) yield queueKey(set.metadata)
      }
    }

    async function carryOut(set: DaemonSet, { create, remove }: PodPlan, hash: string): Promise<unknown> {
      const created = await slowStart(create.length, async i => {
        try {
          await control.create(set, podFor(set, create[i]!, hash))
        } catch (error) {
          if (!isNamespaceTerminating(error)) throw error
        }
      })
      const results = await Promise.allSettled(remove.map(pod => control.delete(set, pod)))
      return created.error ?? results.find(result => result.status === 'rejected')?.reason
    }

    return {
      watches: [
        watch(DaemonSet),
        watchDependents(Pod, { owners: sets, selectorOf }),
        // As in Kubernetes, a revision that somebody creates for a set does not wake it.
        watchDependents(ControllerRevision, { owners: sets, selectorOf, ignoresOwnCreation: true }),
        watch(Node, onNode),
      ],
      async reconcile(key) {
        const set = sets.get(namedBy(key))
        const terms = set && selectorOf(set)
        if (!set || !terms || set.metadata.deletionTimestamp) return undefined
        if (isEmptySelector(set.spec.selector)) {
          recorder.event(set, 'Warning', 'SelectingAll', 'This daemon set is selecting all pods. A non-empty selector is required.')
          return undefined
        }
        const owner = { owner: set, owners: sets }
        const claimed = await claimSelected({ ...owner, objects: pods }, terms)
        const known = await claimSelected({ ...owner, objects: revisions }, terms)
        const history = await keepHistory({ sets, pods, revisions }, { set, revisions: known, pods: claimed })
        if (!history) return undefined
        const { hash, old } = history
        const situation = () => ({ set, nodes: [...nodes.list()], pods: [...controlledBy(pods, set)], hash, now: client.now, inEffect })
        const failedKey = (node: string) => `${set.metadata.uid}/${set.status.observedGeneration}/${node}`
        const now = client.now.getTime()
        const upkeep = planUpkeep(situation(), node => failed.waitMs(failedKey(node), now))
        recordAll(recorder, set, upkeep.events)
        for (const node of upkeep.failedOn) failed.deleted(failedKey(node), now)
        const isIdle = upkeep.create.length + upkeep.remove.length === 0
        const error = await carryOut(set, isIdle ? planUpdate(situation()) : upkeep, hash)
        const after = situation()
        if (!error) for (const revision of surplusRevisions(set, old, after.pods)) await revisions.delete(revision)
        const status = statusOf(after)
        if (status) await sets.updateStatus({ ...set, status })
        if (error) throw error
        const waits = [upkeep.waitMs, nextAvailable(after.pods, set.spec.minReadySeconds ?? 0, client.now)].filter(ms => ms !== undefined)
        return waits.length > 0 ? Math.min(...waits) : undefined
      },
    }
  },
})
