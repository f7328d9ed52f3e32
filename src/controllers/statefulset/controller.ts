/** Keeps the pods of StatefulSets, each with its name and its claims. */
import { type Change, namedBy, queueKey } from '../../client/change.ts'
import { ControllerRevision } from '../../kinds/apps/controllerrevision.ts'
import { StatefulSet } from '../../kinds/apps/statefulset.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { labelTermsOf } from '../../kinds/rules/meta.ts'
import { matchesLabelTerms } from '../../schema/selectors.ts'
import { defineController, watch } from '../controller.ts'
import { candidatesFor, claimObjects, controlledBy, watchDependents } from '../pods/ownership.ts'
import { nextAvailable } from '../pods/pod-state.ts'
import { byRevision, templateOf } from '../revisions/revision.ts'
import { executePlan } from './execute-plan.ts'
import { latestRevision, unusedRevisions } from './history.ts'
import { isMemberOf, revisionOf } from './identity.ts'
import { type Names, nextStatus, planPods } from './reconcile.ts'

export const statefulSetController = defineController({
  name: 'statefulset-controller',
  identity: 'statefulset-controller',
  workers: 16,
  create({ client, recorder, gate }) {
    const [sets, pods] = [client.of(StatefulSet), client.of(Pod)]
    const [claims, revisions] = [client.of(PersistentVolumeClaim), client.of(ControllerRevision)]
    const selectorOf = ({ spec }: StatefulSet) => labelTermsOf(spec.selector)

    /** The sets that a claim may be of, by its name: a pod that waits for an old claim to be gone can be made then. */
    function* onClaim({ type, current: { namespace, name } }: Pick<Change<unknown>, 'type' | 'current'>): Iterable<string> {
      const stem = /^(.+)-[0-9]+$/.exec(name)?.[1]
      if (type !== 'deleted' || stem === undefined) return
      for (let dash = stem.indexOf('-'); dash >= 0; dash = stem.indexOf('-', dash + 1)) {
        const named = { namespace, name: stem.slice(dash + 1) }
        if (sets.exists(named)) yield queueKey(named)
      }
    }

    async function updateStatus(set: StatefulSet, left: readonly Pod[], names: Names): Promise<void> {
      const status = nextStatus(set, left, names, client.now)
      if (status) await sets.updateStatus({ ...set, status })
    }

    return {
      watches: [watch(StatefulSet), watchDependents(Pod, { owners: sets, selectorOf }), watch(PersistentVolumeClaim, onClaim)],
      async reconcile(key) {
        const set = sets.get(namedBy(key))
        const terms = set && selectorOf(set)
        if (!set || !terms || terms.length === 0) return undefined
        const owner = { owner: set, owners: sets }
        const matches = (pod: Pod) => isMemberOf(set, pod) && matchesLabelTerms(terms, pod.metadata.labels)
        const claimed = await claimObjects({ ...owner, objects: pods, candidates: candidatesFor(pods, set, terms), matches })
        if (set.metadata.deletionTimestamp) {
          const { currentRevision = '', updateRevision = '', collisionCount = 0 } = set.status
          await updateStatus(set, claimed, { current: currentRevision, update: updateRevision, collisionCount })
          return undefined
        }
        // Revisions that no longer match are left unchanged.
        const candidates = [...candidatesFor(revisions, set, terms)].filter(({ metadata }) => matchesLabelTerms(terms, metadata.labels))
        const history = await claimObjects({ ...owner, objects: revisions, candidates, matches: () => true })
        history.sort(byRevision)
        const ignoresNewDefaults = gate('StatefulSetSemanticRevisionComparison')
        const { revision: update, collisionCount } = await latestRevision(revisions, set, history, { ignoresNewDefaults })
        if (set.spec.updateStrategy.type === 'Recreate' && !gate('StatefulSetRecreateStrategy')) {
          const { namespace, name } = set.metadata
          const problem = `statefulset ${namespace}/${name} uses Recreate strategy but feature gate StatefulSetRecreateStrategy is disabled`
          recorder.event(set, 'Warning', 'UnknownStrategy', problem)
          throw new Error(problem)
        }
        const current = history.find(({ metadata }) => metadata.name === set.status.currentRevision) ?? update
        const names = { current: current.metadata.name!, update: update.metadata.name!, collisionCount }

        const named = (revision: ControllerRevision) => ({
          name: revision.metadata.name!,
          template: templateOf(revision) ?? set.spec.template,
        })
        const findClaim = (name: string) => claims.get({ namespace: set.metadata.namespace!, name })
        const observed = { pods: claimed, current: named(current), update: named(update), findClaim, now: client.now }
        let failure: { readonly error: unknown } | undefined
        try {
          await executePlan({ set, pods, claims, findClaim, recorder }, planPods(set, observed))
        } catch (error) {
          failure = { error }
        }
        // Pods that were just created and deleted count already.
        const left = [...controlledBy(pods, set)].filter(matches)
        await updateStatus(set, left, names)
        const live = new Set([names.current, names.update, ...left.map(revisionOf)])
        for (const revision of unusedRevisions(set, history, live)) await revisions.delete(revision)
        if (failure) throw failure.error
        return nextAvailable(left, set.spec.minReadySeconds ?? 0, client.now)
      },
    }
  },
})
