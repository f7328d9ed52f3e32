/** DeviceTaintRule puts a taint on the devices it selects. */
import { isDNS1123Label } from '../../lib/names.ts'
import { timestampOf } from '../../lib/time.ts'
import { age, since } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { invalidEach, type Ref, tooMany } from '../../schema/refs.ts'
import { keyed, message, type Static, string } from '../../schema/types.ts'
import { Condition, validateConditions } from '../rules/meta.ts'
import { DeviceTaint, stampTaint, validateTaint } from './device-taint.ts'
import { type Finding, inOrder } from './findings.ts'
import { validateDriverName, validatePoolName } from './name-rules.ts'

const DeviceTaintSelector = message('DeviceTaintSelector', {
  driver: [2, string.optional(), 'Only devices of this driver.'],
  pool: [3, string.optional(), 'Only devices of pools with this name.'],
  device: [4, string.optional(), 'Only devices with this name.'],
})

const DeviceTaintRuleSpec = message('DeviceTaintRuleSpec', {
  deviceSelector: [1, DeviceTaintSelector, 'Which devices get the taint; none when absent, all when empty.'],
  taint: [2, DeviceTaint.orEmpty().required(), 'The taint.'],
})
type Spec = Static<typeof DeviceTaintRuleSpec>

const DeviceTaintRuleStatus = message('DeviceTaintRuleStatus', {
  conditions: [1, keyed(Condition, 'type').mergedBy('type'), 'The progress of the rule, such as the pods that are still to be evicted.'],
})

const MAX_CONDITIONS = 8

export const DeviceTaintRule = defineKind({
  group: 'resource.{group_domain}',
  version: 'v1',
  kind: 'DeviceTaintRule',
  scope: 'Cluster',
  names: { plural: 'devicetaintrules' },
  doc: 'A taint on devices, put there by an administrator.',
  lifecycle: { introduced: '1.37' },
  otherVersions: {
    v1beta2: { introduced: '1.36', deprecated: '1.39', removed: '1.42' },
    v1alpha3: { introduced: '1.33', deprecated: '1.36', removed: '1.39' },
  },
  spec: DeviceTaintRuleSpec.required(),
  status: DeviceTaintRuleStatus,
  storedAs: { version: 'v1beta2' },
  generation: true,
  allowUnconditionalUpdate: false,

  defaults: ({ spec }, { now }) => stampTaint(spec.taint, now),
  prepareForUpdate({ spec: { taint } }, { spec: { taint: old } }, { now }) {
    // Toleration seconds count from the start of the effect.
    if (taint.effect !== old.effect && taint.timeAdded === old.timeAdded) taint.timeAdded = timestampOf(now)
  },
  *validate({ spec }, { spec: at }, { old }) {
    yield* inOrder(validateSpec(spec, at, old?.spec))
  },

  subresources: {
    status: {
      keepsMetadata: true,
      *validate({ status: { conditions } }, { status: at }) {
        yield* validateConditions(conditions, at.conditions)
        if ((conditions?.length ?? 0) > MAX_CONDITIONS) yield tooMany(at.conditions, conditions!.length, MAX_CONDITIONS)
      },
      *validateUpdate() {},
    },
  },

  columns: {
    Key: ['string', o => o.spec.taint.key, 'The taint key to be applied to a device. Must be a label name.'],
    Value: ['string', o => o.spec.taint.value ?? '', 'The taint value corresponding to the taint key. Must be a label value.'],
    Effect: [
      'string',
      o => o.spec.taint.effect,
      'The effect of the taint on claims that do not tolerate the taint and through such claims on the pods using them.\n\nValid effects are None, NoSchedule and NoExecute. PreferNoSchedule as used for nodes is not valid here. More effects may get added in the future. Consumers must treat unknown effects like None.',
    ],
    TimeAdded: [
      'string',
      (o, ctx) => (o.spec.taint.timeAdded ? since(o.spec.taint.timeAdded, ctx) : ''),
      'TimeAdded represents the time at which the taint was added or (only in a DeviceTaintRule) the effect was modified. Added automatically during create or update if not set.\n\nIn addition, in a DeviceTaintRule a value provided during an update gets replaced with the current time if the provided value is the same as the old one and the new effect is different. Changing the key and/or value while keeping the effect unchanged is possible and does not update the time stamp because the eviction which uses it is either already started (NoExecute) or not started yet (NoEffect, NoSchedule).',
    ],
    Age: age,
  },
})

/** An object of the kind DeviceTaintRule. */
export type DeviceTaintRule = ObjectOf<typeof DeviceTaintRule>

function* validateSpec({ deviceSelector, taint }: Spec, at: Ref<Spec>, old: Spec | undefined): Iterable<Finding> {
  const { driver, pool, device } = deviceSelector ?? {}
  if (driver !== undefined) yield* validateDriverName(driver, at.deviceSelector.driver)
  if (pool !== undefined) yield* validatePoolName(pool, at.deviceSelector.pool)
  if (device !== undefined) yield* invalidEach(at.deviceSelector.device, isDNS1123Label(device))
  yield* validateTaint(taint, at.taint, old?.taint)
}
