/** Where a command finds a cluster: at a running server, or in a data directory that no server uses. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readFlags } from '../flags/read-flags.ts'
import { ConfigError } from '../server/config.ts'
import type { Access } from '../server/credentials/kubeconfig.ts'
import { ownerOf } from '../storage/embedded/lock.ts'
import type { Arguments } from './arguments.ts'
import { readAccess } from './kubeconfig.ts'

export type Place = { readonly kind: 'server'; readonly access: Access } | { readonly kind: 'folder'; readonly dir: string }

export const PLACE_FLAGS = ['data-dir', 'kubeconfig', 'context-name'] as const

/**
 * The running server of `--kubeconfig` or `--data-dir`. Without either it is the one of `keelson run`, if the command runs there: its
 * kubeconfig is in the environment. Throws ConfigError.
 */
export function serverOf(args: Arguments): Access {
  const isNamed = args.has('kubeconfig') || args.has('data-dir')
  const { KEELSON_URL: url, KUBECONFIG: file } = process.env
  const ofRun = !isNamed && url && file ? [`--kubeconfig=${file}`] : []
  return readAccess(readFlags([...ofRun, ...args.only(PLACE_FLAGS)]))
}

/**
 * The server of `--kubeconfig`, or that of `--data-dir` where one is running; otherwise the directory itself. Throws ConfigError where there
 * is neither.
 */
export function findPlace(args: Arguments): Place {
  const config = readFlags(args.only(PLACE_FLAGS))
  const { dataDir, kubeconfig = '' } = config
  if (args.has('kubeconfig')) return { kind: 'server', access: readAccess(config) }
  const store = join(dataDir, 'store')
  const isServed = ownerOf(store) !== undefined
  // A server on etcd has no store in its directory.
  if ((isServed || !existsSync(store)) && existsSync(kubeconfig)) return { kind: 'server', access: readAccess(config) }
  if (existsSync(store)) return { kind: 'folder', dir: dataDir }
  throw new ConfigError(`there is no data in ${dataDir}: name the directory of a server with --data-dir, or its --kubeconfig`)
}
