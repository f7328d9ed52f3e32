/** The real servers: kube-apiserver with an etcd of its own, both on one machine, as envtest starts them. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { accessSync, constants, openSync, readFileSync } from 'node:fs'
import { request } from 'node:https'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startEtcd } from '../test/kits/etcd.ts'
import type { Target } from './raw-client.ts'
import { newFolder, type Running } from './servers.ts'

export type Programs = { readonly kubeApiserver: string; readonly etcd: string }

const HOW = `How to get them:
  kube-apiserver, etcd   the programs of envtest (setup-envtest use 1.37.x), or a release of Kubernetes and one of etcd, 3.5 or newer
  from source            in a clone of kubernetes/kubernetes with Go 1.26: go build -trimpath ./cmd/kube-apiserver (all it needs is in vendor/)
Then: npm run bench:compare -- --kube-apiserver PATH --etcd PATH`

/** The programs that are named by flags or are on PATH. Throws with how to get them when one is missing. */
export function programsOf(paths: { readonly 'kube-apiserver'?: string; readonly etcd?: string }): Programs {
  const find = (name: 'kube-apiserver' | 'etcd') => paths[name] ?? onPath(name)
  const [kubeApiserver, etcd] = [find('kube-apiserver'), find('etcd')]
  const missing = [kubeApiserver === undefined && 'kube-apiserver', etcd === undefined && 'etcd'].filter(name => name !== false)
  if (kubeApiserver === undefined || etcd === undefined) throw new Error(`Not found: ${missing.join(' and ')}.\n${HOW}`)
  for (const program of [kubeApiserver, etcd]) if (!isProgram(program)) throw new Error(`${program} is no program.\n${HOW}`)
  return { kubeApiserver, etcd }
}

const onPath = (name: string) =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .map(folder => join(folder, name))
    .find(isProgram)

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The version that a program reports. */
export const versionOf = (program: string): string =>
  /v?(\d+\.\d+\.\d+[\w.-]*)/.exec(spawnSync(program, ['--version']).stdout.toString())?.[1] ?? 'unknown'

export type KubeApiserver = Running & { readonly pids: readonly [apiserver: number, etcd: number] }

/** Starts both; ready when `/readyz` is. Certificates are those of a Keelson that has run in the folder, so that the client is the same. */
export async function startKubeApiserver(programs: Programs, keelsonDir: string, like: Target): Promise<KubeApiserver> {
  const began = performance.now()
  const folder = newFolder()
  const etcd = await startEtcd({ program: programs.etcd, folder, isDurable: true })
  const port = await freePort()
  const pki = (name: string) => join(keelsonDir, 'pki', `${name}.pem`)
  const log = openSync(join(folder, 'kube-apiserver.log'), 'w')
  const flags = [
    `--etcd-servers=${etcd.endpoints.join(',')}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--client-ca-file=${pki('ca')}`,
    `--tls-cert-file=${pki('server')}`,
    `--tls-private-key-file=${pki('server')}`,
    `--service-account-key-file=${pki('server')}`,
    `--service-account-signing-key-file=${pki('server')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    '--service-cluster-ip-range=10.96.0.0/16',
    '--authorization-mode=Node,RBAC',
    `--cert-dir=${folder}`,
  ]
  const child = spawn(programs.kubeApiserver, flags, { stdio: ['ignore', log, log] })
  const target = { ...like, port }
  const ended = new Promise(resolve => child.once('exit', resolve))
  const stop = async () => {
    child.kill('SIGKILL')
    await ended
    await etcd[Symbol.asyncDispose]()
  }
  try {
    await ready(target, child, join(folder, 'kube-apiserver.log'))
  } catch (error) {
    await stop()
    throw error
  }
  const readyMs = performance.now() - began
  return { target, pid: child.pid!, pids: [child.pid!, etcd.members[0]!.pid], readyMs, stop }
}

/** Waits until the server says that it is ready. */
async function ready(target: Target, child: ChildProcess, log: string): Promise<void> {
  while (child.exitCode === null) {
    if ((await statusOf(target, '/readyz')) === 200) return
    await sleep(10)
  }
  throw new Error(`kube-apiserver has ended:\n${readFileSync(log, 'utf8').split('\n').slice(-20).join('\n')}`)
}

const statusOf = (target: Target, path: string): Promise<number> =>
  new Promise(resolve => {
    request({ ...target, servername: 'localhost', path, agent: false }, answer => {
      answer.resume()
      resolve(answer.statusCode ?? 0)
    })
      .on('error', () => resolve(0))
      .end()
  })

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}
