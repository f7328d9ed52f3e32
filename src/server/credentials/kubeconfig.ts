/** The kubeconfig that leads to this server: one cluster, user and context in a file that may hold others. */
import { readFile, realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeFolders } from '../../lib/folders.ts'
import { ConfigError } from '../config.ts'
import { writePrivateFile } from './pki.ts'

/** How a client gets in; certificates and key in PEM. */
export type Access = { readonly server: string; readonly ca: string; readonly cert: string; readonly key: string }

/** What cluster, user and context are called. */
const NAME = 'keelson'

/** A kubeconfig with everything embedded, for kubectl and every other client. */
export function kubeconfigText(access: Access): string {
  const { cluster, user } = entriesOf(access)
  return `apiVersion: v1
kind: Config
current-context: ${NAME}
clusters:
- name: ${NAME}
  cluster:
    server: ${cluster.server}
    certificate-authority-data: ${cluster['certificate-authority-data']}
contexts:
- name: ${NAME}
  context:
    cluster: ${NAME}
    user: ${NAME}
users:
- name: ${NAME}
  user:
    client-certificate-data: ${user['client-certificate-data']}
    client-key-data: ${user['client-key-data']}
`
}

/**
 * Puts the context of this server into a kubeconfig, or replaces the one that is there, and keeps everything else. It becomes
 * the current context only when the file has none. The file is replaced as a whole and readable by its owner alone. Throws
 * ConfigError, without having changed anything, when the file cannot be read.
 */
export async function writeKubeconfig(file: string, access: Access): Promise<void> {
  makeFolders(dirname(file))
  // A link stays a link.
  const target = await realpath(file).catch(() => file)
  // A device would be replaced by a file, and a pipe waited for.
  const found = await stat(target).catch(() => undefined)
  if (found && !found.isFile()) throw new ConfigError(`${file} is no file, and was left as it is: a kubeconfig cannot be written there`)
  const existing = await readFile(target, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw new ConfigError(`${file} cannot be read, and was left as it is: ${error.message}`)
  })
  const text = isOnlyOurs(existing) ? kubeconfigText(access) : await merge(existing, { file, access })
  await writePrivateFile(target, text)
}

/** Whether a file holds nothing, or what this server wrote and nobody changed: then it need not be parsed. */
function isOnlyOurs(text: string): boolean {
  if (text.trim() === '') return true
  const [server = ''] = /(?<=\n {4}server: )\S+/.exec(text) ?? []
  const data = (field: string) => Buffer.from(new RegExp(`(?<=${field}: )\\S+`).exec(text)?.[0] ?? '', 'base64').toString()
  const [ca, cert, key] = ['certificate-authority-data', 'client-certificate-data', 'client-key-data'].map(data) as [string, string, string]
  return text === kubeconfigText({ server, ca, cert, key })
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
  const { cluster, user } = entriesOf(access)
  const lists = { clusters: { cluster }, contexts: { context: { cluster: NAME, user: NAME } }, users: { user } }
  for (const [list, entry] of Object.entries(lists)) {
    const present = document.get(list, true)
    const items = isSeq(present) ? present.items : undefined
    if (!items && present !== undefined && !(isScalar(present) && present.value === null)) throw refuse(`${list} is not a list`)
    const named = document.createNode({ name: NAME, ...entry })
    const index = items?.findIndex(item => isMap(item) && item.get('name') === NAME) ?? -1
    if (!items) document.set(list, document.createNode([{ name: NAME, ...entry }]))
    else if (index >= 0) items[index] = named
    else items.push(named)
  }
  if (!document.get('current-context')) document.set('current-context', NAME)
  if (!document.has('apiVersion')) document.set('apiVersion', 'v1')
  if (!document.has('kind')) document.set('kind', 'Config')
  return document.toString({ lineWidth: 0 })
}

function entriesOf({ server, ca, cert, key }: Access) {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  return {
    cluster: { server, 'certificate-authority-data': base64(ca) },
    user: { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) },
  }
}
