/** PersistentVolumeClaim asks for storage: how much of it, of which class, and how it will be used. */
import { getOwn } from '../../lib/json-value.ts'
import { age } from '../../schema/columns.ts'
import { defineKind } from '../../schema/kind.ts'
import { hasErrors, refTo } from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import { validateLabelSelector } from '../shapes/meta.ts'
import { PersistentVolumeClaimSpec } from '../shapes/persistent-volume/claim.ts'
import { type ClaimOptions, validatePersistentVolumeClaimSpec } from '../shapes/persistent-volume/claim-rules.ts'
import { PersistentVolumeClaimStatus } from '../shapes/persistent-volume/claim-status.ts'
import { warnAboutClaim } from '../shapes/pod/volumes/volume-warnings.ts'
import { CLASS_ANNOTATION, classOf, formatAccessModes, OLD_CLASS_ADVICE } from '../shapes/storage-class.ts'
import { validateClaimChange } from './claim-change-rules.ts'
import { validateClaimStatus } from './claim-status-rules.ts'

export const PersistentVolumeClaim = defineKind({
  group: '',
  version: 'v1',
  kind: 'PersistentVolumeClaim',
  scope: 'Namespaced',
  names: { plural: 'persistentvolumeclaims', short: ['pvc'] },
  doc: 'Asks for storage and, once bound, stands for it.',
  spec: PersistentVolumeClaimSpec,
  status: PersistentVolumeClaimStatus,

  prepareForCreate: ({ spec }, ctx) => settleSources(spec, undefined, ctx),
  prepareForUpdate: ({ spec }, old, ctx) => settleSources(spec, old.spec, ctx),
  *validate(o, at, { old }) {
    yield* validatePersistentVolumeClaimSpec(o.spec, at.spec, forgivenIn(old?.spec))
    if (old) yield* validateClaimChange(o, old, at)
  },
  *warn({ metadata, spec }) {
    if (Object.hasOwn(metadata.annotations ?? {}, CLASS_ANNOTATION)) yield `metadata.annotations[${CLASS_ANNOTATION}]: ${OLD_CLASS_ADVICE}`
    yield* warnAboutClaim(spec, refTo(spec, 'spec'))
  },

  deletion: { returns: 'object' },

  subresources: {
    status: {
      prepareForUpdate({ status }, old, { gate }) {
        if (!gate('CSIVolumeHealth') && !old.status.healthStatus) delete status.healthStatus
      },
      validate: validateClaimStatus,
    },
  },

  columns: {
    Status: ['string', o => (o.metadata.deletionTimestamp ? 'Terminating' : o.status.phase), 'Whether the claim is bound.'],
    Volume: ['string', o => o.spec.volumeName ?? '', 'The volume the claim is bound to.'],
    Capacity: ['string', o => (o.spec.volumeName ? (getOwn(o.status.capacity ?? {}, 'storage') ?? '0') : ''), 'How much the volume holds.'],
    'Access Modes': ['string', o => (o.spec.volumeName ? formatAccessModes(o.status.accessModes) : ''), 'How the volume can be mounted.'],
    StorageClass: ['string', o => classOf(o) ?? '', 'StorageClass of the pvc'],
    VolumeAttributesClass: ['string', o => o.spec.volumeAttributesClassName ?? '<unset>', 'VolumeAttributesClass of the pvc'],
    Age: age,
    VolumeMode: ['string', o => o.spec.volumeMode ?? '<unset>', 'Whether a file system or a raw device is asked for.', 'wide'],
  },
})

/** What a stored claim already breaks stays allowed. */
function forgivenIn(old: PersistentVolumeClaimSpec | undefined): ClaimOptions {
  if (!old) return {}
  const hasGroup = [old.dataSource, old.dataSourceRef].some(source => (source?.apiGroup ?? undefined) !== undefined)
  return { allowInvalidSelectorValues: hasInvalidSelector(old), allowInvalidSourceGroup: hasGroup }
}

const hasInvalidSelector = ({ selector }: PersistentVolumeClaimSpec): boolean =>
  selector !== undefined && hasErrors(validateLabelSelector(selector, refTo(selector)))

/** Claims name what fills them twice: in a field that knows few kinds, and in one that knows all. Either is made from the other. */
function settleSources(
  spec: PersistentVolumeClaimSpec,
  old: PersistentVolumeClaimSpec | undefined,
  { gate, groupDomain }: RequestContext,
): void {
  if (spec.dataSourceRef?.namespace && !gate('CrossNamespaceVolumeDataSource') && !old?.dataSourceRef) delete spec.dataSourceRef
  // What the older field does not know was always dropped without a word.
  if (!old?.dataSource && !old?.dataSourceRef && !spec.dataSourceRef && !isClaimOrSnapshot(spec.dataSource, groupDomain))
    delete spec.dataSource
  const { dataSource, dataSourceRef } = spec
  if (dataSource && !dataSourceRef) spec.dataSourceRef = { ...dataSource }
  else if (dataSourceRef && !dataSource && !dataSourceRef.namespace) {
    const { namespace: _, ...local } = dataSourceRef
    spec.dataSource = local
  }
}

function isClaimOrSnapshot(source: PersistentVolumeClaimSpec['dataSource'], groupDomain: string): boolean {
  if (source?.kind === 'PersistentVolumeClaim') return !source.apiGroup
  return source?.kind === 'VolumeSnapshot' && source.apiGroup === `snapshot.storage.${groupDomain}`
}
