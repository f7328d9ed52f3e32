/** Creates claims for pods from templates, maintains reservations, and deallocates claims that are no longer used. */

import { type Change, namedBy, queueKey } from '../../client/change.ts'
import { type IndexDefinition, OWNER_INDEX } from '../../client/informer.ts'
import {
  CLAIM_FINALIZER,
  CLAIM_INDEX,
  claimNameOf,
  claimNamesOf,
  consumerOf,
  isMadeFor,
  isPodDone,
  isReservedFor,
  notMadeFor,
} from '../../devices/pod-claims.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import type { ResourceClaimConsumerReference } from '../../kinds/resource/allocation-shapes.ts'
import { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { ResourceClaimTemplate } from '../../kinds/resource/resourceclaimtemplate.ts'
import { messageOf } from '../../lib/error-message.ts'
import { defineController, watch } from '../controller.ts'
import { claimDraft, claimStatuses, keepsReservation, owningPod, planClaim, planEntry } from './reconcile.ts'

/** Pods by the templates that claims are made from for them. */
const BY_TEMPLATE: IndexDefinition<Pod> = {
  name: 'resource-claim-template',
  valuesOf: ({ namespace, object }) =>
    (object?.spec.resourceClaims ?? []).flatMap(({ resourceClaimTemplateName: name }) => (name ? queueKey({ namespace, name }) : [])),
}

const [POD, CLAIM] = ['pod:', 'claim:']

export const resourceClaimController = defineController({
  name: 'resourceclaim-controller',
  identity: 'resource-claim-controller',
  component: 'resource_claim',
  workers: 10,
  create({ client, recorder }) {
    const [pods, claims, templates] = [client.of(Pod), client.of(ResourceClaim), client.of(ResourceClaimTemplate)]

    /** The keys of a changed pod: its claims if it no longer needs them, and itself if a claim may have to be created or reserved. */
    function* keysOfPod({ type, current: { namespace, name, object: pod } }: Pick<Change<Pod>, 'type' | 'current'>): Iterable<string> {
      if (!pod || (!pod.spec.resourceClaims?.length && !pod.status.extendedResourceClaimStatus)) return
      if (type === 'deleted' || isPodDone(pod)) for (const claim of claimNamesOf(pod)) yield CLAIM + queueKey({ namespace, name: claim })
      if (type !== 'deleted' && !pod.metadata.deletionTimestamp && pod.spec.resourceClaims?.length)
        yield POD + queueKey({ namespace, name })
    }

    async function syncPod(named: ReturnType<typeof namedBy>): Promise<void> {
      const pod = pods.get(named)
      if (!pod || pod.metadata.deletionTimestamp) return
      const made = new Map<string, string>()
      for (const entry of pod.spec.resourceClaims ?? [])
        try {
          const own = claims.byIndex(OWNER_INDEX, pod.metadata.uid ?? '')
          const plan = planEntry(pod, entry, { existing: name => claims.get({ ...named, name }), own })
          if (plan.type === 'done') continue
          made.set(entry.name, plan.type === 'made' ? plan.claim : await make(pod, entry))
        } catch (error) {
          const message = `PodResourceClaim ${entry.name}: ${messageOf(error)}`
          recorder.event(pod, 'Warning', 'FailedResourceClaimCreation', message)
          throw new Error(`pod ${named.namespace}/${named.name}, ${message}`)
        }
      if (made.size > 0) {
        const status = { resourceClaimStatuses: claimStatuses(pod, made) }
        await pods.apply({ metadata: named, status }, { manager: 'ResourceClaimController', subresource: 'status' })
      }
      if (pod.spec.nodeName) await reserve(pods.get(named) ?? pod)
    }

    async function make(pod: Pod, entry: NonNullable<Pod['spec']['resourceClaims']>[number]): Promise<string> {
      const name = entry.resourceClaimTemplateName!
      const template = templates.get({ namespace: pod.metadata.namespace ?? '', name })
      if (!template) throw new Error(`resource claim template "${name}": resourceclaimtemplate.resource.k8s.io "${name}" not found`)
      try {
        const written = await claims.create(claimDraft(pod, entry, template))
        if (!written) throw new Error('the name is taken')
        return written.object.metadata.name ?? ''
      } catch (error) {
        throw new Error(`create ResourceClaim : ${messageOf(error)}`)
      }
    }

    /** A pod that was bound without the scheduler gets reservations of claims that are already allocated. */
    async function reserve(pod: Pod): Promise<void> {
      for (const entry of pod.spec.resourceClaims ?? []) {
        const named = claimNameOf(pod, entry)
        if (!('name' in named)) continue
        const claim = claims.get({ namespace: pod.metadata.namespace ?? '', name: named.name })
        if (!claim) return
        if (named.type === 'made' && !isMadeFor(pod.metadata.uid, claim)) throw new Error(notMadeFor(pod, claim))
        if (!claim.status.allocation || isReservedFor(pod.metadata.uid, claim)) continue
        const reservedFor = [...(claim.status.reservedFor ?? []), consumerOf(pod)]
        await claims.updateStatus({ ...claim, status: { ...claim.status, reservedFor } })
      }
    }

    async function syncClaim(named: ReturnType<typeof namedBy>): Promise<void> {
      const claim = claims.get(named)
      if (!claim) return
      const remaining: ResourceClaimConsumerReference[] = []
      for (const consumer of claim.status.reservedFor ?? []) if (await isKept(named.namespace, consumer)) remaining.push(consumer)
      const owner = owningPod(claim)
      const pod = owner && pods.get({ namespace: named.namespace, name: owner.name })
      const { status, dropsFinalizer, deletes } = planClaim(claim, remaining, pod !== undefined && !keepsReservation(pod, owner!.uid))
      // Updated, not patched: if anything has changed in the meantime it must be looked at again.
      const written = status ? (await claims.updateStatus({ ...claim, status }))?.object : claim
      if (dropsFinalizer && written) await claims.update(withoutFinalizer(written))
      if (deletes) await claims.delete(claim)
    }

    async function isKept(namespace: string, { apiGroup, resource, name, uid }: ResourceClaimConsumerReference): Promise<boolean> {
      if (apiGroup || resource !== 'pods') return true
      const pod = pods.get({ namespace, name })
      if (pod) return keepsReservation(pod, uid)
      // A pod that another replica has just bound may not be known here yet. An empty patch reads the current object.
      const current = await pods.patch({ namespace, name }, {}, { subresource: 'status' })
      return current !== undefined && keepsReservation(current.object, uid)
    }

    return {
      watches: [
        watch(Pod, keysOfPod),
        watch(ResourceClaimTemplate, ({ type, current }) =>
          type === 'deleted' ? [] : [...pods.byIndex(BY_TEMPLATE, queueKey(current))].map(({ metadata }) => POD + queueKey(metadata)),
        ),
        watch(ResourceClaim, ({ type, current }) => [
          ...(type === 'deleted' ? [] : [CLAIM + queueKey(current)]),
          ...[...pods.informer.byIndex(CLAIM_INDEX, queueKey(current))].flatMap(pod => [...keysOfPod({ type: 'updated', current: pod })]),
        ]),
      ],
      reconcile: key => (key.startsWith(POD) ? syncPod(namedBy(key.slice(POD.length))) : syncClaim(namedBy(key.slice(CLAIM.length)))),
    }
  },
})

const withoutFinalizer = (claim: ResourceClaim): ResourceClaim => ({
  ...claim,
  metadata: { ...claim.metadata, finalizers: (claim.metadata.finalizers ?? []).filter(each => each !== CLAIM_FINALIZER) },
})
