/** Who owns which fields after a write: the patch layer's bookkeeping, told what a kind's paths may set. */
import type { JsonObject } from '../lib/json-value.ts'
import { formatTime, instantOf } from '../lib/time.ts'
import { type FieldSet, fieldSetOfNames } from '../patch/field-set.ts'
import { managerOf } from '../patch/managers.ts'
import { trackUpdate, type Write } from '../patch/ownership.ts'
import type { AnyObject, ManagedFieldsEntry } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import type { Call, CallContext } from './api.ts'
import type { WriteOptions } from './options.ts'
import { conversions } from './version-conversion.ts'

type About = { readonly options: WriteOptions; readonly ctx: CallContext }

/** A create owns all it sets; a message that is answered is owned by its sender like an object, through the path it was sent to. */
export function ownCreated(resource: Resource, object: AnyObject, { subresource = '', ...about }: About & { subresource?: string }): void {
  const entries = trackUpdate({ live: undefined, next: object as unknown as JsonObject, ...writeOf({ resource, subresource }, about) })
  setManagers(object, entries)
}

/** A change owns what it changed, and nobody else does any longer. */
export function ownChanged(call: Call, { sent, stored, ...about }: About & { sent: AnyObject; stored: AnyObject }): void {
  const write = writeOf(call, about)
  setManagers(sent, trackUpdate({ live: stored as unknown as JsonObject, next: sent as unknown as JsonObject, ...write }))
}

/** What the patch layer needs to know of a write through one of a kind's paths. */
export function writeOf({ resource, subresource }: Pick<Call, 'resource' | 'subresource'>, { options, ctx }: About): Write {
  const convert = conversions(resource)
  return {
    type: resource.type,
    ...(convert && { convert }),
    // Nothing is there of a custom object before it is set.
    ...(resource.def.custom && { blank: { kind: resource.kind, apiVersion: resource.apiVersion } }),
    resetFields: resetFields(resource, subresource),
    writer: {
      name: managerOf(options.fieldManager, ctx.userAgent),
      apiVersion: resource.apiVersion,
      subresource,
      time: formatTime(instantOf(ctx.now.getTime())),
    },
  }
}

export function setManagers({ metadata }: AnyObject, entries: readonly ManagedFieldsEntry[]): void {
  if (entries.length > 0) metadata.managedFields = [...entries]
  else delete metadata.managedFields
}

/** Fields that a path leaves as they are stored cannot be owned through it. */
function resetFields({ def, type }: Resource, subresource: string): FieldSet {
  if (subresource === '') return def.resetFields ? fieldSetOfNames(...def.resetFields) : def.status ? STATUS : NOTHING
  const view = subresource === 'status' ? def.subresources?.status : def.subresources?.updates?.[subresource]
  if (!view || type.shape.kind !== 'message') return NOTHING
  if (view.resetFields) return fieldSetOfNames(...view.resetFields)
  const kept = Object.keys(type.shape.fields).filter(name => name !== subresource && !ENVELOPE.includes(name))
  return fieldSetOfNames(...(view.merge ? [] : kept), ...(view.keepsMetadata ? ['metadata'] : []))
}
const NOTHING = fieldSetOfNames()
const STATUS = fieldSetOfNames('status')
const ENVELOPE = ['kind', 'apiVersion', 'metadata']
