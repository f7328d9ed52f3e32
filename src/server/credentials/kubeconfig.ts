/** Writes the kubeconfig of this server: one cluster, user and context in a file that may hold others. */
import { readFile, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeFolders } from '../../lib/folders.ts'
import { isObject, type JsonObject } from '../../lib/json-value.ts'
import { writePrivateFile } from '../../lib/private-files.ts'
import { ConfigError } from '../config.ts'
import { trustPlace } from '../files/trusted-files.ts'

/** The address and credentials of a client; certificates and key in PEM. */
export type Access = {
  readonly server: string
  readonly ca: string
  readonly cert: string
  readonly key: string
  /** The name of cluster, user and context; `keelson` by default. */
  readonly name?: string
}

export const CONTEXT_NAME = 'keelson'

/** A kubeconfig with everything embedded, for kubectl and every other client. */
export function kubeconfigText(access: Access): string {
  const { cluster, user, name } = entriesOf(access)
  return textOf(name, cluster, user)
}

/** The same for a client with a token. */
export function tokenKubeconfig({ server, ca, token, name }: TokenAccess): string {
  return textOf(name, { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') }, { token })
}

function textOf(name: string, cluster: Readonly<Record<string, string>>, user: Readonly<Record<string, string>>): string {
  const fields = (values: Readonly<Record<string, string>>) =>
    Object.entries(values)
      .map(([key, value]) => `    ${key}: ${value}\n`)
      .join('')
  return `apiVersion: v1
kind: Config
current-context: ${name}
clusters:
- name: ${name}
  cluster:
${fields(cluster)}contexts:
- name: ${name}
  context:
    cluster: ${name}
    user: ${name}
users:
- name: ${name}
  user:
${fields(user)}`
}

export type TokenAccess = Pick<Access, 'server' | 'ca'> & { readonly token: string; readonly name: string }

/** The access of a context in a kubeconfig; undefined when it has no such context with a certificate. */
export function accessIn(kubeconfig: JsonObject, name: string): Access | undefined {
  const entry = (list: string, of: string, expectedName: unknown): JsonObject | undefined => {
    const all = kubeconfig[list]
    const found = Array.isArray(all) ? all.find(each => isObject(each) && each['name'] === expectedName) : undefined
    const value = isObject(found) ? found[of] : undefined
    return isObject(value) ? value : undefined
  }
  const context = entry('contexts', 'context', name)
  const cluster = context && entry('clusters', 'cluster', context['cluster'])
  const user = context && entry('users', 'user', context['user'])
  const decoded = (text: unknown) => (typeof text === 'string' ? Buffer.from(text, 'base64').toString() : '')
  const [ca, cert, key] = [
    decoded(cluster?.['certificate-authority-data']),
    decoded(user?.['client-certificate-data']),
    decoded(user?.['client-key-data']),
  ]
  const server = cluster?.['server']
  return typeof server === 'string' && ca && cert && key ? { server, ca, cert, key, name } : undefined
}

/**
 * Puts the context of this server into a kubeconfig, or replaces the one that is there, and keeps everything else. It becomes
 * the current context only when the file has none. The file is replaced as a whole and readable by its owner alone. Throws
 * ConfigError, without having changed anything, when the file cannot be read.
 */
export async function writeKubeconfig(file: string, access: Access): Promise<void> {
  makeFolders(dirname(file))
  // A device would be replaced by a file, and reading a pipe would block.
  const found = await stat(file).catch(() => undefined)
  if (found && !found.isFile()) throw new ConfigError(`${file} is no file, and was left as it is: a kubeconfig cannot be written there`)
  // A link stays a link. The other entries of the file are kept, and may name commands for kubectl to run.
  const { path: target } = trustPlace(file)
  const existing = await readFile(target, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw new ConfigError(`${file} cannot be read, and was left as it is: ${error.message}`)
  })
  const text = isOnlyOurs(existing, access.name) ? kubeconfigText(access) : await merge(existing, { file, access })
  // A full disk must not keep a server from starting.
  if (text === existing && found && (found.mode & 0o077) === 0) return
  await writePrivateFile(target, text)
}

/** Whether a file is empty, or is unchanged since this server wrote it: then it need not be parsed. */
function isOnlyOurs(text: string, name: string | undefined): boolean {
  if (text.trim() === '') return true
  const [server = ''] = /(?<=\n {4}server: )\S+/.exec(text) ?? []
  const data = (field: string) => Buffer.from(new RegExp(`(?<=${field}: )\\S+`).exec(text)?.[0] ?? '', 'base64').toString()
  const [ca, cert, key] = ['certificate-authority-data', 'client-certificate-data', 'client-key-data'].map(data) as [string, string, string]
  return text === kubeconfigText({ server, ca, cert, key, ...(name !== undefined && { name }) })
}

async function merge(existing: string, { file, access }: { file: string; access: Access }): Promise<string> {
  const { isMap, isScalar, isSeq, parseDocument } = await import('yaml')
  const refuse = (why: string) =>
    new ConfigError(`${file} is not a kubeconfig that a context can be added to (${why}), and was left as it is; name another --kubeconfig`)
  const document = parseDocument(existing)
  const [error] = document.errors
  if (error) throw refuse(error.message.split('\n')[0]!)
  if (!isMap(document.contents)) throw refuse('it is not a mapping')
  const kind = document.get('kind')
  if (kind !== undefined && kind !== 'Config') throw refuse(`its kind is ${String(kind)}`)
  const { cluster, user, name } = entriesOf(access)
  const lists = { clusters: { cluster }, contexts: { context: { cluster: name, user: name } }, users: { user } }
  for (const [list, entry] of Object.entries(lists)) {
    const present = document.get(list, true)
    const items = isSeq(present) ? present.items : undefined
    if (!items && present !== undefined && !(isScalar(present) && present.value === null)) throw refuse(`${list} is not a list`)
    const named = document.createNode({ name, ...entry })
    const index = items?.findIndex(item => isMap(item) && item.get('name') === name) ?? -1
    if (!items) document.set(list, document.createNode([{ name, ...entry }]))
    else if (index >= 0) items[index] = named
    else items.push(named)
  }
  if (!document.get('current-context')) document.set('current-context', name)
  if (!document.has('apiVersion')) document.set('apiVersion', 'v1')
  if (!document.has('kind')) document.set('kind', 'Config')
  return document.toString({ lineWidth: 0 })
}

function entriesOf({ server, ca, cert, key, name = CONTEXT_NAME }: Access) {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  return {
    name,
    cluster: { server, 'certificate-authority-data': base64(ca) },
    user: { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) },
  }
}
