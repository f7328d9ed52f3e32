/** The requests that are measured, the same for every server and in every protocol. */
import { configMap, deployment } from './objects.ts'
import { type Protocol, requestBytes, run, type Target } from './raw-client.ts'

export const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
/** Creates go elsewhere: the lists that are measured keep their length. */
const CREATED = { configMaps: '/api/v1/namespaces/kube-system/configmaps', deployments: '/apis/apps/v1/namespaces/kube-system/deployments' }
export const OBJECTS = 2000
const APPLIED = 64

export type Operation = {
  readonly name: string
  /** How many are under way at a time. */
  readonly lanes: number
  /** How many of the others take as long: so many fewer are sent. */
  readonly weight: number
  /** The path that is read; without one it is a write. */
  readonly path?: string
  readonly request: (iteration: number) => Buffer
}

/** Every write changes something, and no two creates are of the same name. */
let turn = 0

const MERGE_PATCH = 'application/merge-patch+json'
const APPLY_PATCH = 'application/apply-patch+yaml'
const LIGHT = { lanes: 16, weight: 1 }

export function operationsIn(protocol: Protocol): readonly Operation[] {
  const read = (name: string, path: string, { lanes = 16, weight = 1 } = {}): Operation => {
    const bytes = protocol.request('GET', path)
    return { name, lanes, weight, path, request: () => bytes }
  }
  const deployed = (iteration: number) => `web-${iteration % APPLIED}`
  return [
    read('GET one object', `${CONFIG_MAPS}/cm-7`),
    read('page of 100', `${CONFIG_MAPS}?limit=100`),
    read(`LIST ${OBJECTS.toLocaleString('en-US')} objects`, CONFIG_MAPS, { lanes: 4, weight: 8 }),
    { name: 'create', ...LIGHT, request: () => protocol.request('POST', CREATED.configMaps, configMap(`new-${++turn}`)) },
    {
      name: 'merge patch',
      ...LIGHT,
      request: iteration =>
        protocol.request('PATCH', `${CONFIG_MAPS}/cm-${iteration % OBJECTS}`, `{"data":{"turn":"p${++turn}"}}`, MERGE_PATCH),
    },
    {
      name: 'apply',
      ...LIGHT,
      request: iteration => applyConfigMap(protocol, `applied-${iteration % APPLIED}`),
    },
    {
      name: 'create, 5 KiB Deployment',
      ...LIGHT,
      request: () => protocol.request('POST', CREATED.deployments, JSON.stringify(deployment(`new-${++turn}`, turn))),
    },
    {
      name: 'merge patch, 5 KiB Deployment',
      ...LIGHT,
      request: iteration =>
        protocol.request(
          'PATCH',
          `${DEPLOYMENTS}/${deployed(iteration)}`,
          `{"spec":{"template":{"metadata":{"annotations":{"turn":"p${++turn}"}}}}}`,
          MERGE_PATCH,
        ),
    },
    {
      name: 'replace, 5 KiB Deployment',
      ...LIGHT,
      request: iteration =>
        protocol.request('PUT', `${DEPLOYMENTS}/${deployed(iteration)}`, JSON.stringify(deployment(deployed(iteration), ++turn))),
    },
    {
      name: 'apply, 5 KiB Deployment, 3 managers',
      ...LIGHT,
      request(iteration) {
        const { spec, ...rest } = deployment(deployed(iteration), ++turn)
        const { replicas: _, ...own } = spec
        return apply(protocol, deployed(iteration), { manager: 'deployer', body: { ...rest, spec: own } })
      },
    },
  ]
}

/** Makes the objects that are read and changed. */
export async function prepare(target: Target): Promise<void> {
  await sendAll(target, OBJECTS, i => requestBytes('POST', CONFIG_MAPS, configMap(`cm-${i}`, i)))
}

/**
 * Makes ConfigMaps that one manager has applied, and Deployments that are as they are after three managers have applied them, whatever was
 * done to them before.
 */
export async function prepareApplied(target: Target, protocol: Protocol): Promise<void> {
  await sendAll(target, APPLIED, i => applyConfigMap(protocol, `applied-${i}`), protocol)
  const { apiVersion, kind } = deployment('any')
  const applied = [
    { manager: 'deployer', body: (name: string): object => deployment(name, ++turn) },
    { manager: 'scaler', body: (name: string): object => ({ apiVersion, kind, metadata: { name }, spec: { replicas: 5 } }) },
    { manager: 'labeler', body: (name: string): object => ({ apiVersion, kind, metadata: { name, labels: { team: 'blue' } } }) },
  ]
  for (const { manager, body } of applied)
    await sendAll(target, APPLIED, i => apply(protocol, `web-${i}`, { manager, body: { ...body(`web-${i}`) } }), protocol)
}

const apply = (protocol: Protocol, name: string, { manager, body }: { readonly manager: string; readonly body: object }) =>
  protocol.request('PATCH', `${DEPLOYMENTS}/${name}?fieldManager=${manager}&force=true`, JSON.stringify(body), APPLY_PATCH)

const applyConfigMap = (protocol: Protocol, name: string) =>
  protocol.request('PATCH', `${CREATED.configMaps}/${name}?fieldManager=deployer&force=true`, configMap(name, ++turn), APPLY_PATCH)

async function sendAll(target: Target, requests: number, request: (iteration: number) => Buffer, protocol?: Protocol): Promise<void> {
  const { failures } = await run(target, { request, connections: 16, seconds: 600, requests, ...(protocol && { protocol }) })
  if (failures > 0) throw new Error(`${failures} of ${requests} objects could not be written`)
}
