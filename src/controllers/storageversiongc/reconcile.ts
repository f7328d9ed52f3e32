/** Removes the entries of servers that are gone from the status of a StorageVersion. */
import type { StorageVersion } from '../../kinds/apiserverinternal/storageversion.ts'
import { timestampOf } from '../../lib/time.ts'

type Status = StorageVersion['status']
type Condition = NonNullable<Status['conditions']>[number]

const EQUAL = 'AllEncodingVersionsEqual'

/** The status without those servers; `nobody` when none is left, undefined when all are there. */
export function withoutServers(
  { metadata, status }: StorageVersion,
  isGone: (server: string) => boolean,
  now: Date,
): Status | 'nobody' | undefined {
  const all = status.storageVersions ?? []
  const storageVersions = all.filter(({ apiServerID }) => !isGone(apiServerID))
  if (storageVersions.length === all.length) return undefined
  if (storageVersions.length === 0) return 'nobody'
  const [{ encodingVersion }] = storageVersions as [(typeof storageVersions)[0]]
  const isCommon = storageVersions.every(each => each.encodingVersion === encodingVersion)
  const { commonEncodingVersion: previous, ...rest } = status
  const condition: Condition = {
    type: EQUAL,
    status: isCommon ? 'True' : 'False',
    observedGeneration: metadata.generation ?? 0,
    lastTransitionTime: timestampOf(now),
    reason: isCommon ? 'CommonEncodingVersionSet' : 'CommonEncodingVersionUnset',
    message: isCommon ? 'Common encoding version set' : 'Common encoding version unset',
  }
  const hasMoved = isCommon && previous !== undefined && previous !== encodingVersion
  return {
    ...rest,
    storageVersions,
    ...(isCommon && { commonEncodingVersion: encodingVersion }),
    conditions: replaced(status.conditions ?? [], condition, hasMoved),
  }
}

/** The time of a condition changes with its status, or if the common version has changed. */
function replaced(conditions: readonly Condition[], condition: Condition, hasMoved: boolean): Condition[] {
  const old = conditions.find(({ type }) => type === EQUAL)
  if (!old) return [...conditions, condition]
  const isSame = old.status === condition.status && !hasMoved
  const next = isSame ? { ...condition, lastTransitionTime: old.lastTransitionTime } : condition
  return conditions.map(each => (each === old ? next : each))
}
