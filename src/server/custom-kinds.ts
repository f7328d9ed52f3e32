/** Custom kinds of a server: what they need of the rest, and where services are that convert their objects. */
import { randomUUID } from 'node:crypto'
import { CustomKinds } from '../custom/custom-kinds.ts'
import { post } from '../custom/https-post.ts'
import { type ServiceReference, webhookConverter } from '../custom/webhook-converter.ts'
import type { Catalog } from '../registry/catalog.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Config } from './config.ts'
import { clientFor, type Inner, SERVER } from './inner.ts'

/** Serves the kinds that are defined and follows the definitions. Resolves when those that are there are served. */
export async function startCustomKinds({ groupDomain }: Config, setup: Inner): Promise<void> {
  const { catalog, caches, log, signal } = setup
  const definitions = catalog.find(`apiextensions.${groupDomain}`, 'v1', 'customresourcedefinitions')
  if (!definitions) return
  const client = clientFor(setup, { user: SERVER, manager: 'kube-apiserver', groupDomain })
  const webhook = { post, newUid: randomUUID, groupDomain, resolve: serviceResolver(catalog, client, groupDomain) }
  const kinds = new CustomKinds({
    client,
    definitions,
    catalog,
    caches,
    groupDomain,
    converter: definition => webhookConverter(definition, webhook),
    onError: (name, error) =>
      log.warn({ definition: name, error: String(error) }, 'a custom kind could not be brought up to date; it will be tried again'),
    signal,
  })
  await kinds.start()
}

/** Where a service can be reached from here: by its name outside, at one of its endpoints, or at its own address. */
function serviceResolver(catalog: Catalog, client: LocalClient, groupDomain: string) {
  return ({ namespace, name, port }: ServiceReference): { host: string; port: number } | undefined => {
    const services = catalog.find('', 'v1', 'services')
    const slices = catalog.find(`discovery.${groupDomain}`, 'v1', 'endpointslices')
    const service = services && client.get(services, { namespace, name })
    if (!service) return undefined
    const { type, externalName, clusterIP } = service['spec']
    if (type === 'ExternalName') return { host: externalName, port }
    const portName: string = service['spec'].ports?.find((p: { port: number }) => p.port === port)?.name ?? ''
    for (const slice of slices ? client.list(slices) : []) {
      const found = sliceIsOf(slice, { namespace, name }) && endpointOf(slice, portName)
      if (found) return found
    }
    return clusterIP && clusterIP !== 'None' ? { host: clusterIP, port } : undefined
  }
}

const SERVICE_NAME = 'kubernetes.io/service-name'
const sliceIsOf = ({ metadata }: AnyObject, { namespace, name }: { namespace: string; name: string }) =>
  metadata.namespace === namespace && metadata.labels?.[SERVICE_NAME] === name

function endpointOf(slice: AnyObject, portName: string): { host: string; port: number } | undefined {
  const port = slice['ports']?.find((p: { name?: string }) => (p.name ?? '') === portName)?.port
  const ready = slice['endpoints']?.find((e: { conditions?: { ready?: boolean } }) => e.conditions?.ready !== false)
  return port !== undefined && ready?.addresses?.[0] !== undefined ? { host: ready.addresses[0], port } : undefined
}
