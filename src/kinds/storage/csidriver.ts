/** CSIDriver describes how Kubernetes uses a storage driver. */
import { deepEqual } from '../../lib/json-value.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { duplicate, type FieldError, invalid, type Ref, refTo, unsupported, withValue } from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import { atomic, bool, int64, message, type Static, set, string } from '../../schema/types.ts'

const TokenRequest = message('TokenRequest', {
  audience: [1, string.always(), 'The audience of the token; the API server when empty.'],
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
    // Drivers start without a generation; it only counts changes.
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
  *warn({ spec }, old, { gate }) {
    const { tokenRequests = [], serviceAccountTokenInSecrets } = spec
    if (!gate(FEATURES.serviceAccountTokenInSecrets) || tokenRequests.length === 0 || serviceAccountTokenInSecrets !== undefined) return
    if (!deepEqual(tokenRequests, old?.spec.tokenRequests ?? [])) yield UNSET_ADVICE
  },

  deletion: { returns: 'object' },

  columns: {
    AttachRequired: [
      'boolean',
      o => o.spec.attachRequired,
      'attachRequired indicates this CSI volume driver requires an attach operation (because it implements the CSI ControllerPublishVolume() method), and that the Kubernetes attach detach controller should call the attach volume interface which checks the volumeattachment status and waits until the volume is attached before proceeding to mounting. The CSI external-attacher coordinates with CSI volume driver and updates the volumeattachment status when the attach operation is complete. If the value is specified to false, the attach operation will be skipped. Otherwise the attach operation will be called.\n\nThis field is immutable.',
    ],
    PodInfoOnMount: [
      'boolean',
      o => o.spec.podInfoOnMount,
      'podInfoOnMount indicates this CSI volume driver requires additional pod information (like podName, podUID, etc.) during mount operations, if set to true. If set to false, pod information will not be passed on mount. Default is false.\n\nThe CSI driver specifies podInfoOnMount as part of driver deployment. If true, Kubelet will pass pod information as VolumeContext in the CSI NodePublishVolume() calls. The CSI driver is responsible for parsing and validating the information passed in as VolumeContext.\n\nThe following VolumeContext will be passed if podInfoOnMount is set to true. This list might grow, but the prefix will be used. "csi.storage.k8s.io/pod.name": pod.Name "csi.storage.k8s.io/pod.namespace": pod.Namespace "csi.storage.k8s.io/pod.uid": string(pod.UID) "csi.storage.k8s.io/ephemeral": "true" if the volume is an ephemeral inline volume\n                                defined by a CSIVolumeSource, otherwise "false"\n\n"csi.storage.k8s.io/ephemeral" is a new feature in Kubernetes 1.16. It is only required for drivers which support both the "Persistent" and "Ephemeral" VolumeLifecycleMode. Other drivers can leave pod info disabled and/or ignore this field. As Kubernetes 1.15 doesn\'t support this field, drivers can only support one mode when deployed on such a cluster and the deployment determines which mode that is, for example via a command line parameter of the driver.\n\nThis field was immutable in Kubernetes < 1.29 and now is mutable.',
    ],
    StorageCapacity: [
      'boolean',
      o => o.spec.storageCapacity,
      'storageCapacity indicates that the CSI volume driver wants pod scheduling to consider the storage capacity that the driver deployment will report by creating CSIStorageCapacity objects with capacity information, if set to true.\n\nThe check can be enabled immediately when deploying a driver. In that case, provisioning new volumes with late binding will pause until the driver deployment has published some suitable CSIStorageCapacity object.\n\nAlternatively, the driver can be deployed with the field unset or false and it can be flipped later when storage capacity information has been published.\n\nThis field was immutable in Kubernetes <= 1.22 and now is mutable.',
    ],
    TokenRequests: [
      'string',
      o => o.spec.tokenRequests?.map(t => t.audience).join(',') ?? '<unset>',
      'tokenRequests indicates the CSI driver needs pods\' service account tokens it is mounting volume for to do necessary authentication. Kubelet will pass the tokens in VolumeContext in the CSI NodePublishVolume calls. The CSI driver should parse and validate the following VolumeContext: "csi.storage.k8s.io/serviceAccount.tokens": {\n  "<audience>": {\n    "token": <token>,\n    "expirationTimestamp": <expiration timestamp in RFC3339>,\n  },\n  ...\n}\n\nNote: Audience in each TokenRequest should be different and at most one token is empty string. To receive a new token after expiry, RequiresRepublish can be used to trigger NodePublishVolume periodically.',
    ],
    RequiresRepublish: [
      'boolean',
      o => o.spec.requiresRepublish,
      'requiresRepublish indicates the CSI driver wants `NodePublishVolume` being periodically called to reflect any possible change in the mounted volume. This field defaults to false.\n\nNote: After a successful initial NodePublishVolume call, subsequent calls to NodePublishVolume should only update the contents of the volume. New mount points will not be seen by a running container.',
    ],
    Modes: [
      'string',
      o => o.spec.volumeLifecycleModes?.join(',') || '<none>',
      'volumeLifecycleModes defines what kind of volumes this CSI volume driver supports. The default if the list is empty is "Persistent", which is the usage defined by the CSI specification and implemented in Kubernetes via the usual PV/PVC mechanism.\n\nThe other mode is "Ephemeral". In this mode, volumes are defined inline inside the pod spec with CSIVolumeSource and their lifecycle is tied to the lifecycle of that pod. A driver has to be aware of this because it is only going to get a NodePublishVolume call for such a volume.\n\nFor more information about implementing this mode, see https://kubernetes-csi.github.io/docs/ephemeral-local-volumes.html A driver can support one or more of these modes and more modes may be added in the future.\n\nThis field is beta. This field is immutable.',
    ],
    Age: age,
  },
})

/** An object of the kind CSIDriver. */
export type CSIDriver = ObjectOf<typeof CSIDriver>

/** Fields with the gates without which they are not served. */
const FEATURES = {
  seLinuxMount: 'SELinuxMountReadWriteOncePod',
  nodeAllocatableUpdatePeriodSeconds: 'MutableCSINodeAllocatableCount',
  serviceAccountTokenInSecrets: 'CSIServiceAccountTokenSecrets',
  preventPodSchedulingIfMissing: 'VolumeLimitScaling',
} as const

/** A field of a disabled feature is kept only if it is stored already. */
function dropUnserved(spec: CSIDriverSpec, old: CSIDriverSpec | undefined, { gate }: RequestContext): void {
  for (const [field, feature] of Object.entries(FEATURES) as [keyof typeof FEATURES, string][])
    if (!gate(feature) && old?.[field] === undefined) delete (spec as Partial<CSIDriverSpec>)[field]
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

/** One token per audience. */
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
