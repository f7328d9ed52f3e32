/** Addresses and credentials in kubeconfig files: of webhooks, and of other clusters. Import it lazily: it reads YAML. */
import { readFileSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { parseYaml, YamlError } from '../../codec/yaml.ts'
import { isObject, type JsonObject } from '../../lib/json-value.ts'
import type { WebhookEndpoint } from '../../transport/review-call.ts'
import { ConfigError } from '../config.ts'

/** The use of a kubeconfig, for messages. */
export type KubeconfigUse = {
  /** Where it has to lead. */
  readonly target: string
  /** Begins a sentence about credentials that are not supported. */
  readonly refusal: string
}

const FOR_WEBHOOKS: KubeconfigUse = { target: 'a webhook', refusal: 'this server does not call webhooks' }

export type EndpointOptions = {
  /** Another context than the current one. */
  readonly context?: string | undefined
  readonly use?: KubeconfigUse
}

/** The endpoint of a context of a kubeconfig. Throws ConfigError. */
export function endpointOfKubeconfig(file: string, { context: named, use = FOR_WEBHOOKS }: EndpointOptions = {}): WebhookEndpoint {
  const { document, entry, fail } = open(file, use)
  const current = named ?? textIn(document, 'current-context')
  if (current === '') throw fail('it has no current-context')
  const context = entry('contexts', current, 'context')
  const cluster = entry('clusters', textIn(context, 'cluster'), 'cluster')
  const userName = textIn(context, 'user')
  if (cluster['proxy-url'] !== undefined) throw fail(`${use.refusal} through a proxy`)
  const ca = fileReader(file)(cluster, 'certificate-authority')
  const servername = textIn(cluster, 'tls-server-name')
  return {
    ...addressOf(textIn(cluster, 'server'), fail),
    ...(ca && { ca }),
    ...(servername && { servername }),
    ...(cluster['insecure-skip-tls-verify'] === true && { skipsVerification: true }),
    ...(userName !== '' && credentialsOf(entry('users', userName, 'user'), { file, fail, use })),
  }
}

/** The credentials for a webhook. */
export type Credentials = Pick<WebhookEndpoint, 'client' | 'headers'>

/**
 * The credentials for webhooks at any address: the users of a kubeconfig are named after `HOST:PORT`, `*.DOMAIN:PORT`, for port 443
 * also without the port, or `*`; for other addresses, the user of the current context. Throws ConfigError.
 */
export function credentialsOfKubeconfig(file: string, now: () => number): (address: string) => Credentials {
  const { document, entry, fail } = open(file)
  const users = new Map<string, () => Credentials>()
  for (const each of Array.isArray(document['users']) ? document['users'] : []) {
    const name = isObject(each) ? textIn(each, 'name') : ''
    if (!users.has(name)) users.set(name, currentCredentials(entry('users', name, 'user'), { file, fail, now }))
  }
  const current = textIn(document, 'current-context')
  const everywhere = users.get('*') ?? (current === '' ? undefined : users.get(textIn(entry('contexts', current, 'context'), 'user')))
  return address => {
    const withoutPort = address.endsWith(':443') ? address.slice(0, -':443'.length).replace(/^\[(.*)\]$/, '$1') : undefined
    for (const target of withoutPort === undefined ? [address] : [address, withoutPort])
      for (const name of namesFor(target)) if (users.has(name)) return users.get(name)!()
    return everywhere?.() ?? {}
  }
}

const TOKEN_FILE_MS = 10_000

/** The credentials of a user, with files as they are now: tokens in files are replaced before they expire. */
function currentCredentials(
  user: JsonObject,
  { now, ...parts }: { readonly file: string; readonly fail: (why: string) => ConfigError; readonly now: () => number },
): () => Credentials {
  let known = { credentials: credentialsOf(user, parts), read: now() }
  return () => {
    if (textIn(user, 'tokenFile') !== '' && now() - known.read >= TOKEN_FILE_MS) {
      try {
        known = { credentials: credentialsOf(user, parts), read: now() }
      } catch {
        // While a file is being replaced, the known token is used.
      }
    }
    return known.credentials
  }
}

/** The address itself, and then every domain that contains it: `*.b.c` and `*.c` for `a.b.c`. */
const namesFor = (target: string): string[] => {
  const parts = target.split('.')
  return [target, ...parts.slice(1).map((_, i) => `*.${parts.slice(i + 1).join('.')}`)]
}

function open(file: string, { target }: KubeconfigUse = FOR_WEBHOOKS) {
  const fail = (why: string) => new ConfigError(`${file} is no kubeconfig that leads to ${target}: ${why}`)
  const document = parse(file, fail)
  const entry = (list: string, name: string, field: string): JsonObject => {
    const all = document[list]
    const found = Array.isArray(all) ? all.find(each => isObject(each) && each['name'] === name) : undefined
    const value = isObject(found) ? found[field] : undefined
    if (!isObject(value)) throw fail(`there is no ${field} "${name}"`)
    return value
  }
  return { document, entry, fail }
}

function credentialsOf(
  user: JsonObject,
  { file, fail, use = FOR_WEBHOOKS }: { readonly file: string; readonly fail: (why: string) => ConfigError; readonly use?: KubeconfigUse },
): Credentials {
  for (const field of ['exec', 'auth-provider', 'as']) if (user[field] !== undefined) throw fail(`${use.refusal} with ${field} credentials`)
  const contents = fileReader(file)
  const cert = contents(user, 'client-certificate')
  const key = contents(user, 'client-key')
  if ((cert === '') !== (key === '')) throw fail('client-certificate and client-key go together')
  const authorization = authorizationOf(user, file)
  return { ...(cert && { client: { cert, key } }), ...(authorization && { headers: { authorization } }) }
}

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

/** The API server of the cluster that this process runs in as a pod. Throws ConfigError. */
export function endpointInCluster(path: string, env: NodeJS.ProcessEnv): WebhookEndpoint {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env
  if (!host || !port)
    throw new ConfigError('InClusterConfig: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined, as they are in pods')
  const token = read(`${ACCOUNT}/token`).trim()
  return { host, port: Number(port), path, ca: read(`${ACCOUNT}/ca.crt`), headers: { authorization: `Bearer ${token}` } }
}

function parse(file: string, fail: (why: string) => ConfigError): JsonObject {
  try {
    const { value } = parseYaml(read(file))
    if (isObject(value)) return value
  } catch (error) {
    if (error instanceof YamlError) throw fail(error.message)
    throw error
  }
  throw fail('it is not a mapping')
}

function addressOf(server: string, fail: (why: string) => ConfigError): Pick<WebhookEndpoint, 'host' | 'port' | 'path' | 'isPlain'> {
  const url = URL.canParse(server) ? new URL(server) : undefined
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') throw fail(`the server "${server}" is no https URL`)
  const isPlain = url.protocol === 'http:'
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port) || (isPlain ? 80 : 443),
    path: url.pathname + url.search,
    ...(isPlain && { isPlain }),
  }
}

/** Reads the base64 value of a field (`NAME-data`), or the file that it names, relative to the kubeconfig. */
const fileReader = (kubeconfig: string) => (entry: JsonObject, field: string) => {
  const data = textIn(entry, `${field}-data`)
  if (data !== '') return Buffer.from(data, 'base64').toString('utf8')
  const file = textIn(entry, field)
  return file === '' ? '' : read(beside(kubeconfig, file))
}

function authorizationOf(user: JsonObject, kubeconfig: string): string | undefined {
  const tokenFile = textIn(user, 'tokenFile')
  const token = tokenFile === '' ? textIn(user, 'token') : read(beside(kubeconfig, tokenFile)).trim()
  if (token !== '') return `Bearer ${token}`
  const name = textIn(user, 'username')
  return name === '' ? undefined : `Basic ${Buffer.from(`${name}:${textIn(user, 'password')}`).toString('base64')}`
}

const beside = (kubeconfig: string, file: string) => (isAbsolute(file) ? file : join(dirname(kubeconfig), file))

const textIn = (entry: JsonObject, field: string) => (typeof entry[field] === 'string' ? entry[field] : '')

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(`cannot read ${file}: ${(error as Error).message}`)
  }
}
