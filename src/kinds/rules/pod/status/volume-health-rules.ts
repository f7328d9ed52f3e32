/** Rules for the reported health of volumes. */
import {
  duplicate,
  type FieldError,
  invalidEach,
  notFoundValue,
  type Ref,
  required,
  tooLong,
  tooMany,
  unsupported,
} from '../../../../schema/refs.ts'
import { conditionReasonFaults } from '../../meta.ts'
import type { PodVolumeHealth, VolumeHealthCondition } from './status.ts'

const STATUSES = ['DataLoss', 'Degraded', 'Inaccessible']
const MAX_CONDITIONS = 16
const MAX_REASON_BYTES = 256
const MAX_MESSAGE_BYTES = 1024

/** Reported volumes are volumes of the pod, each listed once. */
export function* validateVolumeHealth(
  health: readonly PodVolumeHealth[],
  at: Ref<PodVolumeHealth[]>,
  volumes: ReadonlySet<string>,
): Iterable<FieldError> {
  for (const [i, { name, healthConditions }] of health.entries()) {
    if (name && !volumes.has(name)) yield notFoundValue(at[i]!.name)
    yield* validateReasons(healthConditions ?? [], at[i]!.healthConditions)
  }
  const seen = new Set<string>()
  for (const [i, { name }] of health.entries()) {
    if (seen.has(name)) yield duplicate(at[i]!)
    seen.add(name)
  }
  for (const [i, { name, healthConditions }] of health.entries()) {
    if (!name) yield required(at[i]!.name)
    yield* validateHealthConditions(healthConditions ?? [], at[i]!.healthConditions)
  }
}

/** Reasons are CamelCase. */
export function* validateReasons(conditions: readonly VolumeHealthCondition[], at: Ref<VolumeHealthCondition[]>): Iterable<FieldError> {
  for (const [i, { reason }] of conditions.entries()) if (reason) yield* invalidEach(at[i]!.reason, conditionReasonFaults(reason))
}

/** Conditions are limited in number, complete, and each type is listed once. */
export function* validateHealthConditions(
  conditions: readonly VolumeHealthCondition[],
  at: Ref<VolumeHealthCondition[]>,
): Iterable<FieldError> {
  if (conditions.length > MAX_CONDITIONS) return yield tooMany(at, conditions.length, MAX_CONDITIONS)
  const seen = new Set<string>()
  for (const [i, { status, reason }] of conditions.entries()) {
    const identity = JSON.stringify([status, reason])
    if (seen.has(identity)) yield duplicate(at[i]!)
    seen.add(identity)
  }
  for (const [i, { status, reason, message = '' }] of conditions.entries()) {
    if (!status) yield required(at[i]!.status)
    else if (!STATUSES.includes(status)) yield unsupported(at[i]!.status, ...STATUSES)
    if (!reason) yield required(at[i]!.reason)
    else if (Buffer.byteLength(reason) > MAX_REASON_BYTES) yield tooLong(at[i]!.reason, MAX_REASON_BYTES)
    if (Buffer.byteLength(message) > MAX_MESSAGE_BYTES) yield tooLong(at[i]!.message, MAX_MESSAGE_BYTES)
  }
}
