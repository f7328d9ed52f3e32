/** The managers of fields after a write: field ownership of `patch/`, with the fields that the paths of a kind may set. */
import type { JsonObject } from '../lib/json-value.ts'
import type { Step } from '../lib/step.ts'
import { type FieldSet, fieldSetOfNames } from '../patch/field-set.ts'
import { managerOf } from '../patch/managers.ts'
import { creatorsFields, type Write as OwnedWrite, trackUpdate } from '../patch/ownership.ts'
import { fitsType } from '../patch/typed-errors.ts'
import type { AnyObject, ManagedFieldsEntry } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { versionsOf } from './version-conversion.ts'
import type { Write } from './write-value.ts'

/** Ownership after a create or an update other than an apply: a create owns all fields that it sets, an update those that it changed. */
export const managersAfter = (write: Write): Step<ManagedFieldsEntry[]> => (write.kind.def.custom ? trackCustom(write) : track(write))

function track(write: Write): Step<ManagedFieldsEntry[]> {
  const live = write.old as unknown as JsonObject | undefined
  const next = write.object as unknown as JsonObject
  if (!live && !write.object!.metadata.managedFields) return creatorsFields(ownedWrite(write), next)
  return trackUpdate({ live, next, ...ownedWrite(write) })
}

/** A custom object that does not fit its schema, or did not, has no managers. Its values are left to validation. */
function* trackCustom(write: Write): Step<ManagedFieldsEntry[]> {
  for (const each of [write.object, write.old]) {
    if (each && !fitsType(write.kind.type, each as unknown as JsonObject)) return []
    yield
  }
  return yield* track(write)
}

/** A write as the patch layer sees it. */
export function ownedWrite({ kind, call, options, ctx, time }: Write): OwnedWrite {
  // No spreads: every write makes one of these, and V8 takes a microsecond to put in what follows a spread.
  return {
    type: kind.type,
    versions: versionsOf(kind),
    // A custom object has no fields before they are set.
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
