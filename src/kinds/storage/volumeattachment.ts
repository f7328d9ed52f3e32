/** VolumeAttachment requests that a driver attach a volume to a node, and records the result. */
import { inclusiveRangeMessage, isDNS1123SubdomainCaseless, nameIsDNSSubdomain } from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import type { ObjectMeta } from '../../schema/object-meta.ts'
import { type FieldError, forbidden, invalid, invalidEach, type Ref, required, tooLong, withValue } from '../../schema/refs.ts'
import type { Rule } from '../../schema/rules.ts'
import { bool, int32, mapOf, message, type Static, string, time } from '../../schema/types.ts'
import { meansTheSame } from '../rules/compare.ts'
import { PersistentVolumeSpec } from '../rules/persistent-volume/volume.ts'
import { validateInlineVolumeSpec } from '../rules/persistent-volume/volume-rules.ts'
import { bytesOf } from './parameter-rules.ts'

const VolumeAttachmentSource = message('VolumeAttachmentSource', {
  persistentVolumeName: [1, string.optional(), 'The persistent volume.'],
  inlineVolumeSpec: [2, PersistentVolumeSpec, 'A volume of a pod that was moved to CSI.'],
})
type VolumeAttachmentSource = Static<typeof VolumeAttachmentSource>

const VolumeAttachmentSpec = message('VolumeAttachmentSpec', {
  attacher: [1, string.always(), 'The driver that is to attach it.'],
  source: [2, VolumeAttachmentSource.orEmpty().always(), 'The volume.'],
  nodeName: [3, string.always(), 'The node.'],
})
type VolumeAttachmentSpec = Static<typeof VolumeAttachmentSpec>

const VolumeError = message('VolumeError', {
  time: [1, time, 'When it happened.'],
  message: [2, string, 'The error message.'],
  errorCode: [3, int32.optional(), 'The code of the driver for it, as gRPC numbers them.'],
})
type VolumeError = Static<typeof VolumeError>

const VolumeAttachmentStatus = message('VolumeAttachmentStatus', {
  attached: [1, bool.always(), 'Whether the volume is attached.'],
  attachmentMetadata: [2, mapOf(string), 'Information about the attachment for later steps.'],
  attachError: [3, VolumeError, 'The last error of attaching.'],
  detachError: [4, VolumeError, 'The last error of detaching.'],
})
type VolumeAttachmentStatus = Static<typeof VolumeAttachmentStatus>

type Attachment = { metadata: ObjectMeta; spec: VolumeAttachmentSpec; status: VolumeAttachmentStatus }

const MAX_METADATA_BYTES = 256 * 1024
const MAX_MESSAGE_BYTES = 1024
const MAX_ATTACHER = 63
const MAX_INT32 = 2 ** 31 - 1
const ONE_SOURCE = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'

const validate: Rule<Attachment> = function* ({ spec, status }, at, { old }) {
  const { attacher, source, nodeName } = spec
  const isChanged = old !== undefined && !meansTheSame(VolumeAttachmentSpec, spec, old.spec)
  yield* validateSource(source, at.spec.source)
  yield* invalidEach(at.spec.nodeName, nameIsDNSSubdomain(nodeName))
  yield* validateStatus(status, at.status)
  const { persistentVolumeName: volume } = source
  if (volume !== undefined) yield* invalidEach(at.spec.source.persistentVolumeName, nameIsDNSSubdomain(volume))
  // A change of the spec is rejected as a whole, and the value is not shown.
  if (isChanged) yield invalid(withValue(at.spec, null), 'field is immutable')
  else if (!old) yield* validateAttacher(attacher, at.spec.attacher)
}

export const VolumeAttachment = defineKind({
  group: 'storage.{group_domain}',
  version: 'v1',
  kind: 'VolumeAttachment',
  scope: 'Cluster',
  names: { plural: 'volumeattachments' },
  doc: 'Asks a driver to attach a volume to a node.',
  spec: VolumeAttachmentSpec.always(),
  status: VolumeAttachmentStatus,
  allowUnconditionalUpdate: false,

  validate,

  deletion: { returns: 'object' },

  subresources: {
    status: {
      keepsMetadata: true,
      prepareForUpdate({ status }, { status: old }, { gate }) {
        if (gate('MutableCSINodeAllocatableCount')) return
        for (const error of ['attachError', 'detachError'] as const)
          if (old[error]?.errorCode === undefined) delete status[error]?.errorCode
      },
      validate,
    },
  },

  columns: {
    Attacher: [
      'string',
      o => o.spec.attacher,
      'attacher indicates the name of the volume driver that MUST handle this request. This is the name returned by GetPluginName().',
      { format: 'name' },
    ],
    PV: [
      'string',
      o => o.spec.source.persistentVolumeName ?? '',
      'persistentVolumeName represents the name of the persistent volume to attach.',
    ],
    Node: ['string', o => o.spec.nodeName, 'nodeName represents the node that the volume should be attached to.'],
    Attached: [
      'boolean',
      o => o.status.attached,
      'attached indicates the volume is successfully attached. This field must only be set by the entity completing the attach operation, i.e. the external-attacher.',
    ],
    Age: age,
  },
})

/** An object of the kind VolumeAttachment. */
export type VolumeAttachment = ObjectOf<typeof VolumeAttachment>

function* validateAttacher(attacher: string, at: Ref<string>): Iterable<FieldError> {
  if (!attacher) return yield required(at)
  yield* invalidEach(at, isDNS1123SubdomainCaseless(attacher))
  if ([...attacher].length > MAX_ATTACHER) yield tooLong(at, MAX_ATTACHER, 'character')
}

function* validateSource(source: VolumeAttachmentSource, at: Ref<VolumeAttachmentSource>): Iterable<FieldError> {
  const { inlineVolumeSpec: inline, persistentVolumeName: name } = source
  if (!inline && name === undefined) yield required(at, ONE_SOURCE)
  else if (inline && name !== undefined) yield forbidden(at, ONE_SOURCE)
  else if (name === '') yield required(at.persistentVolumeName, 'must specify non empty persistentVolumeName')
  else if (inline) yield* validateInlineVolumeSpec(inline, at.inlineVolumeSpec)
}

function* validateStatus(status: VolumeAttachmentStatus, at: Ref<VolumeAttachmentStatus>): Iterable<FieldError> {
  if (bytesOf(status.attachmentMetadata) > MAX_METADATA_BYTES) yield tooLong(at.attachmentMetadata, MAX_METADATA_BYTES)
  yield* validateError(status.attachError, at.attachError)
  yield* validateError(status.detachError, at.detachError)
}

function* validateError(error: VolumeError | undefined, at: Ref<VolumeError>): Iterable<FieldError> {
  if (Buffer.byteLength(error?.message ?? '') > MAX_MESSAGE_BYTES) yield tooLong(at.message, MAX_MESSAGE_BYTES)
  if ((error?.errorCode ?? 0) < 0) yield invalid(at.errorCode, inclusiveRangeMessage(0, MAX_INT32))
}
