/** The servers in the status of a StorageVersion: those that are gone are removed, and the versions of the others compared. */
import type { StorageVersion } from '../../kinds/apiserverinternal/storageversion.ts'
import { timestampOf } from '../../lib/time.ts'
import { conditionOf, transitionTime, withCondition } from '../../schema/conditions.ts'

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
  return storageVersions.length === 0 ? 'nobody' : withServers({ metadata, status }, storageVersions, now)
}

/** The status with these servers, at least one, and with the version that they have in common. */
export function withServers(
  { metadata, status }: Pick<StorageVersion, 'metadata' | 'status'>,
  storageVersions: NonNullable<Status['storageVersions']>,
  now: Date,
): Status {
  const [{ encodingVersion }] = storageVersions as [(typeof storageVersions)[0]]
  const isCommon = storageVersions.every(each => each.encodingVersion === encodingVersion)
  const { commonEncodingVersion: previous, ...rest } = status
  const hasMoved = isCommon && previous !== undefined && previous !== encodingVersion
  // The time of the condition changes with its status, or if the common version has changed.
  const before = hasMoved ? undefined : conditionOf(status.conditions, EQUAL)
  const statusText = isCommon ? 'True' : 'False'
  const condition: Condition = {
    type: EQUAL,
    status: statusText,
    observedGeneration: metadata.generation ?? 0,
    lastTransitionTime: transitionTime(before, statusText, timestampOf(now)),
    reason: isCommon ? 'CommonEncodingVersionSet' : 'CommonEncodingVersionUnset',
    message: isCommon ? 'Common encoding version set' : 'Common encoding version unset',
  }
  return {
    ...rest,
    storageVersions,
    ...(isCommon && { commonEncodingVersion: encodingVersion }),
    conditions: withCondition(status.conditions, condition),
  }
}
