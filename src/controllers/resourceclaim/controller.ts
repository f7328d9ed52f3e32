/** Creates claims for pods and pod groups from templates, maintains reservations, and deallocates claims that are no longer used. */

import { type Change, namedBy, queueKey } from '../../client/change.ts'
import type { IndexDefinition } from '../../client/informer.ts'
import { CLAIM_INDEX, type ClaimHolder, claimNamesOf, declaredClaims, isPodDone } from '../../devices/pod-claims.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { ResourceClaimTemplate } from '../../kinds/resource/resourceclaimtemplate.ts'
import { PodGroup } from '../../kinds/scheduling/podgroup.ts'
import { defineController, type Watch, watch } from '../controller.ts'
import { GROUP_INDEX } from '../pods/group-members.ts'
import { type ClaimHolderParts, ClaimHolders } from './claim-holders.ts'
import { ClaimReservations } from './claim-reservations.ts'
import { mayNeedClaims } from './reconcile.ts'

const templatesOf = ({ namespace, object }: { readonly namespace: string; readonly object?: ClaimHolder | undefined }): string[] =>
  (object?.spec.resourceClaims ?? []).flatMap(({ resourceClaimTemplateName: name }) => (name ? queueKey({ namespace, name }) : []))

/** Pods and groups by the templates that claims are made from for them. */
const BY_TEMPLATE: IndexDefinition<Pod> = { name: 'resource-claim-template', valuesOf: templatesOf }
const GROUPS_BY_TEMPLATE: IndexDefinition<PodGroup> = { name: 'resource-claim-template', valuesOf: templatesOf }
/** Groups by the claims that they have by now. */
const GROUPS_BY_CLAIM: IndexDefinition<PodGroup> = {
  name: 'resource-claim',
  valuesOf: ({ namespace, object }) => (object ? declaredClaims(object).map(name => queueKey({ namespace, name })) : []),
}

const [POD, GROUP, CLAIM] = ['pod:', 'podgroup:', 'claim:']

export type ResourceClaimParts = { readonly gate: (name: string) => boolean }

export const resourceClaimController = ({ gate }: ResourceClaimParts) =>
  defineController({
    name: 'resourceclaim-controller',
    identity: 'resource-claim-controller',
    component: 'resource_claim',
    workers: 10,
    create({ client, recorder }) {
      const groups = gate('GenericWorkload') ? client.find(PodGroup) : undefined
      const parts = { client, recorder, groups, hasGroupClaims: groups !== undefined && gate('DRAWorkloadResourceClaims') }
      const holders = new ClaimHolders(parts)
      const reservations = new ClaimReservations(parts)
      return {
        watches: claimWatches(parts),
        reconcile(key) {
          if (key.startsWith(POD)) return holders.syncPod(namedBy(key.slice(POD.length)))
          if (key.startsWith(GROUP)) return holders.syncGroup(namedBy(key.slice(GROUP.length)))
          return reservations.syncClaim(namedBy(key.slice(CLAIM.length)))
        },
      }
    },
  })

function claimWatches({ client, groups, hasGroupClaims }: ClaimHolderParts): Watch[] {
  const pods = client.of(Pod)

  /** The keys of a changed pod: its claims if it no longer needs them, and itself if a claim may have to be created or reserved. */
  function* keysOfPod({ type, current: { namespace, name, object: pod } }: Pick<Change<Pod>, 'type' | 'current'>): Iterable<string> {
    if (!pod || (!pod.spec.resourceClaims?.length && !pod.status.extendedResourceClaimStatus)) return
    if (type === 'deleted' || isPodDone(pod)) for (const claim of claimNamesOf(pod)) yield CLAIM + queueKey({ namespace, name: claim })
    if (type !== 'deleted' && mayNeedClaims(pod) && pod.spec.resourceClaims?.length) yield POD + queueKey({ namespace, name })
  }

  /** The keys of a changed group: its claims if it is gone, itself, and its pods, which get its claims. Pods wait for their group. */
  function* keysOfGroup({ type, current }: Pick<Change<PodGroup>, 'type' | 'current'>): Iterable<string> {
    const { namespace, object: group } = current
    const hasClaims = hasGroupClaims && group?.spec.resourceClaims?.length
    if (!group || (!hasClaims && type !== 'added')) return
    if (hasClaims && type === 'deleted') for (const claim of declaredClaims(group)) yield CLAIM + queueKey({ namespace, name: claim })
    if (hasClaims && type !== 'deleted') yield GROUP + queueKey(current)
    for (const pod of pods.informer.byIndex(GROUP_INDEX, queueKey(current))) yield* keysOfPod({ type: 'updated', current: pod })
  }

  return [
    watch(Pod, keysOfPod),
    ...(groups ? [watch(PodGroup, keysOfGroup)] : []),
    watch(ResourceClaimTemplate, function* ({ type, current }) {
      if (type === 'deleted') return
      for (const { metadata } of pods.byIndex(BY_TEMPLATE, queueKey(current))) yield POD + queueKey(metadata)
      if (!hasGroupClaims) return
      for (const { metadata } of groups!.byIndex(GROUPS_BY_TEMPLATE, queueKey(current))) yield GROUP + queueKey(metadata)
    }),
    watch(ResourceClaim, function* ({ type, current }) {
      if (type !== 'deleted') yield CLAIM + queueKey(current)
      for (const pod of pods.informer.byIndex(CLAIM_INDEX, queueKey(current))) yield* keysOfPod({ type: 'updated', current: pod })
      if (!hasGroupClaims) return
      for (const group of groups!.informer.byIndex(GROUPS_BY_CLAIM, queueKey(current)))
        yield* keysOfGroup({ type: 'updated', current: group })
    }),
  ]
}
