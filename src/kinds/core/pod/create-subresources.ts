/** Create subresources of pods: binding one to a node, and evicting one. */
import { goQuote } from '../../../lib/go-text.ts'
import { setOwn } from '../../../lib/json-value.ts'
import { DeleteOptionsType } from '../../../schema/delete-options.ts'
import type { Envelope, ObjectMeta } from '../../../schema/object-meta.ts'
import { invalid, refTo } from '../../../schema/refs.ts'
import type { RequestContext } from '../../../schema/request-context.ts'
import { badRequest, conflict, invalidObject } from '../../../schema/status-error.ts'
import type { CreateSubresource } from '../../../schema/subresources.ts'
import { message, type Static } from '../../../schema/types.ts'
import { type Budget, budgetFor, grantDisruption } from '../../policy/disruption.ts'
import { PodDisruptionBudget } from '../../policy/poddisruptionbudget.ts'
import { dropInitContainerAnnotations } from '../../rules/pod/features.ts'
import { setPodCondition } from '../../rules/pod/status/conditions.ts'
import { ObjectReference } from '../../rules/references.ts'
import type { Pod } from './pod.ts'
import { validateBinding } from './rules.ts'

/** The fields of a Binding beside its metadata. */
const Binding = message('Binding', {
  target: [2, ObjectReference.orEmpty().always(), 'The node to bind to.'],
})
type Binding = Static<typeof Binding>

/** The fields of an Eviction beside its metadata. */
const Eviction = message('Eviction', {
  deleteOptions: [2, DeleteOptionsType, 'How the pod is to be deleted.'],
})
type Eviction = Static<typeof Eviction>

/** Binds a pod to a node, and copies labels and annotations of the binding to it. */
export const binding: CreateSubresource<Pod, Binding> = {
  input: { group: '', version: 'v1', kind: 'Binding', type: Binding },
  verbs: ['create'],
  check: checkBinding,
  change: (pod, input, ctx) => bind(pod, input, ctx),
}

/** Deletes a pod for an eviction, and sets its DisruptionTarget condition. */
export const eviction: CreateSubresource<Pod, Eviction> = {
  input: { group: 'policy', version: 'v1', alsoVersions: ['v1beta1'], kind: 'Eviction', type: Eviction },
  verbs: ['create'],
  check: checkEviction,
  guard: {
    kind: PodDisruptionBudget,
    subresource: 'status',
    find: (pod, _, budgets: readonly Budget[]) => budgetFor(pod, budgets),
    approve: (budget: Budget, pod, { now }) => grantDisruption(budget, pod.metadata.name ?? '', now),
  },
  change: (pod, _, { now }) => {
    setPodCondition(pod.status, EVICTED, now)
    return 'delete'
  },
}

function checkEviction(input: Eviction & Envelope, name: string): void {
  checkName(input, name)
  if (!input.deleteOptions?.ignoreStoreReadErrorWithClusterBreakingPotential) return
  const at = refTo(input).deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential
  const error = invalid(at, 'can not be set for pod eviction, try after removing the option')
  throw invalidObject({ group: 'policy', kind: 'Eviction' }, input.metadata.name ?? '', [error])
}

const EVICTED = { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting' }
const PODS = { group: '', plural: 'pods', kind: 'Pod' }
const BINDINGS = { group: '', plural: 'pods/binding', kind: 'Pod' }

function bind<P extends Pod>(pod: P, input: Binding & Envelope, { now }: RequestContext): P {
  const { target, metadata } = input
  checkPreconditions(pod.metadata, metadata)
  checkUnbound(pod)
  pod.spec.nodeName = target.name!
  delete pod.status.nominatedNodeName
  copyEntries(pod.metadata, 'annotations', metadata.annotations)
  dropInitContainerAnnotations(pod.metadata)
  copyEntries(pod.metadata, 'labels', metadata.labels)
  setPodCondition(pod.status, { type: 'PodScheduled', status: 'True' }, now)
  return pod
}

function checkBinding(input: Binding & Envelope, name: string): void {
  checkName(input, name)
  const errors = [...validateBinding(input, refTo(input))]
  if (errors.length > 0) throw invalidObject({ group: '', kind: 'Binding' }, name, errors)
}

function checkName({ kind, metadata }: Envelope, name: string): void {
  if (metadata.name !== name) throw badRequest(`name in URL does not match name in ${kind} object`)
}

function checkPreconditions(stored: ObjectMeta, { uid, resourceVersion }: ObjectMeta): void {
  const name = stored.name ?? ''
  if (uid && uid !== stored.uid)
    throw conflict(PODS, name, `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${stored.uid}`)
  if (resourceVersion && resourceVersion !== stored.resourceVersion)
    throw conflict(
      PODS,
      name,
      `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${stored.resourceVersion}`,
    )
}

function checkUnbound({ metadata: { name = '', deletionTimestamp }, spec }: Pod): void {
  if (deletionTimestamp) throw conflict(BINDINGS, name, `pod ${name} is being deleted, cannot be assigned to a host`)
  if (spec.nodeName) throw conflict(BINDINGS, name, `pod ${name} is already assigned to node ${goQuote(spec.nodeName)}`)
  if (spec.schedulingGates?.length) throw conflict(BINDINGS, name, `pod ${name} has non-empty .spec.schedulingGates`)
}

function copyEntries(to: ObjectMeta, part: 'annotations' | 'labels', from: Record<string, string> | undefined): void {
  for (const [key, value] of Object.entries(from ?? {})) setOwn((to[part] ??= {}), key, value)
}
