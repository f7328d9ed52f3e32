/** ResourceSlice offers devices of a driver to claims. */
import { age } from '../../schema/columns.ts'
import { defineKind } from '../../schema/kind.ts'
import { stampTaint } from './device-taint.ts'
import { dropDisabled } from './features.ts'
import { inOrder } from './findings.ts'
import { sliceFeatures } from './slice-features.ts'
import { validateSlice } from './slice-rules.ts'
import { ResourceSliceSpec } from './slice-shapes.ts'

export const ResourceSlice = defineKind({
  group: 'resource.{group_domain}',
  version: 'v1',
  kind: 'ResourceSlice',
  scope: 'Cluster',
  names: { plural: 'resourceslices' },
  doc: 'Devices that a driver offers, as part of a pool.',
  spec: ResourceSliceSpec.required(),
  generation: true,

  defaults({ spec }, { now }) {
    for (const { taints = [] } of spec.devices ?? []) for (const taint of taints) stampTaint(taint, now)
  },
  prepareForCreate: (o, ctx) => dropDisabled(sliceFeatures, o.spec, undefined, ctx),
  prepareForUpdate: (o, old, ctx) => dropDisabled(sliceFeatures, o.spec, old.spec, ctx),
  *validate({ spec }, { spec: at }, { old, gate }) {
    yield* inOrder(validateSlice(spec, at, { old: old?.spec, gate }))
  },
  *warn({ spec: { driver } }) {
    if (driver !== driver.toLowerCase())
      yield `spec.driver: driver names should be lowercase; ${JSON.stringify(driver)} contains uppercase characters`
  },

  deletion: { returns: 'object' },
  selectable: {
    'spec.driver': o => o.spec.driver,
    'spec.nodeName': o => o.spec.nodeName,
    'spec.pool.name': o => o.spec.pool.name,
  },
  fieldSelectors: { unsupported: (field, { apiVersion, kind }) => `field label not supported for ${apiVersion}, Kind=${kind}: ${field}` },
  columns: {
    Node: ['string', o => o.spec.nodeName ?? '', 'The node that can use the devices, where it is only one.'],
    Driver: ['string', o => o.spec.driver, 'The driver that offers the devices.'],
    Pool: ['string', o => o.spec.pool.name, 'The pool that the devices belong to.'],
    Age: age,
  },
})
