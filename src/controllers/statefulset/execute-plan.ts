/** Creates, updates and deletes the pods of a StatefulSet and their claims as planned, with events. */

import type { ResourceClient } from '../../client/client.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import type { StatefulSet } from '../../kinds/apps/statefulset.ts'
import type { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { messageOf } from '../../lib/error-message.ts'
import { alreadyExists } from '../../schema/status-error.ts'
import { slowStart } from '../pods/slow-start.ts'
import { claimsFor, type FindClaim, hasOtherController, misownedClaims } from './claims.ts'
import { withIdentity } from './identity.ts'
import { isInOrder, type Phase, type Step } from './reconcile.ts'

export type StepParts = {
  readonly set: StatefulSet
  readonly pods: ResourceClient<Pod>
  readonly claims: ResourceClient<PersistentVolumeClaim>
  readonly findClaim: FindClaim
  readonly recorder: EventRecorder
}

type Verb = 'Create' | 'Update' | 'Delete'

/** Carries out the phases one after the other, up to the first that fails. */
export async function executePlan(parts: StepParts, phases: readonly Phase[]): Promise<void> {
  const about = async (steps: readonly Step[]) => {
    for (const step of steps) await carryOutStep(parts, step)
  }
  for (const phase of phases)
    if (isInOrder(parts.set)) for (const steps of phase) await about(steps)
    else {
      const { error } = await slowStart(phase.length, index => about(phase[index]!))
      if (error) throw error
    }
}

async function carryOutStep(parts: StepParts, { step, pod }: Step): Promise<void> {
  switch (step) {
    case 'create':
      return createPod(parts, pod)
    case 'claim':
      await createClaims(parts, pod)
      return trying(parts, 'Update', pod, () => ownClaims(parts, pod))
    case 'own':
      return ownClaims(parts, pod)
    case 'update':
      return updatePod(parts, pod)
    case 'delete':
      await trying(parts, 'Delete', pod, () => parts.pods.delete(pod))
      tell(parts, 'Delete', pod)
  }
}

async function createPod(parts: StepParts, pod: Pod): Promise<void> {
  const { status: _, ...draft } = pod
  const created = await trying(parts, 'Create', pod, async () => {
    await createClaims(parts, pod)
    return parts.pods.create(draft)
  })
  if (!created) throw alreadyExists(parts.pods.resource, pod.metadata.name ?? '')
  await trying(parts, 'Update', pod, () => ownClaims(parts, pod))
  tell(parts, 'Create', pod)
}

async function updatePod(parts: StepParts, pod: Pod): Promise<void> {
  await trying(parts, 'Update', pod, async () => {
    const next = withIdentity(parts.set, pod)
    if (next) await createClaims(parts, next)
    await ownClaims(parts, pod)
    await parts.pods.update(next ?? pod)
  })
  tell(parts, 'Update', pod)
}

async function createClaims({ set, claims, findClaim, recorder }: StepParts, pod: Pod): Promise<void> {
  const errors: string[] = []
  const where = `Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name}`
  for (const claim of claimsFor(set, pod)) {
    const { name = '' } = claim.metadata ?? {}
    const found = findClaim(name)
    if (found?.metadata.deletionTimestamp) errors.push(`pvc ${name} is being deleted`)
    if (found) continue
    try {
      if (await claims.create(claim)) recorder.event(set, 'Normal', 'SuccessfulCreate', `Create Claim ${name} ${where} success`)
    } catch (error) {
      recorder.event(set, 'Warning', 'FailedCreate', `Create Claim ${name} for ${where} failed error: ${messageOf(error)}`)
      errors.push(`failed to create PVC ${name}: ${messageOf(error)}`)
    }
  }
  if (errors.length > 0) throw new Error(errors.length === 1 ? errors[0] : `[${errors.join(', ')}]`)
}

async function ownClaims({ set, claims, findClaim, recorder }: StepParts, pod: Pod): Promise<void> {
  for (const { metadata } of claimsFor(set, pod)) {
    const claim = findClaim(metadata?.name ?? '')
    if (claim && hasOtherController(claim, set, pod))
      recorder.event(
        set,
        'Warning',
        'ConflictingController',
        `PersistentVolumeClaim ${metadata?.name} has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for this claim`,
      )
  }
  for (const claim of misownedClaims(set, pod, findClaim)) await claims.update(claim)
}

/** Tells about a failure. */
async function trying<R>(parts: StepParts, verb: Verb, pod: Pod, work: () => Promise<R>): Promise<R> {
  try {
    return await work()
  } catch (error) {
    parts.recorder.event(parts.set, 'Warning', `Failed${verb}`, `${subject(parts, verb, pod)} failed error: ${messageOf(error)}`)
    throw error
  }
}

function tell(parts: StepParts, verb: Verb, pod: Pod): void {
  parts.recorder.event(parts.set, 'Normal', `Successful${verb}`, `${subject(parts, verb, pod)} successful`)
}

const subject = ({ set }: StepParts, verb: Verb, pod: Pod): string => `${verb} Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name}`
