// Maps ownership of the replicas field of an object to its scale subresource and back.
import { finish } from '../lib/step.ts'
import type { ManagedFieldsEntry } from '../schema/object-meta.ts'
import { difference, type FieldSet, fieldSetOfNames, hasPath, isEmptySet, pathsOf } from './field-set.ts'
import { type Manager, readManagers, writeManagers } from './managers.ts'

const SCALE_VERSION = 'autoscaling/v1'
const REPLICAS_IN_SCALE = fieldSetOfNames('spec.replicas')

/** Where each version of a kind keeps its size, as a dotted path; null for a version without one. */
export type ReplicasPaths = ReadonlyMap<string, string | null>

/** The managers of an object's size, as those of its scale. */
export function scaleManagedFields(parent: readonly ManagedFieldsEntry[], paths: ReplicasPaths): ManagedFieldsEntry[] {
  const read = finish(readManagers(parent))
  if (!read.ok) return []
  const managers = new Map<string, Manager>()
  for (const [identifier, manager] of read.managers) {
    const replicas = replicasIn(paths, manager.apiVersion)
    if (!replicas || !ownsAll(manager.fields, replicas)) continue
    managers.set(identifier, { ...manager, apiVersion: SCALE_VERSION, fields: REPLICAS_IN_SCALE })
  }
  return finish(writeManagers(managers))
}

type ParentScale = {
  readonly parent: readonly ManagedFieldsEntry[]
  readonly scale: readonly ManagedFieldsEntry[]
  readonly paths: ReplicasPaths
  /** The version of the object in which new managers own its size. */
  readonly apiVersion: string
}

/**
 * The managers of an object after its scale was written: a manager that no longer owns the size of the scale no longer owns that of the object. As in
 * kube-apiserver, managers of updates are never recognised, because their version differs: they get an entry for the size alone, which
 * has no time.
 */
export function parentManagedFields({ parent, scale, paths, apiVersion }: ParentScale): ManagedFieldsEntry[] {
  const [before, written] = [finish(readManagers(parent)), finish(readManagers(scale))]
  if (!before.ok || !written.ok) return [...parent]
  const left = new Map(written.managers)
  const managers = new Map<string, Manager>()
  for (const [identifier, manager] of before.managers) {
    const replicas = replicasIn(paths, manager.apiVersion)
    if (replicas === undefined) continue
    if (replicas === null || !ownsAll(manager.fields, replicas) || left.delete(identifier)) {
      managers.set(identifier, manager)
      continue
    }
    const fields = difference(manager.fields, replicas)
    if (!isEmptySet(fields)) managers.set(identifier, { ...manager, fields })
  }
  const replicas = replicasIn(paths, apiVersion)
  for (const [identifier, { time: _, ...manager }] of left) {
    if (replicas && ownsAll(manager.fields, REPLICAS_IN_SCALE)) managers.set(identifier, { ...manager, apiVersion, fields: replicas })
  }
  return finish(writeManagers(managers))
}

function replicasIn(paths: ReplicasPaths, apiVersion: string): FieldSet | null | undefined {
  const path = paths.get(apiVersion)
  return typeof path === 'string' ? fieldSetOfNames(path.replace(/^\./, '')) : path
}

const ownsAll = (fields: FieldSet, wanted: FieldSet): boolean => pathsOf(wanted).every(path => hasPath(fields, path))
