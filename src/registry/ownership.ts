/** Which manager owns which fields after a write: field ownership of `patch/`, with the fields that a kind's paths may set. */
import type { JsonObject } from '../lib/json-value.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { type FieldSet, fieldSetOfNames } from '../patch/field-set.ts'
import { managerOf } from '../patch/managers.ts'
import { type Converting, creatorsFields, type Write as OwnedWrite, trackUpdate } from '../patch/ownership.ts'
import { fitsType } from '../patch/typed-errors.ts'
import type { AnyObject, ManagedFieldsEntry } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { typesOfVersions, withConversions } from './version-conversion.ts'
import type { Write } from './write-value.ts'

/** Ownership after a create or an update other than an apply: a create owns all it sets, an update what it changed. */
export function managersAfter(write: Write): MaybePromise<ManagedFieldsEntry[]> {
  return withConversions(write, write.kind.def.custom ? trackCustom(write) : track(write))
}

function track(write: Write): Converting<ManagedFieldsEntry[]> {
  const live = write.old as unknown as JsonObject | undefined
  const next = write.object as unknown as JsonObject
  if (!live && !write.object!.metadata.managedFields) return creatorsFields(ownedWrite(write), next)
  return trackUpdate({ live, next, ...ownedWrite(write) })
}

/** Of a custom object that is not what its schema says, or was not, nobody owns anything. What its values are is left to validation. */
function* trackCustom(write: Write): Converting<ManagedFieldsEntry[]> {
  for (const each of [write.object, write.old]) {
    if (each && !fitsType(write.kind.type, each as unknown as JsonObject)) return []
    yield
  }
  return yield* track(write)
}

/** What the patch layer needs to know of a write. */
export function ownedWrite({ kind, call, options, ctx, time }: Write): OwnedWrite {
  // No spreads: every write makes one of these, and V8 takes a microsecond to put in what follows a spread.
  return {
    type: kind.type,
    typeIn: typesOfVersions(kind),
    // Nothing is there of a custom object before it is set.
    blank: kind.def.custom ? { kind: kind.kind, apiVersion: kind.apiVersion } : undefined,
    resetFields: resetFields(kind, kind === call.resource ? call.subresource : ''),
    writer: {
      name: managerOf(options.fieldManager, ctx.userAgent),
      apiVersion: kind.apiVersion,
      subresource: call.subresource,
      time,
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
  const update = subresource === 'status' ? def.subresources?.status : def.subresources?.updates?.[subresource]
  if (!update || type.shape.kind !== 'message') return NOTHING
  if (update.resetFields) return fieldSetOfNames(...update.resetFields)
  const kept = Object.keys(type.shape.fields).filter(name => name !== subresource && !ENVELOPE.includes(name))
  return fieldSetOfNames(...(update.merge ? [] : kept), ...(update.keepsMetadata ? ['metadata'] : []))
}
const NOTHING = fieldSetOfNames()
const STATUS = fieldSetOfNames('status')
const ENVELOPE = ['kind', 'apiVersion', 'metadata']
