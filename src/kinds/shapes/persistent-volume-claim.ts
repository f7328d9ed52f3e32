/** What is asked of storage: the claim a user writes and the template that pods make claims from. */
import { ObjectMeta } from '../../schema/object-meta.ts'
import { atomic, mapOf, message, quantity, type Static, string } from '../../schema/types.ts'
import { LabelSelector } from './meta.ts'
import { TypedLocalObjectReference, TypedObjectReference } from './pod/references.ts'

export const VolumeResourceRequirements = message('VolumeResourceRequirements', {
  limits: [1, mapOf(quantity), ''],
  requests: [2, mapOf(quantity), ''],
})
export type VolumeResourceRequirements = Static<typeof VolumeResourceRequirements>

export const PersistentVolumeClaimSpec = message('PersistentVolumeClaimSpec', {
  accessModes: [1, atomic(string), ''],
  selector: [4, LabelSelector, ''],
  resources: [2, VolumeResourceRequirements.orEmpty(), ''],
  volumeName: [3, string, ''],
  storageClassName: [5, string.optional(), ''],
  volumeMode: [6, string.optional().default('Filesystem'), ''],
  dataSource: [7, TypedLocalObjectReference, ''],
  dataSourceRef: [8, TypedObjectReference, ''],
  volumeAttributesClassName: [9, string.optional(), ''],
})
export type PersistentVolumeClaimSpec = Static<typeof PersistentVolumeClaimSpec>

export const PersistentVolumeClaimTemplate = message('PersistentVolumeClaimTemplate', {
  metadata: [1, ObjectMeta.orEmpty(), ''],
  spec: [2, PersistentVolumeClaimSpec.orEmpty(), ''],
})
export type PersistentVolumeClaimTemplate = Static<typeof PersistentVolumeClaimTemplate>
