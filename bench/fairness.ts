/** Fairness: how much one client with a thousand requests in flight slows another. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { configMap } from './objects.ts'
import { requestBytes, run, type Target, withToken } from './raw-client.ts'
import { newFolder, startKeelson } from './servers.ts'

export type Fair = { readonly name: string; readonly alone: number; readonly beside: number; readonly flood: string }

const NS = '/api/v1/namespaces/default/configmaps'
const IN_FLIGHT = 1000
/** The speed of the machine varies: the median round is reported. */
const ROUNDS = 3
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'
/** Both clients are authorized by a role, as users are. */
const BINDING = {
  metadata: { name: 'bench' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: ['flood', 'quiet'].map(name => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name })),
}
const TOKENS = 'flood-token,flood,1,\nquiet-token,quiet,2,\n'

/** The p99 of a client that gets one object after the other, alone and beside the flood, for each kind of flood; alternating, for so many seconds each. */
export async function fairness(seconds: number): Promise<Fair[]> {
  const files = newFolder()
  const tokenFile = join(files, 'tokens.csv')
  writeFileSync(tokenFile, TOKENS)
  const server = await startKeelson(newFolder(), ['--token-auth-file', tokenFile])
  const { host, port, ca } = server.target
  const caFile = join(files, 'ca.pem')
  writeFileSync(caFile, ca)
  const quiet: Target = { host, port, ca }
  try {
    await run(server.target, {
      request: () => requestBytes('POST', BINDINGS, JSON.stringify(BINDING)),
      connections: 1,
      seconds: 60,
      requests: 1,
    })
    await run(server.target, {
      request: iteration => requestBytes('POST', NS, configMap(`cm-${iteration}`, iteration)),
      connections: 32,
      seconds: 60,
      requests: 500,
    })
    const results: Fair[] = []
    for (const [name, method, path, body, ask] of [
      ['GET beside GETs', 'GET', `${NS}/cm-7`, '', get],
      ['GET beside pages of 100', 'GET', `${NS}?limit=100`, '', get],
      ['GET beside patches', 'PATCH', `${NS}/cm-INDEX`, '{"data":{"other":"INDEX"}}', get],
      ['patch beside patches', 'PATCH', `${NS}/cm-INDEX`, '{"data":{"other":"INDEX"}}', patch],
    ] as const) {
      const measure = async () => {
        const { p99, failures } = await run(quiet, { request: ask, connections: 4, seconds })
        if (failures > 0) throw new Error(`${failures} requests of the quiet client failed`)
        return p99
      }
      await measure()
      const rounds: Fair[] = []
      for (let i = 0; i < ROUNDS; i++) {
        const alone = await measure()
        const flood = await startFlood([`https://${host}:${port}`, caFile, 'flood-token', method, path, body, String(IN_FLIGHT)])
        await sleep(500)
        const beside = await measure()
        rounds.push({ name, alone, beside, flood: await endFlood(flood) })
      }
      rounds.sort((a, b) => a.beside / a.alone - b.beside / b.alone)
      results.push(rounds[Math.floor(ROUNDS / 2)]!)
    }
    return results
  } finally {
    await server.stop()
  }
}

const GET = withToken(requestBytes('GET', `${NS}/cm-9`), 'quiet-token')
const get = () => GET
const patch = (iteration: number) =>
  withToken(
    requestBytes('PATCH', `${NS}/cm-${10 + (iteration % 50)}`, `{"data":{"turn":"q${iteration}"}}`, 'application/merge-patch+json'),
    'quiet-token',
  )

/** The server is measured, not how clients compete for the CPU: where possible, the flood runs at idle priority. */
const LOWEST_PRIORITY = spawnSync('chrt', ['--version']).status === 0 ? ['chrt', '--idle', '0'] : ['nice', '-n', '19']

async function startFlood(args: readonly string[]): Promise<ChildProcess> {
  const [command, ...rest] = [...LOWEST_PRIORITY, process.execPath, '--import', 'tsx', 'bench/flood.ts', ...args]
  const child = spawn(command!, rest, { stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise(resolve => child.stdout!.once('data', resolve))
  return child
}

async function endFlood(child: ChildProcess): Promise<string> {
  let said = ''
  child.stdout!.on('data', chunk => {
    said += chunk
  })
  if (child.exitCode !== null) throw new Error('the flood ended before it was stopped')
  const ended = new Promise(resolve => child.once('close', resolve))
  child.kill('SIGTERM')
  await ended
  return said.trim()
}
