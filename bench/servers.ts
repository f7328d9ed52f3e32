/** The processes that are measured: Keelson as users run it, and the bare ones beside it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Protocol, Target } from './raw-client.ts'

export type Running = { readonly target: Target; readonly pid: number; readonly readyMs: number; stop(): Promise<void> }

const folders: string[] = []
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-bench-'))
  folders.push(folder)
  return folder
}
export function removeFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
}

const { NODE_EXTRA_CA_CERTS: _, ...others } = process.env
/** Without the authorities that this machine may add to Node's: every start of Node would read them first. */
export const PLAIN_ENVIRONMENT = others

export const NODE_COMMAND = [process.execPath, 'bin/keelson.js']

/** Starts the built command on a new data directory and waits for its ready line. */
export async function startKeelson(
  dir = newFolder(),
  more: readonly string[] = [],
  [program, ...first]: readonly string[] = NODE_COMMAND,
): Promise<Running> {
  const began = performance.now()
  const args = [...first, 'serve', '--data-dir', dir, '--secure-port', '0', ...more]
  const child = spawn(program!, args, { stdio: ['ignore', 'pipe', 'inherit'], env: PLAIN_ENVIRONMENT })
  const line = await firstLine(child)
  const readyMs = performance.now() - began
  const kubeconfig = readFileSync(join(dir, 'admin.kubeconfig'), 'utf8')
  const pem = (name: string) => Buffer.from(new RegExp(`${name}: (\\S+)`).exec(kubeconfig)![1]!, 'base64').toString()
  const port = Number(/:(\d+) {2}kubeconfig/.exec(line)![1])
  const target = {
    host: '127.0.0.1',
    port,
    ca: pem('certificate-authority-data'),
    cert: pem('client-certificate-data'),
    key: pem('client-key-data'),
  }
  return { target, pid: child.pid!, readyMs, stop: () => stop(child) }
}

/** A bare server listens for each protocol on a port of its own. */
export type Bare = { readonly pid: number; at(protocol: Protocol): Target; stop(): Promise<void> }

/** Starts the bare HTTPS server with what it sends for each path, under Keelson's own kind of certificate. */
export const startBare = (keelsonDir: string, bodies: Readonly<Record<string, string>>, like: Target): Promise<Bare> =>
  startBeside('bare-server.ts', keelsonDir, { bodies, like })

/** Starts the bare HTTPS server that stores what it is sent, in a store of its own or in etcd. */
export const startBareWrites = (keelsonDir: string, like: Target, etcd?: string): Promise<Bare> =>
  startBeside('bare-write-server.ts', keelsonDir, { like, ...(etcd !== undefined && { etcd }) })

type Beside = { readonly bodies?: Readonly<Record<string, string>>; readonly like: Target; readonly etcd?: string }

async function startBeside(script: string, keelsonDir: string, { bodies, like, etcd }: Beside): Promise<Bare> {
  const dir = newFolder()
  const pem = readFileSync(join(keelsonDir, 'pki', 'server.pem'), 'utf8')
  const [cert, key, third] = ['cert.pem', 'key.pem', 'third'].map(name => join(dir, name)) as [string, string, string]
  writeFileSync(cert, pem)
  writeFileSync(key, pem)
  if (bodies) writeFileSync(third, JSON.stringify(bodies))
  const child = spawn(process.execPath, ['--import', 'tsx', `bench/${script}`, cert, key, etcd ?? third], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [http1, http2] = (await firstLine(child)).split(' ').map(Number)
  const at = ({ name }: Protocol) => ({ ...like, port: name === 'HTTP/2' ? http2! : http1! })
  return { pid: child.pid!, at, stop: () => stop(child) }
}

/** Writes per second of the bare store. */
export async function bareStore(
  value: Buffer,
  { writers, seconds, mode }: { writers: number; seconds: number; mode: 'create' | 'replace' },
): Promise<number> {
  const dir = newFolder()
  const file = join(dir, 'value')
  writeFileSync(file, value)
  const args = ['--import', 'tsx', 'bench/bare-store.ts', join(dir, 'store'), file, String(writers), String(seconds), mode]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  return Number(await firstLine(child))
}

/** Processor seconds a process has used so far. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** Resident memory of a process, in MB. */
export const residentMB = (pid: number): number => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024

async function firstLine(child: ChildProcess): Promise<string> {
  let text = ''
  for await (const chunk of child.stdout!) {
    text += chunk
    if (text.includes('\n')) return text.slice(0, text.indexOf('\n'))
  }
  throw new Error(`the process ended before it said anything: ${text}`)
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = new Promise(resolve => child.once('exit', resolve))
  child.kill('SIGTERM')
  await ended
}
