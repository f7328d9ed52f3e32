/** VolumeAttributesClass names mutable properties of volumes in use, such as their speed. */
import { deepEqual } from '../../lib/json-value.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { forbidden, required } from '../../schema/refs.ts'
import { mapOf, string } from '../../schema/types.ts'
import { validateDriver, validateParameters } from './parameter-rules.ts'

export const VolumeAttributesClass = defineKind({
  group: 'storage.{group_domain}',
  version: 'v1',
  kind: 'VolumeAttributesClass',
  scope: 'Cluster',
  names: { plural: 'volumeattributesclasses', short: ['vac'] },
  doc: 'Properties of volumes that may change while they are used.',
  lifecycle: { introduced: '1.34' },
  otherVersions: {
    v1beta1: { introduced: '1.31', deprecated: '1.34', removed: '1.37', replacement: 'v1' },
  },
  fields: {
    driverName: [2, string.always(), 'The CSI driver. Cannot change.'],
    parameters: [3, mapOf(string), 'Properties that the driver understands. Cannot change.'],
  },

  *validateUpdate(o, old, at) {
    if (o.driverName !== old.driverName) yield forbidden(at.driverName, 'updates to driverName are forbidden.')
    if (!deepEqual(o.parameters ?? {}, old.parameters ?? {})) yield forbidden(at.parameters, 'updates to parameters are forbidden.')
  },
  *validate({ driverName, parameters }, at) {
    yield* validateDriver(driverName, at.driverName)
    yield* validateParameters(parameters, at.parameters)
    if (Object.keys(parameters ?? {}).length === 0) yield required(at.parameters, 'must contain at least one key/value pair')
  },

  deletion: { returns: 'object' },

  columns: {
    DriverName: ['string', o => o.driverName, 'driverName is the name of the CSI driver This field is immutable.'],
    Age: age,
  },
})

/** An object of the kind VolumeAttributesClass. */
export type VolumeAttributesClass = ObjectOf<typeof VolumeAttributesClass>
