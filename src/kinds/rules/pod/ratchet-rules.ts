/** Ratcheting of pods: rules became stricter over time, and stored objects must stay writable. */
import type { ObjectMeta } from '../../../schema/object-meta.ts'
import { type FieldError, refTo } from '../../../schema/refs.ts'
import { addressRules } from '../address-rules.ts'
import { validateLabelSelector } from '../meta.ts'
import { hasValidDeletionCost } from './annotation-rules.ts'
import type { Container } from './containers/container.ts'
import { containersOf, isSidecar } from './containers/container.ts'
import { hasRestartRules } from './features.ts'
import { POD_OPTIONS, type PodOptions } from './options.ts'
import { isHugePageResource, isWholeHugePages } from './resources/resource-rules.ts'
import type { PodAffinity } from './scheduling/affinity.ts'
import { type KeyedSelector, validateLabelKeys, validateTermSelectors } from './scheduling/affinity.ts'
import { hasInvalidNodeValues } from './scheduling/node-selector.ts'
import { isComparison } from './scheduling/tolerance.ts'
import { validateUnmergedKeys } from './scheduling/topology-spread-rules.ts'
import { hostSysctlFault } from './security/security-rules.ts'
import type { PodSpec } from './spec.ts'
import { validateLocalNonReservedPath } from './volumes/path-rules.ts'

/** The part of a pod or template that rules need. */
type Stored = { readonly metadata: ObjectMeta; readonly spec: PodSpec }

/** The options that feature gates determine. */
export function gatedPodOptions(gate: (name: string) => boolean): PodOptions {
  return {
    ...POD_OPTIONS,
    podLevelResources: gate('PodLevelResources'),
    podLevelResize: gate('InPlacePodLevelResourcesVerticalScaling'),
    memoryVolumeResize: gate('InPlacePodVerticalScalingMemoryBackedVolumes'),
    restartRules: gate('ContainerRestartRules'),
    restartAllContainers: gate('RestartAllContainersOnContainerExits'),
    envFiles: gate('EnvFiles'),
    hostNetworkUserNamespaces: gate('UserNamespacesHostNetworkSupport'),
    numericTolerations: gate('TaintTolerationComparisonOperators'),
    onlyRecursiveSELinuxChange: !gate('SELinuxMount'),
    imageVolumeDigest: gate('ImageVolumeWithDigest'),
    matchLabelKeysMerge: gate('MatchLabelKeysInPodTopologySpread') && gate('MatchLabelKeysInPodTopologySpreadSelectorMerge'),
    addresses: addressRules(gate),
    allowInvalidDeletionCost: !gate('PodDeletionCost'),
  }
}

/** The options for a write over a stored pod or template; without one, `base`. */
export function podOptionsFor(old: Stored | undefined, base: PodOptions = POD_OPTIONS): PodOptions {
  if (!old) return base
  const { metadata, spec } = old
  const containers: readonly Container[] = [...containersOf(spec)]
  const tolerations = spec.tolerations ?? []
  const ownUsers = spec.hostUsers === false
  return {
    ...base,
    restartRules: base.restartRules || hasRestartRules(spec),
    restartAllContainers:
      base.restartAllContainers || containers.some(c => c.restartPolicyRules?.some(({ action }) => action === 'RestartAllContainers')),
    envFiles: base.envFiles || containers.some(c => c.env?.some(({ valueFrom }) => valueFrom?.fileKeyRef)),
    hostNetworkUserNamespaces: base.hostNetworkUserNamespaces || (ownUsers && spec.hostNetwork === true),
    numericTolerations: base.numericTolerations || tolerations.some(isComparison),
    onlyRecursiveSELinuxChange: base.onlyRecursiveSELinuxChange && spec.securityContext?.seLinuxChangePolicy === undefined,
    allowInvalidDeletionCost: base.allowInvalidDeletionCost || !hasValidDeletionCost(metadata),
    allowInvalidAffinitySelectors: hasInvalidAffinitySelectors(spec),
    allowInvalidNodeAffinityValues: hasInvalidNodeValues(spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    allowInvalidSpreadSelectors: hasInvalidSpreadSelectors(spec),
    allowOtherSpreadKeyRule: breaksSpreadKeyRule(spec, base),
    allowIndivisibleHugePages: hasIndivisibleHugePages(spec, containers),
    allowNonLocalTokenPaths: hasNonLocalTokenPaths(spec),
    allowHostSysctls: (spec.securityContext?.sysctls ?? []).some(({ name }) => hostSysctlFault(name, spec) !== undefined),
    allowRestartOnInitResize: (spec.initContainers ?? []).some(
      c => !isSidecar(c) && c.resizePolicy?.some(({ restartPolicy }) => restartPolicy === 'RestartContainer'),
    ),
    allowVolumeDevicesInUserNamespaces: ownUsers && containers.some(c => c.volumeDevices?.length),
    allowEmptyImageVolumes: (spec.volumes ?? []).some(({ image }) => image && !image.reference),
    allowSysAdminWithoutEscalation: containers.some(hasSysAdminWithoutEscalation),
  }
}

const isBroken = (errors: Iterable<FieldError>): boolean => {
  for (const _ of errors) return true
  return false
}

function hasInvalidAffinitySelectors({ affinity }: PodSpec): boolean {
  const termsOf = (part: PodAffinity | undefined) => [
    ...(part?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(part?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm }) => podAffinityTerm),
  ]
  return [...termsOf(affinity?.podAffinity), ...termsOf(affinity?.podAntiAffinity)].some(term =>
    isBroken(validateTermSelectors(term, refTo(term))),
  )
}

const hasInvalidSpreadSelectors = ({ topologySpreadConstraints }: PodSpec): boolean =>
  (topologySpreadConstraints ?? []).some(
    ({ labelSelector }) => labelSelector && isBroken(validateLabelSelector(labelSelector, refTo(labelSelector))),
  )

const breaksSpreadKeyRule = ({ topologySpreadConstraints }: PodSpec, { matchLabelKeysMerge }: PodOptions): boolean =>
  (topologySpreadConstraints ?? []).some(constraint =>
    isBroken(
      matchLabelKeysMerge
        ? validateLabelKeys(constraint, refTo<KeyedSelector>(constraint))
        : validateUnmergedKeys(constraint, refTo(constraint)),
    ),
  )

const hasIndivisibleHugePages = ({ overhead }: PodSpec, containers: readonly Container[]): boolean =>
  [overhead, ...containers.flatMap(({ resources }) => [resources?.limits, resources?.requests])].some(amounts =>
    Object.entries(amounts ?? {}).some(([name, amount]) => isHugePageResource(name) && !isWholeHugePages(name, amount)),
  )

const hasNonLocalTokenPaths = ({ volumes }: PodSpec): boolean =>
  (volumes ?? []).some(({ projected }) =>
    projected?.sources?.some(
      ({ serviceAccountToken: token }) => token && isBroken(validateLocalNonReservedPath(token.path ?? '', refTo(token.path))),
    ),
  )

const hasSysAdminWithoutEscalation = ({ securityContext }: Container): boolean =>
  securityContext?.allowPrivilegeEscalation !== true && (securityContext?.capabilities?.add ?? []).includes('CAP_SYS_ADMIN')
