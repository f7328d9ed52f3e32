/** Creates the claims that a pod or a pod group declares by templates. */

import type { Client } from '../../client/client.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import { OWNER_INDEX } from '../../client/informer.ts'
import type { ClaimHolder } from '../../devices/pod-claims.ts'
import { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { ResourceClaimTemplate } from '../../kinds/resource/resourceclaimtemplate.ts'
import type { PodResourceClaim } from '../../kinds/rules/pod/spec.ts'
import { messageOf } from '../../lib/error-message.ts'
import { claimDraft, claimStatuses, planEntry } from './reconcile.ts'

export type MadeFor = {
  /** Names the holder in errors. */
  readonly shown: string
  /** Names its entries there and in events. */
  readonly entryType: 'PodResourceClaim' | 'PodGroupResourceClaim'
  /** Whether a claim was made for the holder. */
  readonly isMade: (claim: ResourceClaim) => boolean
  /** The object that owns the claim of an entry: the holder or its group, undefined for a group without the feature. */
  readonly ownerOf: (entry: PodResourceClaim) => ClaimHolder | undefined
}

/** Creates missing claims; resolves to the status to be written, undefined when the holder has it already. */
export type ClaimMaker = (
  holder: ClaimHolder,
  madeFor: MadeFor,
) => Promise<{ readonly resourceClaimStatuses: ReturnType<typeof claimStatuses> } | undefined>

export function claimMaker({ client, recorder }: { readonly client: Client; readonly recorder: EventRecorder }): ClaimMaker {
  const [claims, templates] = [client.of(ResourceClaim), client.of(ResourceClaimTemplate)]

  /** The name of a claim that the status of the holder lacks; undefined when it lacks none, or none that exists yet. */
  async function claimFor(holder: ClaimHolder, entry: PodResourceClaim, { isMade, ownerOf }: MadeFor): Promise<string | undefined> {
    const { namespace = '' } = holder.metadata
    const owner = ownerOf(entry)
    const { uid = '' } = (owner ?? holder).metadata
    const own = claims.byIndex(OWNER_INDEX, uid)
    const plan = planEntry(holder, entry, { existing: name => claims.get({ namespace, name }), isMade, owner: uid, own })
    if (plan.type === 'done') return undefined
    if (!owner) throw new Error(`claim ${entry.name} is a PodGroup claim but the DRAWorkloadResourceClaims feature is disabled`)
    if (plan.type === 'made') return plan.claim
    // A claim of a group is made when the group is looked at.
    return owner === holder ? create(holder, entry) : undefined
  }

  async function create(holder: ClaimHolder, entry: PodResourceClaim): Promise<string> {
    const name = entry.resourceClaimTemplateName!
    const template = templates.get({ namespace: holder.metadata.namespace ?? '', name })
    if (!template) throw new Error(`resource claim template "${name}": resourceclaimtemplate.resource.k8s.io "${name}" not found`)
    try {
      const written = await claims.create(claimDraft(holder, entry, template))
      if (!written) throw new Error('the name is taken')
      return written.object.metadata.name ?? ''
    } catch (error) {
      throw new Error(`create ResourceClaim : ${messageOf(error)}`)
    }
  }

  return async (holder, madeFor) => {
    const made = new Map<string, string>()
    for (const entry of holder.spec.resourceClaims ?? [])
      try {
        const claim = await claimFor(holder, entry, madeFor)
        if (claim !== undefined) made.set(entry.name, claim)
      } catch (error) {
        const message = `${madeFor.entryType} ${entry.name}: ${messageOf(error)}`
        recorder.event(holder, 'Warning', 'FailedResourceClaimCreation', message)
        throw new Error(`${madeFor.shown}, ${message}`)
      }
    return made.size > 0 ? { resourceClaimStatuses: claimStatuses(holder, made) } : undefined
  }
}
