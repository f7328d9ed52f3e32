/** The file of --admission-control-config-file: the configuration of each admission plugin. Import it lazily: it reads YAML. */
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { policyConfiguration, webhookConfiguration } from '../../admission/manifest-configuration.ts'
import type { PluginConfiguration } from '../../admission/plugin-configuration.ts'
import { EVENT_RATE_LIMIT_CONFIGURATION, type Limit } from '../../admission/plugins/event-rate-limit.ts'
import { IMAGE_POLICY_CONFIGURATION, type ImagePolicySettings } from '../../admission/plugins/image-policy-webhook.ts'
import { POD_NODE_SELECTOR_CONFIGURATION, type PodNodeSelectorParts } from '../../admission/plugins/pod-node-selector.ts'
import { POD_SECURITY_CONFIGURATION } from '../../admission/plugins/pod-security/configuration.ts'
import type { PodSecurityConfiguration } from '../../admission/plugins/pod-security/pod-security.ts'
import {
  POD_TOLERATION_RESTRICTION_CONFIGURATION,
  type PodTolerationRestrictionParts,
} from '../../admission/plugins/pod-toleration-restriction.ts'
import { type LimitedResource, RESOURCE_QUOTA_CONFIGURATION } from '../../admission/plugins/resource-quota/configuration.ts'
import type { CallParts } from '../../admission/webhooks/call.ts'
import { ConfigurationError, configurationOf, fieldsOf, readDocument } from '../../codec/configuration-document.ts'
import { wallMs } from '../../lib/environment.ts'
import { aggregate } from '../../lib/go-text.ts'
import { isObject, type JsonObject } from '../../lib/json-value.ts'
import { type AnyType, atomic, message, raw, string } from '../../schema/types.ts'
import type { WebhookEndpoint } from '../../transport/review-call.ts'
import { type Config, ConfigError } from '../config.ts'
import { credentialsOfKubeconfig, endpointOfKubeconfig } from '../files/webhook-kubeconfig.ts'
import type { ManifestFolders } from './static-manifests.ts'

/** The plugin configuration of --admission-control-config-file. */
export type AdmissionSettings = {
  readonly podSecurity?: PodSecurityConfiguration | undefined
  readonly podNodeSelector?: PodNodeSelectorParts['selectors']
  readonly podTolerationRestriction?: PodTolerationRestrictionParts['cluster']
  readonly limitedResources?: readonly LimitedResource[] | undefined
  readonly eventLimits?: readonly Limit[] | undefined
  readonly imagePolicy?: (ImagePolicySettings & { readonly endpoint: WebhookEndpoint }) | undefined
  readonly mutatingCredentials?: CallParts['credentials']
  readonly validatingCredentials?: CallParts['credentials']
  readonly manifestFolders?: ManifestFolders
}

const ADMISSION_CONFIGURATION = {
  accepts: {
    'apiserver.config.{group_domain}/v1': 'AdmissionConfiguration',
    'apiserver.{group_domain}/v1alpha1': 'AdmissionConfiguration',
  },
  type: message('AdmissionConfiguration', {
    plugins: [
      1,
      atomic(message('AdmissionPluginConfiguration', { name: [1, string], path: [2, string], configuration: [3, raw.optional()] })),
    ],
  }),
} as const

export type AdmissionFileParts = {
  /** Whether a plugin is on. The configuration of others is ignored. */
  readonly isOn: (plugin: string) => boolean
  readonly isKnown: (plugin: string) => boolean
  readonly gate: (name: string) => boolean
  readonly warn: (message: string) => void
}

/** Reads the configuration of the plugins that are on. Throws ConfigError, which names the file, the plugin and the field. */
export function readAdmissionSettings(
  file: string,
  { groupDomain }: Config,
  { isOn, isKnown, gate, warn }: AdmissionFileParts,
): AdmissionSettings {
  const fail = (why: string) => new ConfigError(`--admission-control-config-file: ${file}: ${why}`)
  const entries = entriesOf(file, { groupDomain, fail })
  for (const { name = '' } of entries) if (!isKnown(name)) warn(`${file} configures the admission plugin "${name}", which does not exist`)
  const settingsOf = <T extends AnyType, S>({ plugin, accepts, type, validate, settings }: PluginConfiguration<T, S>): S | undefined => {
    const failPlugin = (why: string) => fail(`couldn't init admission plugin ${JSON.stringify(plugin)}: ${why}`)
    try {
      const entry = entries.find(({ name }) => name === plugin)
      const document = entry && isOn(plugin) ? documentOf(entry, file) : undefined
      if (!document) return undefined
      const configuration = accepts ? configurationOf(document, { accepts, type }, groupDomain) : fieldsOf(document, type)
      const errors = [...(validate?.(configuration, gate) ?? [])].map(({ field, message }) => `${field}: ${message}`)
      if (errors.length > 0) throw failPlugin(aggregate(errors))
      return settings(configuration)
    } catch (error) {
      if (error instanceof ConfigurationError) throw failPlugin(error.message)
      throw error
    }
  }
  const credentials = (kubeconfig: string | undefined) => (kubeconfig ? credentialsOfKubeconfig(kubeconfig, wallMs) : undefined)
  const [mutating, validating] = [
    settingsOf(webhookConfiguration('MutatingAdmissionWebhook')),
    settingsOf(webhookConfiguration('ValidatingAdmissionWebhook')),
  ]
  const imagePolicy = settingsOf(IMAGE_POLICY_CONFIGURATION)
  return {
    podSecurity: settingsOf(POD_SECURITY_CONFIGURATION),
    podNodeSelector: settingsOf(POD_NODE_SELECTOR_CONFIGURATION),
    podTolerationRestriction: settingsOf(POD_TOLERATION_RESTRICTION_CONFIGURATION),
    limitedResources: settingsOf(RESOURCE_QUOTA_CONFIGURATION),
    eventLimits: settingsOf(EVENT_RATE_LIMIT_CONFIGURATION),
    imagePolicy: imagePolicy && { ...imagePolicy, endpoint: endpointOfKubeconfig(imagePolicy.kubeConfigFile) },
    mutatingCredentials: credentials(mutating?.kubeConfigFile),
    validatingCredentials: credentials(validating?.kubeConfigFile),
    manifestFolders: {
      MutatingAdmissionWebhook: mutating?.staticManifestsDir,
      ValidatingAdmissionWebhook: validating?.staticManifestsDir,
      MutatingAdmissionPolicy: settingsOf(policyConfiguration('MutatingAdmissionPolicy')),
      ValidatingAdmissionPolicy: settingsOf(policyConfiguration('ValidatingAdmissionPolicy')),
    },
  }
}

/** The configuration of one plugin, inline or as a path. */
type Entry = { readonly name?: string; readonly path?: string; readonly configuration?: unknown }

/** Plugins whose own configuration can stand in place of the whole file, as before AdmissionConfiguration existed. */
const UNVERSIONED = { imagePolicy: 'ImagePolicyWebhook', podNodeSelectorPluginConfig: 'PodNodeSelector' }

function entriesOf(
  file: string,
  { groupDomain, fail }: { readonly groupDomain: string; readonly fail: (why: string) => ConfigError },
): readonly Entry[] {
  try {
    const document = readDocument(read(file))
    const isUnversioned = document['kind'] === undefined && document['apiVersion'] === undefined
    if (isUnversioned && Object.keys(UNVERSIONED).some(field => Object.hasOwn(document, field)))
      return Object.entries(UNVERSIONED).map(([field, name]) => ({ name, configuration: { [field]: document[field] ?? {} } }))
    return configurationOf(document, ADMISSION_CONFIGURATION, groupDomain).plugins ?? []
  } catch (error) {
    if (error instanceof ConfigurationError) throw fail(error.message)
    throw error
  }
}

/** The document of a plugin; undefined where it has none. */
function documentOf({ configuration, path }: Entry, file: string): JsonObject | undefined {
  if (isObject(configuration)) return configuration as JsonObject
  if (configuration !== undefined && configuration !== null) throw new ConfigurationError('its configuration is not a document with fields')
  return path ? readDocument(read(resolve(dirname(file), path))) : undefined
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(`--admission-control-config-file: cannot read ${file}: ${(error as Error).message}`)
  }
}
