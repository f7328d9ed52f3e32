/** DeviceClass names a class of devices that claims can request, and their configuration. */

import { deepEqual } from '../../lib/json-value.ts'
import { nameIsDNSSubdomain, ofNamesAlone } from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { atomic, message, type Static, string } from '../../schema/types.ts'
import { MAX_CONFIGURATIONS } from './claim-rules.ts'
import { DeviceClassConfiguration, DeviceSelector } from './claim-shapes.ts'
import { validateConfiguration, validateSelectors } from './configuration-rules.ts'
import { all, inOrder, validateList } from './findings.ts'
import { validateExtendedResourceName } from './name-rules.ts'

const DeviceClassSpec = message('DeviceClassSpec', {
  selectors: [1, atomic(DeviceSelector), 'Conditions on each device; all must hold.'],
  config: [2, atomic(DeviceClassConfiguration), 'How devices are set up; the choice of devices does not depend on it.'],
  extendedResourceName: [4, string.optional(), 'An extended resource that pods can request to get such a device.'],
})

export const DeviceClass = defineKind({
  group: 'resource.{group_domain}',
  version: 'v1',
  kind: 'DeviceClass',
  scope: 'Cluster',
  names: { plural: 'deviceclasses' },
  name: ofNamesAlone(nameIsDNSSubdomain),
  doc: 'A kind of devices that claims can ask for.',
  lifecycle: { introduced: '1.34' },
  otherVersions: {
    v1beta2: { introduced: '1.33', deprecated: '1.36', removed: '1.39' },
    v1beta1: { introduced: '1.32', deprecated: '1.35', removed: '1.38' },
  },
  spec: DeviceClassSpec,
  generation: true,

  prepareForCreate: ({ spec }, { gate }) => dropResourceName(spec, undefined, gate),
  prepareForUpdate: ({ spec }, old, { gate }) => dropResourceName(spec, old.spec, gate),
  *validate({ spec }, { spec: at }, { old, gate }) {
    const { selectors, config, extendedResourceName } = spec
    const isSelectionStored = old !== undefined && deepEqual(selectors, old.spec.selectors)
    const isConfigStored = old !== undefined && deepEqual(config, old.spec.config)
    yield* inOrder(
      all(
        validateSelectors(selectors, at.selectors, { isStored: isSelectionStored, gate }),
        validateList(config, at.config, {
          max: MAX_CONFIGURATIONS,
          each: (configuration, here) => validateConfiguration(configuration, here, { isStored: isConfigStored }),
        }),
        extendedResourceName === undefined ? [] : validateExtendedResourceName(extendedResourceName, at.extendedResourceName),
      ),
    )
  },

  deletion: { returns: 'object' },
  columns: { Age: age },
})

/** An object of the kind DeviceClass. */
export type DeviceClass = ObjectOf<typeof DeviceClass>

/** Without the feature a class gets no name as a resource, but may keep one. */
function dropResourceName(
  spec: Static<typeof DeviceClassSpec>,
  old: Static<typeof DeviceClassSpec> | undefined,
  gate: (name: string) => boolean,
): void {
  if (!gate('DRAExtendedResource') && old?.extendedResourceName === undefined) delete spec.extendedResourceName
}
