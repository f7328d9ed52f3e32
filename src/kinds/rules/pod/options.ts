/** Options of the rules for pods: enabled features, and errors that a stored object may keep. */
import type { ObjectMeta } from '../../../schema/object-meta.ts'
import { type AddressRules, addressRules } from '../address-rules.ts'

/** Options of the rules. Those that begin with `allow` accept errors of the stored object. */
export type PodOptions = {
  /** The metadata of the pod when the spec is that of a pod; absent in templates. */
  readonly pod?: ObjectMeta
  /** Whether containers may be privileged at all. */
  readonly privileged: boolean
  readonly podLevelResources: boolean
  readonly podLevelResize: boolean
  readonly memoryVolumeResize: boolean
  readonly restartRules: boolean
  readonly restartAllContainers: boolean
  readonly envFiles: boolean
  readonly hostNetworkUserNamespaces: boolean
  readonly numericTolerations: boolean
  readonly onlyRecursiveSELinuxChange: boolean
  readonly imageVolumeDigest: boolean
  readonly matchLabelKeysMerge: boolean
  readonly addresses: AddressRules
  readonly allowInvalidDeletionCost: boolean
  readonly allowInvalidAffinitySelectors: boolean
  readonly allowInvalidNodeAffinityValues: boolean
  readonly allowInvalidSpreadSelectors: boolean
  /** The stored object violates the current rule on keys of spread constraints, so the former one applies. */
  readonly allowOtherSpreadKeyRule: boolean
  readonly allowIndivisibleHugePages: boolean
  readonly allowNonLocalTokenPaths: boolean
  readonly allowHostSysctls: boolean
  readonly allowRestartOnInitResize: boolean
  readonly allowVolumeDevicesInUserNamespaces: boolean
  readonly allowEmptyImageVolumes: boolean
  readonly allowSysAdminWithoutEscalation: boolean
}

/** Kubernetes 1.37 with its default features, for new objects. */
export const POD_OPTIONS: PodOptions = Object.freeze({
  privileged: true,
  podLevelResources: true,
  podLevelResize: true,
  memoryVolumeResize: false,
  restartRules: true,
  restartAllContainers: true,
  envFiles: true,
  hostNetworkUserNamespaces: false,
  numericTolerations: false,
  onlyRecursiveSELinuxChange: false,
  imageVolumeDigest: false,
  matchLabelKeysMerge: true,
  addresses: addressRules(() => true),
  allowInvalidDeletionCost: false,
  allowInvalidAffinitySelectors: false,
  allowInvalidNodeAffinityValues: false,
  allowInvalidSpreadSelectors: false,
  allowOtherSpreadKeyRule: false,
  allowIndivisibleHugePages: false,
  allowNonLocalTokenPaths: false,
  allowHostSysctls: false,
  allowRestartOnInitResize: false,
  allowVolumeDevicesInUserNamespaces: false,
  allowEmptyImageVolumes: false,
  allowSysAdminWithoutEscalation: false,
})
