/** Starts real etcd clusters for tests, and simulates failures of machines and networks. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type EtcdClusterOptions = {
  readonly program: string
  readonly members?: number
  /** Further flags of every member. */
  readonly flags?: readonly string[]
  /** The data folder. Default: in memory. */
  readonly folder?: string
  /** Whether writes are synced to disk, as in production. */
  readonly isDurable?: boolean
  /** Files of a server certificate, its key, and the client certificate authority. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly clientCa?: string }
}

export type EtcdMember = {
  readonly name: string
  readonly endpoint: string
  readonly pid: number
  /** kill -9; resolves when it has exited. */
  kill(): Promise<void>
  /** SIGSTOP and SIGCONT. */
  pause(): void
  resume(): void
  /** Starts it again with its data. */
  restart(): Promise<void>
  /** Its data folder, and the flags with which `etcdctl snapshot restore` creates data of a snapshot for it. */
  readonly dataDir: string
  readonly restoreFlags: readonly string[]
  log(): string
}

export type EtcdCluster = AsyncDisposable & { readonly endpoints: readonly string[]; readonly members: readonly EtcdMember[] }

/** In memory if possible: these tests are about responses of etcd, not about disks. */
const base = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/** Starts a cluster and waits until it serves clients. Ports that other processes take first are replaced. */
export async function startEtcd(options: EtcdClusterOptions): Promise<EtcdCluster> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(options)
    } catch (error) {
      if (attempt === 5 || !/address already in use/.test(String(error))) throw error
    }
  }
}

async function startOnce({
  program,
  members: count = 1,
  flags = [],
  folder: parent = base,
  isDurable = false,
  tls,
}: EtcdClusterOptions): Promise<EtcdCluster> {
  const folder = mkdtempSync(join(parent, 'keelson-etcd-'))
  const ports = await freePorts(2 * count)
  const scheme = tls ? 'https' : 'http'
  const names = Array.from({ length: count }, (_, i) => `m${i}`)
  const peerOf = (i: number) => `http://127.0.0.1:${ports[count + i]}`
  const initialCluster = names.map((other, j) => `${other}=${peerOf(j)}`).join(',')
  const members = names.map((name, i) => {
    const endpoint = `${scheme}://127.0.0.1:${ports[i]}`
    const dataDir = join(folder, name)
    const asMember = ['--name', name, '--initial-advertise-peer-urls', peerOf(i), '--initial-cluster', initialCluster]
    return new Member(program, {
      name,
      endpoint,
      logFile: join(folder, `${name}.log`),
      dataDir,
      restoreFlags: asMember,
      flags: [
        ...asMember,
        ...['--data-dir', dataDir, '--initial-cluster-token', folder],
        ...['--listen-client-urls', endpoint, '--advertise-client-urls', endpoint, '--listen-peer-urls', peerOf(i)],
        // Elections are quick with one member, and tolerant on a busy machine with several.
        ...(count === 1
          ? ['--heartbeat-interval', '10', '--election-timeout', '100']
          : ['--heartbeat-interval', '50', '--election-timeout', '500']),
        // As large as the largest object of ours.
        ...['--max-request-bytes', `${9 << 20}`],
        ...(isDurable ? [] : ['--unsafe-no-fsync']),
        ...(tls ? ['--cert-file', tls.cert, '--key-file', tls.key] : []),
        ...(tls?.clientCa === undefined ? [] : ['--client-cert-auth', '--trusted-ca-file', tls.clientCa]),
        ...flags,
      ],
    })
  })
  const stop = async () => {
    await Promise.all(members.map(member => member.kill()))
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await Promise.all(members.map(member => member.start()))
  } catch (error) {
    await stop()
    throw error
  }
  return { endpoints: members.map(({ endpoint }) => endpoint), members, [Symbol.asyncDispose]: stop }
}

type MemberOptions = Pick<EtcdMember, 'name' | 'endpoint' | 'dataDir' | 'restoreFlags'> & {
  readonly flags: readonly string[]
  readonly logFile: string
}

class Member implements EtcdMember {
  readonly name: string
  readonly endpoint: string
  readonly dataDir: string
  readonly restoreFlags: readonly string[]
  readonly #program: string
  readonly #flags: readonly string[]
  readonly #logFile: string
  #process: ChildProcess | undefined

  constructor(program: string, options: MemberOptions) {
    this.#program = program
    this.name = options.name
    this.endpoint = options.endpoint
    this.dataDir = options.dataDir
    this.restoreFlags = options.restoreFlags
    this.#flags = options.flags
    this.#logFile = options.logFile
  }

  get pid(): number {
    return this.#process!.pid!
  }

  log(): string {
    return readFileSync(this.#logFile, 'utf8')
  }

  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      const child = spawn(this.#program, this.#flags, {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { ...process.env, ETCD_UNSUPPORTED_ARCH: process.arch },
      })
      this.#process = child
      // Opened now: the folder may be removed soon.
      const kept = createWriteStream(this.#logFile, { fd: openSync(this.#logFile, 'a') })
      let said = ''
      child.stderr!.on('data', (chunk: Buffer) => {
        kept.write(chunk)
        if (said === 'ready') return
        said += chunk.toString()
        if (!said.includes('ready to serve client requests')) return
        said = 'ready'
        resolve()
      })
      child.once('error', reject)
      child.once('exit', () => {
        kept.end()
        reject(new Error(`etcd ${this.name} ended: ${said.slice(-2000)}`))
      })
    })
  }

  async kill(): Promise<void> {
    const child = this.#process
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise(resolve => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
  }

  pause(): void {
    this.#process!.kill('SIGSTOP')
  }

  resume(): void {
    this.#process!.kill('SIGCONT')
  }

  async restart(): Promise<void> {
    await this.kill()
    await this.start()
  }
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, () => {
      const server = createServer()
      return new Promise<typeof server>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', () => resolve(server)))
    }),
  )
  const ports = servers.map(server => (server.address() as { port: number }).port)
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))))
  return ports
}
