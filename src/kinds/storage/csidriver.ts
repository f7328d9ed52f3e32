/** CSIDriver describes how Kubernetes uses a storage driver. */
import { deepEqual } from '../../lib/json-value.ts'
import { age } from '../../schema/columns.ts'
import { defineKind } from '../../schema/kind.ts'
import { duplicate, type FieldError, invalid, type Ref, refTo, unsupported, withValue } from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import { atomic, bool, int64, message, type Static, set, string } from '../../schema/types.ts'

const TokenRequest = message('TokenRequest', {
  audience: [1, string.always(), 'Whom the token is for; the API server when empty.'],
  expirationSeconds: [2, int64.optional(), 'How long the token is valid, at least ten minutes.'],
})
type TokenRequest = Static<typeof TokenRequest>

const CSIDriverSpec = message(
  'CSIDriverSpec',
  {
    attachRequired: [
      1,
      bool.optional().default(true),
      'Whether volumes must be attached to a node before they are mounted. Cannot change.',
    ],
    podInfoOnMount: [2, bool.optional().default(false), 'Whether the driver gets information about the pod at mount.'],
    volumeLifecycleModes: [3, set(string), 'Which volumes it serves: Persistent, Ephemeral or both. Cannot change.'],
    storageCapacity: [4, bool.optional().default(false), 'Whether pods wait for nodes with enough capacity.'],
    fsGroupPolicy: [
      5,
      string.optional().default('ReadWriteOnceWithFSType'),
      'Whether ownership and permissions of volumes may be changed: ReadWriteOnceWithFSType, File or None.',
    ],
    tokenRequests: [6, atomic(TokenRequest), 'Tokens of the service account of the pod that the driver gets.'],
    requiresRepublish: [7, bool.optional().default(false), 'Whether mounted volumes are mounted again from time to time.'],
    seLinuxMount: [8, bool.optional().default(false), 'Whether volumes can be mounted with an SELinux context.'],
    nodeAllocatableUpdatePeriodSeconds: [
      9,
      int64.optional(),
      'The period in seconds of updates of the number of allocatable volumes of a node; at least 10.',
    ],
    serviceAccountTokenInSecrets: [10, bool.optional(), 'Whether tokens are passed in the secrets instead of the volume context.'],
    preventPodSchedulingIfMissing: [11, bool.optional().default(false), 'Whether pods wait until a node has the driver.'],
  },
  {
    defaults(spec) {
      if (!spec.volumeLifecycleModes?.length) spec.volumeLifecycleModes = ['Persistent']
    },
  },
)
type CSIDriverSpec = Static<typeof CSIDriverSpec>

const FS_GROUP_POLICIES = ['File', 'None', 'ReadWriteOnceWithFSType']
const LIFECYCLE_MODES = ['Persistent', 'Ephemeral']
const UNSET_ADVICE =
  'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes'

export const CSIDriver = defineKind({
  group: 'storage.{group_domain}',
  version: 'v1',
  kind: 'CSIDriver',
  scope: 'Cluster',
  names: { plural: 'csidrivers' },
  doc: 'How pods and volumes are to deal with a storage driver.',
  spec: CSIDriverSpec.always(),
  allowUnconditionalUpdate: false,

  prepareForCreate: ({ spec }, ctx) => dropUnserved(spec, undefined, ctx),
  prepareForUpdate(o, old, ctx) {
    dropUnserved(o.spec, old.spec, ctx)
    // Drivers begin without a generation; it counts changes alone.
    const { generation = 0 } = old.metadata
    if (!deepEqual(o.spec, old.spec)) o.metadata.generation = typeof generation === 'bigint' ? generation + 1n : generation + 1
  },
  *validate({ spec }, { spec: at }, { old }) {
    yield* validateSpec(spec, at)
    if (!old) return
    if (spec.attachRequired !== old.spec.attachRequired)
      yield invalid(refTo(spec.attachRequired, 'spec.attachedRequired'), 'field is immutable')
    if (!deepEqual(spec.volumeLifecycleModes ?? [], old.spec.volumeLifecycleModes ?? []))
      yield invalid(at.volumeLifecycleModes, 'field is immutable')
  },
  *warn({ spec }, old) {
    const { tokenRequests = [], serviceAccountTokenInSecrets } = spec
    if (tokenRequests.length === 0 || serviceAccountTokenInSecrets !== undefined) return
    if (!deepEqual(tokenRequests, old?.spec.tokenRequests ?? [])) yield UNSET_ADVICE
  },

  deletion: { returns: 'object' },

  columns: {
    AttachRequired: ['boolean', o => o.spec.attachRequired, 'Whether volumes must be attached first.'],
    PodInfoOnMount: ['boolean', o => o.spec.podInfoOnMount, 'Whether the driver gets information about the pod.'],
    StorageCapacity: ['boolean', o => o.spec.storageCapacity, 'Whether pods wait for nodes with enough capacity.'],
    TokenRequests: [
      'string',
      o => o.spec.tokenRequests?.map(t => t.audience).join(',') ?? '<unset>',
      'Audiences of the tokens the driver gets.',
    ],
    RequiresRepublish: ['boolean', o => o.spec.requiresRepublish, 'Whether volumes are mounted again from time to time.'],
    Modes: ['string', o => o.spec.volumeLifecycleModes?.join(',') || '<none>', 'Which volumes the driver serves.'],
    Age: age,
  },
})

/** A field of a feature that is off is kept only where it is already. */
function dropUnserved(spec: CSIDriverSpec, old: CSIDriverSpec | undefined, { gate }: RequestContext): void {
  if (!gate('VolumeLimitScaling') && old?.preventPodSchedulingIfMissing === undefined)
    delete (spec as Partial<CSIDriverSpec>).preventPodSchedulingIfMissing
}

function* validateSpec(spec: CSIDriverSpec, at: Ref<CSIDriverSpec>): Iterable<FieldError> {
  const { fsGroupPolicy, tokenRequests = [], volumeLifecycleModes = [], nodeAllocatableUpdatePeriodSeconds: period } = spec
  if (!FS_GROUP_POLICIES.includes(fsGroupPolicy)) yield unsupported(at.fsGroupPolicy, ...FS_GROUP_POLICIES)
  yield* validateTokenRequests(tokenRequests, at.tokenRequests)
  for (const mode of volumeLifecycleModes)
    if (!LIFECYCLE_MODES.includes(mode)) yield unsupported(withValue(at.volumeLifecycleModes, mode), ...LIFECYCLE_MODES)
  if (period !== undefined && period < 10)
    yield invalid(at.nodeAllocatableUpdatePeriodSeconds, 'must be greater than or equal to 10 seconds')
  if (spec.serviceAccountTokenInSecrets !== undefined && tokenRequests.length === 0)
    yield invalid(at.serviceAccountTokenInSecrets, 'serviceAccountTokenInSecrets is set but no tokenRequests are specified')
}

const MIN_EXPIRATION = 600
const MAX_EXPIRATION = 2 ** 32

/** One token for each audience. */
function* validateTokenRequests(requests: readonly TokenRequest[], at: Ref<TokenRequest[]>): Iterable<FieldError> {
  const seen = new Set<string>()
  for (const [i, { audience, expirationSeconds }] of requests.entries()) {
    if (seen.has(audience)) {
      yield duplicate(at[i]!.audience)
      continue
    }
    seen.add(audience)
    if (expirationSeconds === undefined) continue
    const itemAt = at[i]!.expirationSeconds
    if (expirationSeconds < MIN_EXPIRATION) yield invalid(itemAt, 'may not specify a duration less than 10 minutes')
    if (expirationSeconds > MAX_EXPIRATION) yield invalid(itemAt, 'may not specify a duration larger than 2^32 seconds')
  }
}
