/** The environment of a local process: that of its container, with the addresses and paths that hold on this machine. */
import { join } from 'node:path'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import { environmentOf } from '../container/environment.ts'
import type { Sources } from '../container/sources.ts'
import { movedPaths, withRoot } from './container-folder.ts'

/** How processes reach this server. */
export type OwnAddress = { readonly host: string; readonly port: number }

/** Names the folder in which a process finds the paths of its container. */
export const ROOT_VARIABLE = 'KEELSON_ROOT'
/** The mount of the service account in every pod that does not refuse it. */
const ACCOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount'

export type EnvironmentParts = {
  readonly pod: Pod
  readonly container: Container
  readonly sources: Sources
  readonly root: string
  readonly server: OwnAddress
  /** Variables of the server. */
  readonly inherited: Readonly<Record<string, string | undefined>>
}

/** Variables of the user that programs need on every machine. */
const INHERITED = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'TZ', 'SYSTEMROOT']

export function processEnvironment({ pod, container, sources, root, server, inherited }: EnvironmentParts): ReadonlyMap<string, string> {
  const own = new Set((container.env ?? []).map(({ name }) => name))
  const { host, port } = server
  const bracketed = host.includes(':') ? `[${host}]` : host
  const url = `tcp://${bracketed}:${port}`
  const moved = new Map<string, string>([
    ...INHERITED.flatMap(name => (inherited[name] === undefined ? [] : [[name, inherited[name]] as const])),
    [ROOT_VARIABLE, root],
    ['TMPDIR', join(root, 'tmp')],
    ['KUBECONFIG', kubeconfigPath(root)],
    ['KUBERNETES_SERVICE_HOST', host],
    ['KUBERNETES_SERVICE_PORT', String(port)],
    ['KUBERNETES_SERVICE_PORT_HTTPS', String(port)],
    ['KUBERNETES_PORT', url],
    ['KUBERNETES_PORT_443_TCP', url],
    ['KUBERNETES_PORT_443_TCP_ADDR', host],
    ['KUBERNETES_PORT_443_TCP_PORT', String(port)],
  ])
  const paths = movedPaths(container)
  const variables = new Map<string, string>(moved)
  for (const [name, value] of environmentOf(pod, container, sources))
    if (own.has(name) || !moved.has(name)) variables.set(name, withRoot(value, paths, root))
  return variables
}

const kubeconfigPath = (root: string): string => join(root, 'kubeconfig')

/** A kubeconfig for clients that look for files at fixed paths otherwise. Without a token it names no user. */
export function kubeconfigOf({ pod, container, root, server }: Pick<EnvironmentParts, 'pod' | 'container' | 'root' | 'server'>): {
  readonly path: string
  readonly text: string
} {
  const host = server.host.includes(':') ? `[${server.host}]` : server.host
  const account = join(root, ACCOUNT_PATH)
  const hasAccount = container.volumeMounts?.some(({ mountPath }) => mountPath === ACCOUNT_PATH)
  const named = (value: object) => ({ name: 'keelson', ...value })
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      named({
        cluster: { server: `https://${host}:${server.port}`, ...(hasAccount && { 'certificate-authority': join(account, 'ca.crt') }) },
      }),
    ],
    users: [named({ user: hasAccount ? { tokenFile: join(account, 'token') } : {} })],
    contexts: [named({ context: { cluster: 'keelson', user: 'keelson', namespace: pod.metadata.namespace } })],
    'current-context': 'keelson',
  }
  return { path: kubeconfigPath(root), text: `${JSON.stringify(config, undefined, 2)}\n` }
}
