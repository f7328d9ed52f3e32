/** Keeps objects whose deletion has been asked for until nobody uses them any more, by a finalizer. */
import type { Client } from '../../client/client.ts'
import { namedBy, queueKey } from '../../client/object-revision.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { VolumeAttributesClass } from '../../kinds/storage/volumeattributesclass.ts'
import type { Kind } from '../../schema/kind.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { type Controller, defineController, watch } from '../controller.ts'
import { nextStep } from './reconcile.ts'
import { claimsOf, classesOf, isClaimUsed, isClassUsed, isVolumeUsed } from './usage.ts'

type Protection = Pick<Controller, 'name' | 'identity'> & {
  readonly kind: Kind<any>
  readonly finalizer: string
  readonly isUsed: (object: AnyObject, client: Client) => boolean
  /** Objects that may use the protected ones, and which of those: when they change, a protected one may be free. */
  readonly users?: readonly { readonly kind: Kind<any>; readonly uses: (user: AnyObject) => readonly string[] }[]
}

const protectionController = ({ name, identity, kind, finalizer, isUsed, users = [] }: Protection): Controller =>
  defineController({
    name,
    identity,
    create({ client }) {
      const objects = client.of<Kind<AnyObject>>(kind)
      /** Those whose deletion waits for users. */
      const waiting = new Set<string>()
      const ofUser = (uses: (user: AnyObject) => readonly string[], user: AnyObject | undefined) =>
        waiting.size > 0 && user ? uses(user).filter(key => waiting.has(key)) : []
      return {
        watches: [
          watch(kind, ({ current, type }) => {
            if (type === 'deleted') waiting.delete(queueKey(current))
            else if (current.object && nextStep(current.object.metadata, finalizer, () => true)) return queueKey(current)
            return undefined
          }),
          ...users.map(({ kind: using, uses }) =>
            watch(using, ({ current, previous }) => [
              ...ofUser(uses, waiting.size > 0 ? current.object : undefined),
              ...ofUser(uses, waiting.size > 0 ? previous?.object : undefined),
            ]),
          ),
        ],
        async reconcile(key) {
          const object = objects.get(namedBy(key))
          // Before it is asked who uses it, so that no change of a user is missed.
          waiting.add(key)
          const step = object && nextStep(object.metadata, finalizer, () => isUsed(object, client))
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

/** Claims stay while pods on a node use them. */
export const claimProtection = protectionController({
  name: 'persistentvolumeclaim-protection-controller',
  identity: 'pvc-protection-controller',
  kind: PersistentVolumeClaim,
  finalizer: 'kubernetes.io/pvc-protection',
  users: [{ kind: Pod, uses: claimsOf }],
  isUsed: (claim, client) => isClaimUsed(claim, client.of(Pod).list({ namespace: claim.metadata.namespace ?? '' })),
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
