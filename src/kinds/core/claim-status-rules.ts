/** Rules on what controllers report of claims. */
import { isQualifiedName } from '../../lib/names.ts'
import { entry, type FieldError, invalidEach, type Ref, refTo, required, unsupported, withValue } from '../../schema/refs.ts'
import { validateBasicAmount } from '../shapes/persistent-volume/volume-rules.ts'
import { isNativeResource, validateResourceQuantity } from '../shapes/pod/resources/resource-rules.ts'
import { validateHealthConditions, validateReasons } from '../shapes/pod/status/volume-health-rules.ts'
import type { Claim } from './claim-change-rules.ts'

const RESIZES = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
  'NodeResizePending',
]

/** What is wrong with the status of a claim. */
export function* validateClaimStatus({ spec, status }: Claim, { status: at }: Ref<Claim>): Iterable<FieldError> {
  if (!spec.accessModes?.length) yield required(refTo(undefined, 'Spec.accessModes'))
  for (const [name, amount] of Object.entries(status.capacity ?? {})) yield* validateBasicAmount(amount, entry(at.capacity, name))
  const health = status.healthStatus?.healthConditions ?? []
  yield* validateReasons(health, at.healthStatus.healthConditions)
  for (const [name, state] of Object.entries(status.allocatedResourceStatuses ?? {})) {
    const place = withValue(at.allocatedResourceStatuses, name)
    yield* validateResourceKey(name, place)
    if (!RESIZES.includes(state)) yield unsupported(place, ...RESIZES)
  }
  yield* validateAllocated(status.allocatedResources ?? {}, at.allocatedResources)
  yield* validateHealthConditions(health, at.healthStatus.healthConditions)
}

function* validateAllocated(amounts: Record<string, string>, at: Ref<Record<string, string>>): Iterable<FieldError> {
  for (const [name, amount] of Object.entries(amounts)) {
    const misnamed = [...validateResourceKey(name, withValue(at, name))]
    if (misnamed.length > 0) {
      yield* misnamed
      continue
    }
    const negative = [...validateBasicAmount(amount, entry(at, name))]
    yield* negative.length > 0 ? negative : validateResourceQuantity('storage', amount, entry(at, name))
  }
}

/** Of the resources that belong to Kubernetes, claims know storage alone. */
function* validateResourceKey(name: string, at: Ref<string>): Iterable<FieldError> {
  const faults = isQualifiedName(name)
  if (faults.length > 0) yield* invalidEach(at, faults)
  else if (isNativeResource(name) && name !== 'storage') yield unsupported(at, 'storage')
}
