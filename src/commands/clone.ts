/** `keelson clone`: a local server with the objects of another cluster, to try an upgrade, a policy or a drain. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { readServeFlags } from '../flags/read-flags.ts'
import { UsageError } from '../flags/usage-error.ts'
import { isObject } from '../lib/json-value.ts'
import type { CloneChoices } from '../library/clone/cloned-object.ts'
import { closeOwnNode, type Loaded, loadFrom, removeOwnNode } from '../library/clone/load.ts'
import { SourceCluster, SourceError } from '../library/clone/source.ts'
import { type Config, ConfigError } from '../server/config.ts'
import { endpointOfKubeconfig } from '../server/files/webhook-kubeconfig.ts'
import { startServer } from '../server/start.ts'
import { MemoryStore } from '../storage/memory.ts'
import type { Store } from '../storage/store.ts'
import { startChild } from './child.ts'
import type { Command } from './command.ts'
import { type OwnFlags, readOwnFlags } from './own-flags.ts'
import { startWithKit } from './record/start-with-kit.ts'
import { askedToStop, ENDING_WITH_TERMINAL } from './signals.ts'

const FLAGS = { flags: ['from', 'context'], switches: ['include-secrets', 'include-webhooks'] }
const USE = { target: 'a cluster', refusal: 'keelson clone does not connect' }

export const clone: Command = async args => {
  const own = readOwnFlags(args, FLAGS)
  const source = new SourceCluster(endpointOf(own))
  const folder = mkdtempSync(join(tmpdir(), 'keelson-clone-'))
  try {
    await source.discover()
    const config = await configOf(own, { source, folder })
    const store = config.store === 'memory' ? new MemoryStore() : undefined
    const hasOnlyTheirNodes = !own.others.some(arg => /^--nodes(=|$)/.test(arg))
    const loaded = await load(config, { source, store, choices: choicesOf(own), hasOnlyTheirNodes })
    source.close()
    return await serve(config, { store, own, loaded, hasOnlyTheirNodes, from: source.url })
  } catch (error) {
    throw error instanceof SourceError ? new ConfigError(error.message) : error
  } finally {
    source.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The cluster of a kubeconfig: the given one, that of the environment, or that of the user. */
function endpointOf(own: OwnFlags) {
  const file = own.value('from') ?? process.env['KUBECONFIG']?.split(':')[0] ?? join(homedir(), '.kube', 'config')
  if (file === '') throw new UsageError('which cluster? keelson clone --from KUBECONFIG')
  return endpointOfKubeconfig(file, { context: own.value('context'), use: USE })
}

const choicesOf = (own: OwnFlags): CloneChoices => ({ withSecrets: own.has('include-secrets'), withWebhooks: own.has('include-webhooks') })

type Preparing = { readonly source: SourceCluster; readonly folder: string }

async function configOf(own: OwnFlags, { source, folder }: Preparing): Promise<Config> {
  const range = own.others.some(arg => /^--service[-_]cluster[-_]ip[-_]range(=|$)/.test(arg)) ? [] : await serviceRange(source)
  const defaults = ['--store=memory', '--secure-port=0', `--data-dir=${folder}`]
  const { config, apply, processes } = readServeFlags([...defaults, ...range, ...own.others])
  if (processes > 1 || apply.length > 0) throw new UsageError('--processes, --apply: keelson clone takes neither')
  if (config.store === 'etcd')
    throw new UsageError('--store etcd: a clone is in memory, or in a data directory of its own (--store embedded)')
  if (config.store === 'embedded' && existsSync(join(config.dataDir, 'store')))
    throw new ConfigError(`--data-dir ${config.dataDir} has data already; a clone needs a new one`)
  return config
}

/** The addresses of services, so that those of the source stay valid here. */
async function serviceRange(source: SourceCluster): Promise<string[]> {
  if (!source.serves('networking.k8s.io', 'v1', 'servicecidrs')) return []
  const listed = await source.list('/apis/networking.k8s.io/v1/servicecidrs')
  const items = 'items' in listed ? listed.items : []
  const first = items.find(({ metadata }) => isObject(metadata) && metadata['name'] === 'kubernetes')
  const cidrs = isObject(first?.['spec']) ? first['spec']['cidrs'] : undefined
  return Array.isArray(cidrs) && cidrs.length > 0 ? [`--service-cluster-ip-range=${cidrs.join(',')}`] : []
}

type Loading = {
  readonly source: SourceCluster
  readonly store: Store | undefined
  readonly choices: CloneChoices
  /** Whether the nodes are those of the source alone. */
  readonly hasOnlyTheirNodes: boolean
}

/** Without controllers, which would act on objects whose owners are not there yet. */
async function load(config: Config, { source, store, choices, hasOnlyTheirNodes }: Loading): Promise<Loaded> {
  const still = { ...config, controllers: ['none'], nodes: 0, port: 0, kubeconfig: undefined }
  await using server = await startServer(still, store ? { store } : {})
  const loaded = await loadFrom(source, server, choices)
  if (hasOnlyTheirNodes && !loaded.hasOwnNode) await closeOwnNode(server)
  return loaded
}

type Serving = Pick<Loading, 'store' | 'hasOnlyTheirNodes'> & { readonly own: OwnFlags; readonly loaded: Loaded; readonly from: string }

async function serve(config: Config, { store, own, loaded, hasOnlyTheirNodes, from }: Serving): Promise<number> {
  const stop = askedToStop(ENDING_WITH_TERMINAL)
  const { server } = await startWithKit(config, { store, ...(hasOnlyTheirNodes && !loaded.hasOwnNode && { prepare: removeOwnNode }) })
  await using _ = server
  const { objects, nodes, skipped } = loaded
  const secrets = own.has('include-secrets') ? 'secrets as they are' : 'secrets masked'
  process.stderr.write(`cloned ${objects} objects from ${from}, ${nodes} of them nodes that are simulated here; ${secrets}\n`)
  for (const each of skipped) process.stderr.write(`not cloned: ${each}\n`)
  const [program, ...rest] = own.command
  if (program === undefined) {
    process.stdout.write(`${server.url}\nexport KUBECONFIG=${config.kubeconfig}\n`)
    await stop
    return 0
  }
  const child = startChild(program, rest, { KUBECONFIG: config.kubeconfig!, KEELSON_URL: server.url })
  stop.then(signal => child.kill(signal))
  return await child.exited
}
