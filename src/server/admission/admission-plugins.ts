/** The enabled admission plugins, in their order. */

import type { May, ReasonAgainst, RefusalOf, Roles } from '../../admission/permission.ts'
import type { Plugin } from '../../admission/plugin.ts'
import { alwaysAdmit, alwaysDeny } from '../../admission/plugins/always.ts'
import { alwaysPullImages } from '../../admission/plugins/always-pull-images.ts'
import { certificateSubjectRestriction } from '../../admission/plugins/certificate-subject-restriction.ts'
import { defaultIngressClass } from '../../admission/plugins/default-ingress-class.ts'
import { defaultStorageClass } from '../../admission/plugins/default-storage-class.ts'
import { defaultTolerationSeconds, type TolerationSeconds } from '../../admission/plugins/default-toleration-seconds.ts'
import { denyServiceExternalIPs } from '../../admission/plugins/deny-service-external-ips.ts'
import { eventRateLimit } from '../../admission/plugins/event-rate-limit.ts'
import { extendedResourceToleration } from '../../admission/plugins/extended-resource-toleration.ts'
import { imagePolicyWebhook } from '../../admission/plugins/image-policy-webhook.ts'
import { limitPodHardAntiAffinityTopology } from '../../admission/plugins/limit-pod-hard-anti-affinity-topology.ts'
import { limitRanger } from '../../admission/plugins/limit-ranger.ts'
import { localAddressPermission } from '../../admission/plugins/local-address-permission.ts'
import { namespaceAutoProvision } from '../../admission/plugins/namespace-auto-provision.ts'
import { namespaceExists } from '../../admission/plugins/namespace-exists.ts'
import { namespaceLifecycle } from '../../admission/plugins/namespace-lifecycle.ts'
import { nodeDeclaredFeatureValidator } from '../../admission/plugins/node-declared-feature-validator.ts'
import { nodeRestriction } from '../../admission/plugins/node-restriction.ts'
import { ownerReferencesPermissionEnforcement } from '../../admission/plugins/owner-references-permission-enforcement.ts'
import { persistentVolumeClaimResize } from '../../admission/plugins/persistent-volume-claim-resize.ts'
import { podGroupProtection } from '../../admission/plugins/pod-group-protection.ts'
import { podNodeSelector } from '../../admission/plugins/pod-node-selector.ts'
import { podResizeValidator } from '../../admission/plugins/pod-resize-validator.ts'
import { podSecurity } from '../../admission/plugins/pod-security/pod-security.ts'
import { podTolerationRestriction } from '../../admission/plugins/pod-toleration-restriction.ts'
import { podTopologyLabels } from '../../admission/plugins/pod-topology-labels.ts'
import { policyParamsAccess } from '../../admission/plugins/policy-params-access.ts'
import { priority } from '../../admission/plugins/priority.ts'
import { resourceClaimStatus } from '../../admission/plugins/resource-claim-status.ts'
import { type ResourceQuotaParts, resourceQuota } from '../../admission/plugins/resource-quota/resource-quota.ts'
import { roleEscalation } from '../../admission/plugins/role-escalation.ts'
import { runtimeClass } from '../../admission/plugins/runtime-class.ts'
import { serviceAccount } from '../../admission/plugins/service-account.ts'
import {
  certificateApproval,
  certificateSigning,
  clusterTrustBundleAttest,
  podCertificateSigning,
} from '../../admission/plugins/signers.ts'
import { storageObjectInUseProtection } from '../../admission/plugins/storage-object-in-use-protection.ts'
import { taintNodesByCondition } from '../../admission/plugins/taint-nodes-by-condition.ts'
import type { Reader } from '../../admission/reader.ts'
import { monotonicMs, startTimer, wallMs } from '../../lib/environment.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import { postReview } from '../../transport/review-call.ts'
import type { WebhookTransport } from '../../transport/webhook-transport.ts'
import { type Config, ConfigError, runsController } from '../config.ts'
import type { AdmissionSettings } from './admission-configuration.ts'

export type PluginParts = {
  readonly reader: Reader
  readonly namespace: (name: string) => AnyObject | undefined
  /** Creates a namespace in the name of the server. */
  readonly createNamespace: (name: string) => Promise<unknown>
  readonly groupDomain: string
  /** Whether a feature gate is on. */
  readonly gate: (name: string) => boolean
  readonly randomSuffix: () => string
  readonly may: May
  readonly reasonAgainst: ReasonAgainst
  readonly refusalOf: RefusalOf
  readonly roles: Roles
  /** The resource of a kind, as owner references name it. */
  readonly resourceOf: (apiVersion: string, kind: string) => Resource | undefined
  /** The plugins that clients configure by objects: policies and webhooks. */
  readonly dynamic: readonly Plugin[]
  readonly quota: Omit<ResourceQuotaParts, 'reader' | 'limited'>
  readonly settings?: AdmissionSettings
  readonly transport: WebhookTransport
  /** Called for plugins that are deprecated. */
  readonly warn: (message: string) => void
}

/** The plugins of Kubernetes 1.37, in its order. */
export const PLUGINS = [
  'AlwaysAdmit',
  'NamespaceAutoProvision',
  'NamespaceLifecycle',
  'NamespaceExists',
  'LimitPodHardAntiAffinityTopology',
  'LimitRanger',
  'ServiceAccount',
  'NodeRestriction',
  'TaintNodesByCondition',
  'AlwaysPullImages',
  'ImagePolicyWebhook',
  'PodSecurity',
  'PodNodeSelector',
  'Priority',
  'DefaultTolerationSeconds',
  'PodTolerationRestriction',
  'EventRateLimit',
  'ExtendedResourceToleration',
  'DefaultStorageClass',
  'StorageObjectInUseProtection',
  'PodGroupProtection',
  'OwnerReferencesPermissionEnforcement',
  'PersistentVolumeClaimResize',
  'RuntimeClass',
  'CertificateApproval',
  'CertificateSigning',
  'ClusterTrustBundleAttest',
  'CertificateSubjectRestriction',
  'DefaultIngressClass',
  'DenyServiceExternalIPs',
  'PodTopologyLabels',
  'NodeDeclaredFeatureValidator',
  'PodResizeValidator',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionWebhook',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionWebhook',
  'ResourceQuota',
  'AlwaysDeny',
] as const
type PluginName = (typeof PLUGINS)[number]

/** Plugins that Kubernetes advises against. */
const DEPRECATED: readonly string[] = ['AlwaysAdmit', 'AlwaysDeny'] satisfies PluginName[]

/** Plugins that Kubernetes disables by default. */
const OFF_BY_DEFAULT: readonly PluginName[] = [
  'AlwaysAdmit',
  'NamespaceAutoProvision',
  'NamespaceExists',
  'LimitPodHardAntiAffinityTopology',
  'NodeRestriction',
  'AlwaysPullImages',
  'ImagePolicyWebhook',
  'PodNodeSelector',
  'PodTolerationRestriction',
  'EventRateLimit',
  'ExtendedResourceToleration',
  'OwnerReferencesPermissionEnforcement',
  'DenyServiceExternalIPs',
  'AlwaysDeny',
]

const isPlugin = (name: string): name is PluginName => (PLUGINS as readonly string[]).includes(name)

/**
 * The names of enabled plugins. ServiceAccount refuses pods whose account does not exist, so it is on by default only where the controller
 * runs that creates the account of every namespace. Throws ConfigError.
 */
function chosenPlugins(config: Config): (name: string) => boolean {
  const { enableAdmissionPlugins: enabled, disableAdmissionPlugins: disabled } = config
  for (const [flag, names] of [['enable', enabled] as const, ['disable', disabled] as const])
    for (const name of names)
      if (!isPlugin(name))
        throw new ConfigError(`--${flag}-admission-plugins: there is no plugin "${name}"; this version has ${PLUGINS.join(', ')}`)
  const both = enabled.filter(name => disabled.includes(name))
  if (both.length > 0) throw new ConfigError(`--enable-admission-plugins and --disable-admission-plugins both name ${both.join(', ')}`)
  const isDefault = (name: string) =>
    name === 'ServiceAccount' ? runsController(config, 'serviceaccount-controller') : !(OFF_BY_DEFAULT as readonly string[]).includes(name)
  return name => enabled.includes(name) || (isDefault(name) && !disabled.includes(name))
}

/**
 * Reads the configuration of admission plugins, before anything is opened, so that an error has no effects. Throws ConfigError.
 */
export async function readSettings(config: Config, gate: (name: string) => boolean, warn: PluginParts['warn']): Promise<AdmissionSettings> {
  const isOn = chosenPlugins(config)
  const { admissionControlConfigFile: file } = config
  const settings =
    file === undefined
      ? {}
      : (await import('./admission-configuration.ts')).readAdmissionSettings(file, config, { isOn, isKnown: isPlugin, gate, warn })
  checkSettings(settings, isOn)
  return settings
}

/** Some plugins need a configuration. Throws ConfigError. */
function checkSettings({ eventLimits, imagePolicy }: AdmissionSettings, isOn: (name: string) => boolean): void {
  const missing = Object.entries({ EventRateLimit: eventLimits, ImagePolicyWebhook: imagePolicy }).find(
    ([name, settings]) => isOn(name) && !settings,
  )
  if (missing)
    throw new ConfigError(
      `couldn't init admission plugin "${missing[0]}": no config specified; --admission-control-config-file names the file that has one`,
    )
}

/** The enabled plugins. */
export function admissionPlugins(config: Config, parts: PluginParts): readonly Plugin[] {
  const { may, refusalOf, roles, reader, resourceOf, groupDomain, warn, settings } = parts
  const isOn = chosenPlugins(config)
  for (const name of config.enableAdmissionPlugins) {
    if (DEPRECATED.includes(name))
      warn(`${name} admission controller is deprecated. Please remove this controller from your configuration files and scripts.`)
  }
  const quota = resourceQuota({ reader, ...parts.quota, limited: settings?.limitedResources })
  // Checks against escalation cannot be disabled, and see the object that the plugins have made. Only writes that
  // no other plugin rejects are charged to a quota.
  const { defaultNotReadyTolerationSeconds: notReady, defaultUnreachableTolerationSeconds: unreachable } = config
  return [
    // This runs before policies and webhooks of clients, which must not see objects that their writer may not have.
    policyParamsAccess({ may, reader, resourceOf, groupDomain }),
    ...allPlugins({ ...parts, tolerationSeconds: { notReady, unreachable } }).filter(({ name }) => isOn(name)),
    roleEscalation({ may, roles, groupDomain }),
    localAddressPermission({ may }),
    resourceClaimStatus({ refusalOf, groupDomain }),
    podCertificateSigning({ may, groupDomain }),
    ...[quota, alwaysDeny].filter(({ name }) => isOn(name)),
  ]
}

/** All plugins, in the order of Kubernetes. */
const allPlugins = ({
  reader,
  namespace,
  groupDomain,
  gate,
  randomSuffix,
  may,
  reasonAgainst,
  resourceOf,
  dynamic,
  settings = {},
  transport,
  createNamespace,
  tolerationSeconds,
}: PluginParts & { readonly tolerationSeconds: TolerationSeconds }): readonly Plugin[] => [
  alwaysAdmit,
  namespaceAutoProvision({ namespace, createNamespace }),
  namespaceLifecycle(namespace),
  namespaceExists(namespace),
  limitPodHardAntiAffinityTopology,
  limitRanger(reader),
  serviceAccount({ reader, randomSuffix, pause: () => new Promise(resolve => startTimer(resolve, LOOK_AGAIN_MS)) }),
  nodeRestriction({ reader, may, groupDomain }),
  taintNodesByCondition,
  alwaysPullImages,
  ...(settings.imagePolicy ? [imagePolicy(settings.imagePolicy, { transport, groupDomain })] : []),
  podSecurity({ reader, namespace, configuration: settings.podSecurity }),
  podNodeSelector({ namespace, selectors: settings.podNodeSelector }),
  priority(reader, groupDomain, gate),
  defaultTolerationSeconds(tolerationSeconds),
  podTolerationRestriction({ namespace, cluster: settings.podTolerationRestriction }),
  ...(settings.eventLimits ? [eventRateLimit(settings.eventLimits, monotonicMs)] : []),
  extendedResourceToleration,
  defaultStorageClass(reader, groupDomain),
  storageObjectInUseProtection(groupDomain),
  podGroupProtection(groupDomain, gate),
  ownerReferencesPermissionEnforcement({ reasonAgainst, resourceOf }),
  persistentVolumeClaimResize(reader, groupDomain),
  runtimeClass(reader, groupDomain),
  certificateApproval({ may, groupDomain }),
  certificateSigning({ may, groupDomain }),
  clusterTrustBundleAttest({ may, groupDomain }),
  certificateSubjectRestriction(groupDomain),
  defaultIngressClass(reader, groupDomain),
  denyServiceExternalIPs,
  podTopologyLabels(reader),
  nodeDeclaredFeatureValidator(reader),
  podResizeValidator(reader),
  ...dynamic,
]
const LOOK_AGAIN_MS = 150

const imagePolicy = (
  { endpoint, ...settings }: NonNullable<AdmissionSettings['imagePolicy']>,
  { transport, groupDomain }: Pick<PluginParts, 'transport' | 'groupDomain'>,
): Plugin =>
  imagePolicyWebhook({
    settings,
    groupDomain,
    now: wallMs,
    post: (review, signal) => postReview(review, { endpoint, transport, timeoutMs: IMAGE_REVIEW_MS, pauseMs: settings.retryMs, signal }),
  })
const IMAGE_REVIEW_MS = 30_000
