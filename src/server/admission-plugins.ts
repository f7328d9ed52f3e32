/** The admission plugins that are on, in the order in which they are asked. */
import { certificateSubjectRestriction } from '../admission/certificate-subject-restriction.ts'
import { defaultIngressClass } from '../admission/default-ingress-class.ts'
import { defaultStorageClass } from '../admission/default-storage-class.ts'
import { defaultTolerationSeconds } from '../admission/default-toleration-seconds.ts'
import { namespaceLifecycle } from '../admission/namespace-lifecycle.ts'
import type { May, RefusalOf, Roles } from '../admission/permission.ts'
import { persistentVolumeClaimResize } from '../admission/persistent-volume-claim-resize.ts'
import type { Plugin } from '../admission/plugin.ts'
import { priority } from '../admission/priority.ts'
import type { Reader } from '../admission/reader.ts'
import { resourceClaimStatus } from '../admission/resource-claim-status.ts'
import { roleEscalation } from '../admission/role-escalation.ts'
import { runtimeClass } from '../admission/runtime-class.ts'
import { serviceAccount } from '../admission/service-account.ts'
import { certificateApproval, certificateSigning, clusterTrustBundleAttest } from '../admission/signers.ts'
import { storageObjectInUseProtection } from '../admission/storage-object-in-use-protection.ts'
import { taintNodesByCondition } from '../admission/taint-nodes-by-condition.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { type Config, ConfigError, runsController } from './config.ts'

export type PluginParts = {
  readonly reader: Reader
  readonly namespace: (name: string) => AnyObject | undefined
  readonly groupDomain: string
  readonly randomSuffix: () => string
  readonly may: May
  readonly refusalOf: RefusalOf
  readonly roles: Roles
  /** Told of plugins that were asked for and are not there yet. */
  readonly warn: (message: string) => void
}

/** Plugins of Kubernetes 1.37 that this version does not have. */
const MISSING = [
  'AlwaysAdmit',
  'AlwaysDeny',
  'AlwaysPullImages',
  'DenyServiceExternalIPs',
  'EventRateLimit',
  'ExtendedResourceToleration',
  'ImagePolicyWebhook',
  'LimitPodHardAntiAffinityTopology',
  'LimitRanger',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionWebhook',
  'NamespaceAutoProvision',
  'NamespaceExists',
  'NodeDeclaredFeatureValidator',
  'NodeRestriction',
  'OwnerReferencesPermissionEnforcement',
  'PodGroupProtection',
  'PodNodeSelector',
  'PodResizeValidator',
  'PodSecurity',
  'PodTolerationRestriction',
  'PodTopologyLabels',
  'ResourceQuota',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionWebhook',
]

/**
 * Those that are on. ServiceAccount refuses pods whose account is not there, so it is on by itself only where the controller
 * runs that makes the account of every namespace.
 */
export function admissionPlugins(config: Config, parts: PluginParts): readonly Plugin[] {
  const { enableAdmissionPlugins: enabled, disableAdmissionPlugins: disabled } = config
  const { may, refusalOf, roles, groupDomain, warn } = parts
  const all = allPlugins(parts)
  for (const [flag, names] of [['enable', enabled] as const, ['disable', disabled] as const])
    for (const name of names)
      if (!all.some(plugin => plugin.name === name) && !MISSING.includes(name))
        throw new ConfigError(
          `--${flag}-admission-plugins: there is no plugin "${name}"; this version has ${all.map(plugin => plugin.name).join(', ')}`,
        )
  for (const name of enabled)
    if (MISSING.includes(name)) warn(`the admission plugin ${name} is not there yet: what it would change or refuse is left as it is`)
  const both = enabled.filter(name => disabled.includes(name))
  if (both.length > 0) throw new ConfigError(`--enable-admission-plugins and --disable-admission-plugins both name ${both.join(', ')}`)
  const isOn = (name: string) => name !== 'ServiceAccount' || runsController(config, 'serviceaccount-controller')
  // What may not be given away and not be said for others is no choice, and is looked for in what the plugins have made.
  return [
    ...all.filter(({ name }) => enabled.includes(name) || (isOn(name) && !disabled.includes(name))),
    roleEscalation({ may, roles, groupDomain }),
    resourceClaimStatus({ refusalOf, groupDomain }),
  ]
}

/** Those of Kubernetes that are on there by default and need nothing but what is stored, in the order of Kubernetes. */
const allPlugins = ({ reader, namespace, groupDomain, randomSuffix, may }: PluginParts): readonly Plugin[] => [
  namespaceLifecycle(namespace),
  serviceAccount({ reader, randomSuffix, pause: () => new Promise(resolve => setTimeout(resolve, LOOK_AGAIN_MS)) }),
  taintNodesByCondition,
  priority(reader, groupDomain),
  defaultTolerationSeconds,
  defaultStorageClass(reader, groupDomain),
  storageObjectInUseProtection(groupDomain),
  persistentVolumeClaimResize(reader, groupDomain),
  runtimeClass(reader, groupDomain),
  certificateApproval({ may, groupDomain }),
  certificateSigning({ may, groupDomain }),
  clusterTrustBundleAttest({ may, groupDomain }),
  certificateSubjectRestriction(groupDomain),
  defaultIngressClass(reader, groupDomain),
]
const LOOK_AGAIN_MS = 150
