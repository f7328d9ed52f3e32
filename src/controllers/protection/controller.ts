/** Keeps terminating objects while they are in use, by a finalizer. */

import { type Change, namedBy, queueKey } from '../../client/change.ts'
import type { Client } from '../../client/client.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { PodGroup } from '../../kinds/scheduling/podgroup.ts'
import { VolumeAttributesClass } from '../../kinds/storage/volumeattributesclass.ts'
import type { Kind } from '../../schema/kind.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { type Controller, defineController, watch } from '../controller.ts'
import { GROUP_INDEX, groupsOf } from '../pods/group-members.ts'
import { nextStep, unusedStatus } from './reconcile.ts'
import {
  CLAIM_INDEX,
  claimsOf,
  classesOf,
  isClaimReferenced,
  isClaimUsed,
  isClassUsed,
  isGroupUsed,
  isOver,
  isVolumeUsed,
} from './usage.ts'

type Protection = Pick<Controller, 'name' | 'identity'> & {
  readonly kind: Kind<any>
  readonly finalizer: string
  /** Only admission adds the finalizer. */
  readonly onlyReleases?: true
  readonly isUsed: (object: AnyObject, client: Client) => boolean
  /** Objects that may use the protected ones, and which of those: when they change, a protected one may be free. */
  readonly users?: readonly User[]
  /** The status that says whether the object is used, where one does; undefined when it says so already. */
  readonly report?: (object: AnyObject, client: Client) => object | undefined
}
type User = {
  readonly kind: Kind<any>
  readonly uses: (user: AnyObject) => readonly string[]
  /** Whether a change can affect the reported condition. */
  readonly matters?: (change: Change) => boolean
}

const protectionController = ({ name, identity, kind, finalizer, onlyReleases, isUsed, users = [], report }: Protection): Controller =>
  defineController({
    name,
    identity,
    create({ client }) {
      const objects = client.of<Kind<AnyObject>>(kind)
      const stepOf = ({ metadata }: AnyObject, isNeeded: () => boolean) => {
        const step = nextStep(metadata, finalizer, isNeeded)
        return step === 'protect' && onlyReleases ? undefined : step
      }
      /** Those whose deletion waits for users. */
      const waiting = new Set<string>()
      const isAnyIn = (namespace: string): boolean => {
        for (const _ of objects.revisions({ namespace })) return true
        return false
      }
      /** Users are decoded only where that can make a difference. */
      function touchedBy({ uses, matters }: User, change: Change): string[] {
        const { current, previous } = change
        const isReported = report !== undefined && matters?.(change) === true && isAnyIn(current.namespace)
        if (!isReported && waiting.size === 0) return []
        const keys = [current.object, previous?.object].flatMap(user => (user ? uses(user) : []))
        return isReported ? keys : keys.filter(key => waiting.has(key))
      }
      return {
        watches: [
          watch(kind, ({ current, type }) => {
            if (type === 'deleted') waiting.delete(queueKey(current))
            else if (report || (current.object && stepOf(current.object, () => true))) return queueKey(current)
            return undefined
          }),
          ...users.map(user => watch(user.kind, change => touchedBy(user, change))),
        ],
        async reconcile(key) {
          const stored = objects.get(namedBy(key))
          const status = stored && report?.(stored, client)
          const object = status ? (await objects.updateStatus({ ...stored, status }))?.object : stored
          // Watched before the users are read, so that no change of a user is missed.
          waiting.add(key)
          const step = object && stepOf(object, () => isUsed(object, client))
          if (step === 'wait') return
          waiting.delete(key)
          if (!step) return
          const { finalizers: had = [] } = object!.metadata
          const finalizers = step === 'protect' ? [...had, finalizer] : had.filter(each => each !== finalizer)
          await objects.update({ ...object!, metadata: { ...object!.metadata, finalizers } })
        },
      }
    },
  })

const podsAround = (claim: AnyObject, client: Client) => client.of(Pod).byIndex(CLAIM_INDEX, queueKey(claim.metadata))
/** Whether a pod is there now and was not, or the other way round. */
const comesOrGoes = ({ type, current, previous }: Change): boolean =>
  type !== 'updated' || current.uid !== previous?.uid || isOver(current.fields['status.phase'])

/** Claims stay while pods on a node use them. */
export const claimProtection = (gate: (name: string) => boolean): Controller =>
  protectionController({
    name: 'persistentvolumeclaim-protection-controller',
    identity: 'pvc-protection-controller',
    kind: PersistentVolumeClaim,
    finalizer: 'kubernetes.io/pvc-protection',
    users: [{ kind: Pod, uses: claimsOf, matters: comesOrGoes }],
    isUsed: (claim, client) => isClaimUsed(claim, podsAround(claim, client)),
    ...(gate('PersistentVolumeClaimUnusedSinceTime') && {
      report: (claim: AnyObject, client: Client) =>
        unusedStatus(claim, () => isClaimReferenced(claim, podsAround(claim, client)), client.now),
    }),
  })

/** Groups of pods stay while they have pods that run or will run. */
export const podGroupProtection = protectionController({
  name: 'podgroup-protection-controller',
  identity: 'podgroup-protection-controller',
  kind: PodGroup,
  finalizer: 'scheduling.k8s.io/podgroup-protection',
  onlyReleases: true,
  users: [{ kind: Pod, uses: groupsOf }],
  isUsed: (group, client) => isGroupUsed(client.of(Pod).byIndex(GROUP_INDEX, queueKey(group.metadata))),
})

/** Volumes stay while they are bound. */
export const volumeProtection = protectionController({
  name: 'persistentvolume-protection-controller',
  identity: 'pv-protection-controller',
  kind: PersistentVolume,
  finalizer: 'kubernetes.io/pv-protection',
  isUsed: isVolumeUsed,
})

/** Classes stay while claims or volumes have them. */
export const attributesClassProtection = protectionController({
  name: 'volumeattributesclass-protection-controller',
  identity: 'volumeattributesclass-protection-controller',
  kind: VolumeAttributesClass,
  finalizer: 'kubernetes.io/vac-protection',
  users: [
    { kind: PersistentVolumeClaim, uses: classesOf },
    { kind: PersistentVolume, uses: classesOf },
  ],
  isUsed: (object, client) => isClassUsed(object, client.of(PersistentVolume).list(), client.of(PersistentVolumeClaim).list()),
})
