/** The admission chain of a server: built-in plugins, and the policies and webhooks that clients or files configure. */
import { type Admission, pluginChain } from '../../admission/plugin.ts'
import type { Reader } from '../../admission/reader.ts'
import { serverIdentity } from '../../client/identity.ts'
import { withoutQuoted } from '../../http/observability/failure-text.ts'
import { Namespace } from '../../kinds/core/namespace.ts'
import { newUuid } from '../../lib/environment.ts'
import { randomSuffix } from '../../lib/safe-text.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { WebhookTransport } from '../../transport/webhook-transport.ts'
import type { Authorization } from '../access/authorization.ts'
import type { ServerContext } from '../context.ts'
import type { AdmissionSettings } from './admission-configuration.ts'
import { AdmissionMetrics } from './admission-metrics.ts'
import { admissionPlugins, type PluginParts } from './admission-plugins.ts'

export type AdmissionParts = {
  readonly settings: AdmissionSettings
  readonly reader: Reader
  readonly namespace: (name: string) => AnyObject | undefined
  readonly authorization: Authorization
  readonly quota: PluginParts['quota']
}

export async function openAdmission(
  context: ServerContext,
  { settings, reader, namespace, authorization, quota }: AdmissionParts,
): Promise<{ readonly chain: Admission; readonly metrics: AdmissionMetrics }> {
  const { config, catalog, clientFor, log, answered } = context
  const { groupDomain } = config
  const client = clientFor(serverIdentity())
  const metrics = new AdmissionMetrics(log)
  const transport = new WebhookTransport({ dial: context.egress.controlplane })
  answered.addEventListener('abort', () => transport[Symbol.dispose](), { once: true })
  const { manifestFolders } = settings
  const manifests = manifestFolders
    ? new (await import('./static-manifests.ts')).StaticManifests(manifestFolders, { ...context, groupDomain, metrics })
    : undefined
  const isConfigurable = manifests ?? client.findNamed('admissionregistration.{group_domain}', 'v1', 'validatingwebhookconfigurations')
  const open = isConfigurable ? (await import('./policies-and-webhooks.ts')).dynamicAdmission : () => []
  const dynamic = open({
    settings,
    transport,
    webhookService: context.destinations.webhookService,
    reported: context.destinations.reported,
    namespace,
    manifests,
    client,
    catalog,
    authorizer: authorization.authorizer,
    observer: metrics,
    newUid: newUuid,
    signal: answered,
  })
  const plugins = admissionPlugins(config, {
    settings,
    transport,
    namespace,
    createNamespace: name => client.of(Namespace).create({ metadata: { name } }),
    reader,
    groupDomain,
    gate: context.gate,
    randomSuffix,
    resourceOf: (apiVersion, kind) => catalog.findKind(apiVersion, kind),
    dynamic,
    quota,
    warn: message => log.warn({}, withoutQuoted(message)),
    ...authorization,
  })
  return { chain: pluginChain(plugins, metrics), metrics }
}
