/** The spec of a persistent volume claim, also in claim templates. */
import { ObjectMeta } from '../../../schema/object-meta.ts'
import { atomic, mapOf, message, quantity, type Static, string } from '../../../schema/types.ts'
import { LabelSelector } from '../meta.ts'
import { roundAmounts } from '../pod/resources/resources.ts'
import { TypedLocalObjectReference, TypedObjectReference } from '../references.ts'

const VolumeResourceRequirements = message(
  'VolumeResourceRequirements',
  {
    limits: [1, mapOf(quantity), 'The most that may be used.'],
    requests: [2, mapOf(quantity), 'The minimum amounts.'],
  },
  { defaults: ({ limits, requests }) => roundAmounts(limits, requests) },
)

export const PersistentVolumeClaimSpec = message('PersistentVolumeClaimSpec', {
  accessModes: [
    1,
    atomic(string.listed('ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod')),
    'How the volume is to be mounted: ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod.',
  ],
  selector: [4, LabelSelector, 'Which volumes may be bound.'],
  resources: [2, VolumeResourceRequirements.orEmpty(), 'How much storage is needed at least.'],
  volumeName: [3, string, 'The volume that is bound.'],
  storageClassName: [5, string.optional(), 'The class of the storage.'],
  volumeMode: [6, string.listed('Block', 'Filesystem').optional().default('Filesystem'), 'Filesystem, or Block for a raw device.'],
  dataSource: [7, TypedLocalObjectReference, 'The source of the content of the volume: a snapshot or another claim.'],
  dataSourceRef: [8, TypedObjectReference, 'The source of the content of the volume; any object that a volume populator supports.'],
  volumeAttributesClassName: [9, string.optional(), 'The class of attributes the volume gets.'],
})
export type PersistentVolumeClaimSpec = Static<typeof PersistentVolumeClaimSpec>

export const PersistentVolumeClaimTemplate = message('PersistentVolumeClaimTemplate', {
  metadata: [1, ObjectMeta.orEmpty(), 'Labels and annotations of the claim.'],
  spec: [2, PersistentVolumeClaimSpec.orEmpty().always(), 'The claim itself.'],
})
export type PersistentVolumeClaimTemplate = Static<typeof PersistentVolumeClaimTemplate>
