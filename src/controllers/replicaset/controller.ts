/** Keeps as many pods as a ReplicaSet or a ReplicationController asks for: one controller for each of the two kinds. */

import { namedBy } from '../../client/change.ts'
import type { ResourceClient } from '../../client/client.ts'
import { OWNER_INDEX } from '../../client/informer.ts'
import { ReplicaSet } from '../../kinds/apps/replicaset.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { ReplicationController } from '../../kinds/core/replicationcontroller.ts'
import { labelTermsOf } from '../../kinds/rules/meta.ts'
import { messageOf } from '../../lib/error-message.ts'
import type { Kind } from '../../schema/kind.ts'
import { type LabelTerms, matchesLabelTerms } from '../../schema/selectors.ts'
import { isNamespaceTerminating } from '../../schema/status-error.ts'
import { type Controller, type ControllerContext, defineController, watch } from '../controller.ts'
import { candidatesFor, claimObjects, controlledBy, controllerOf, watchDependents } from '../pods/ownership.ts'
import { podControl } from '../pods/pod-control.ts'
import { isActive, isTerminating, nextAvailable } from '../pods/pod-state.ts'
import { podFromTemplate } from '../pods/pod-template.ts'
import { slowStart } from '../pods/slow-start.ts'
import { nextStatus, nextStep, type Observed, type Replicas, type Step } from './reconcile.ts'

type ReplicaKind = {
  readonly kind: Kind<any>
  readonly selectorOf: (owner: any) => LabelTerms | undefined
  readonly countsTerminating: boolean
}

export const replicaSetController: Controller = defineController({
  name: 'replicaset-controller',
  identity: 'replicaset-controller',
  workers: 16,
  create: context =>
    keepReplicas(context, {
      kind: ReplicaSet,
      selectorOf: owner => labelTermsOf(owner.spec.selector),
      countsTerminating: true,
    }),
})

export const replicationController: Controller = defineController({
  name: 'replicationcontroller-controller',
  identity: 'replication-controller',
  component: 'replication-controller',
  workers: 16,
  create: context =>
    keepReplicas(context, {
      kind: ReplicationController,
      selectorOf: owner => labelTermsOf({ matchLabels: owner.spec.selector ?? {} }),
      countsTerminating: false,
    }),
})

function keepReplicas({ client, recorder, gate }: ControllerContext, { kind, selectorOf, countsTerminating }: ReplicaKind) {
  const [owners, pods] = [client.of(kind) as ResourceClient<Replicas>, client.of(Pod)]
  const control = podControl(pods, recorder)

  async function carryOut(owner: Replicas, step: Step): Promise<unknown> {
    if (step.step === 'create') {
      const pod = podFromTemplate(owner.spec.template, owner)
      const create = () =>
        control.create(owner, pod).catch(error => {
          if (!isNamespaceTerminating(error)) throw error
        })
      return (await slowStart(step.count, create)).error
    }
    const results = await Promise.allSettled(step.pods.map(pod => control.delete(owner, pod)))
    const failed = results.find(result => result.status === 'rejected')
    return failed && new Error(`unable to delete pods: ${messageOf(failed.reason)}`, { cause: failed.reason })
  }

  /** The pods of all owners that the controller of this one has. */
  function* related(owner: Replicas): Iterable<Pod> {
    const controller = controllerOf(owner)
    const owns = controller ? owners.byIndex(OWNER_INDEX, controller.uid) : [owner]
    for (const each of owns) if (!controller || controllerOf(each)?.uid === controller.uid) yield* controlledBy(pods, each)
  }

  function terminating(owner: Replicas, terms: LabelTerms): Pick<Observed, 'terminating'> {
    if (!countsTerminating) return {}
    const counts = (pod: Pod) => isTerminating(pod) && matchesLabelTerms(terms, pod.metadata.labels)
    return { terminating: [...controlledBy(pods, owner)].filter(counts).length }
  }

  return {
    watches: [watch(kind), watchDependents(Pod, { owners, selectorOf })],
    async reconcile(key: string) {
      const owner = owners.get(namedBy(key))
      const terms = owner && selectorOf(owner)
      if (!owner || !terms || terms.length === 0) return undefined
      const matches = ({ metadata }: Pod) => matchesLabelTerms(terms, metadata.labels)
      const candidates = [...candidatesFor(pods, owner, terms)].filter(isActive)
      const active = await claimObjects({ owner, owners, objects: pods, candidates, matches })

      const step = nextStep(owner, active, { related: () => related(owner), now: client.now, countsCost: gate('PodDeletionCost') })
      const error = step && (await carryOut(owner, step))
      const reason = step?.step === 'create' ? 'FailedCreate' : 'FailedDelete'
      // Pods that were just created and deleted count already.
      const current = step ? [...controlledBy(pods, owner)].filter(pod => isActive(pod) && matches(pod)) : active
      const failure = error ? { failure: { reason, message: messageOf(error) } } : {}
      const now = client.now
      const status = nextStatus(owner, { active: current, ...terminating(owner, terms), ...failure }, now)
      if (status) await owners.updateStatus({ ...owner, status })
      if (error) throw error
      return nextAvailable(current, owner.spec.minReadySeconds ?? 0, now)
    },
  }
}
