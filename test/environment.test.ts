/** Time, chance, turns of the event loop and the name of the machine come from `src/lib/environment.ts`, except at the edge of the server. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

/** Files and folders that a simulation does not run, or that need the system's own, with the reason. */
const EDGE: readonly { readonly paths: readonly string[]; readonly why: string }[] = [
  { paths: ['src/lib/environment.ts'], why: 'it is the one place' },
  { paths: ['src/http/listener/', 'src/http/sessions/', 'src/transport/', 'src/nodes/connect/', 'src/nodes/probe/'], why: 'sockets' },
  { paths: ['src/nodes/process/'], why: 'local processes' },
  { paths: ['src/storage/embedded/', 'src/storage/processes/'], why: 'files, threads and processes' },
  { paths: ['src/server/processes/', 'src/lib/worker-pool.ts'], why: 'other processes and threads' },
  { paths: ['src/server/files/', 'src/http/console/static-files.ts', 'src/audit/log-sink.ts'], why: 'files' },
  { paths: ['src/lib/private-files.ts', 'src/lib/compiled-code.ts'], why: 'names and times of files' },
  { paths: ['src/lib/x509/', 'src/server/credentials/', 'src/http/console/secret.ts', 'src/lib/trace-context.ts'], why: 'keys and ids' },
  { paths: ['src/nodes/pod/pod-certificates.ts'], why: 'keys, which a pool of threads makes' },
  {
    paths: ['src/encryption/', 'src/server/data/folder-encryption.ts', 'src/server/data/open-encryption.ts'],
    why: 'keys, nonces, plugins',
  },
  { paths: ['src/http/observability/profile.ts'], why: 'measures this process' },
  {
    paths: [
      'src/server/doctor/',
      'src/server/data/inspect-records.ts',
      'src/commands/',
      'src/library/',
      'src/controller-library/index.ts',
      'src/controller-library/remote-events.ts',
      'src/controller-library/remote-leases.ts',
    ],
    why: 'not part of a server',
  },
]

const DIRECT =
  /\bDate\.now\b|\bnew Date\(\)|\bperformance\.(?:now|timeOrigin)\b|\bMath\.random\b|\brandom(?:UUID|FillSync)\b|\bgetRandomValues\b|\bgenerateKeyPair(?:Sync)?\b|\bcreateECDH\b|(?<![.\w])set(?:Timeout|Interval|Immediate)\b|timers\/promises|AbortSignal\.(?:timeout|any)|random(?:Bytes|Int)\b[^'"]*from 'node:crypto'|\b(?:hostname|networkInterfaces)\(\)/

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .map(file => join('src', file))
  .filter(file => /(?<!\.test|\.d)\.ts$/.test(file))

/** The code of a file, comments aside. */
const codeOf = (file: string): string => readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')

/** Whether code uses the system's time, chance, event loop or name. */
const usesSystem = (file: string): boolean => DIRECT.test(codeOf(file))

test('only the edge of the server reads time, chance, the event loop and the name of the system', () => {
  const isEdge = (file: string) =>
    EDGE.some(({ paths }) => paths.some(path => file === path || (path.endsWith('/') && file.startsWith(path))))
  assert.deepEqual(
    sources.filter(file => !isEdge(file) && usesSystem(file)),
    [],
  )
})

test('every exception is needed', () => {
  const unused = EDGE.flatMap(({ paths }) => paths).filter(path => !sources.some(file => file.startsWith(path) && usesSystem(file)))
  assert.deepEqual(unused, [])
})

test('generated keys come encoded: as objects they may deadlock (src/lib/x509/new-key.ts)', () => {
  const generating = sources.filter(file => /\bgenerateKeyPair(?:Sync)?\b/.test(codeOf(file)))
  assert.deepEqual(generating, ['src/nodes/pod/pod-certificates.ts'])
  for (const file of generating) assert.match(codeOf(file), /publicKeyEncoding.*privateKeyEncoding/)
})

/** Folders between the port and the store: they only calculate, and wait for each other. */
const INNER = [
  'admission',
  'allocation',
  'authz',
  'cache',
  'client',
  'codec',
  'controllers',
  'custom',
  'devices',
  'kinds',
  'patch',
  'registry',
]
const INNER_FOLDERS = [...INNER, 'scheduler', 'schema', 'structural'].map(name => `src/${name}/`)
/** Inner files that reach outside, with the reason. */
const REACHING: readonly { readonly path: string; readonly why: string }[] = [
  { path: 'src/admission/manifest-configuration.ts', why: 'looks for the folder of manifests' },
  { path: 'src/scheduler/configuration/extenders.ts', why: 'reads certificates of extenders' },
]
const MACHINE =
  /import (?!type)(?!\{ isIP \})[^\n]*from 'node:(?:fs|fs\/promises|net|tls|http|https|http2|dns|dgram|child_process|worker_threads)'|\b(?:generateKeyPair|createGzip|createGunzip|gzip|gunzip|deflate|inflate|brotliCompress|pbkdf2|scrypt)\(/

const usesMachine = (file: string): boolean => MACHINE.test(codeOf(file))

test('no file, socket, thread or process is used between the port and the store', () => {
  const found = sources.filter(file => INNER_FOLDERS.some(folder => file.startsWith(folder)) && usesMachine(file))
  assert.deepEqual(
    found,
    REACHING.map(({ path }) => path),
  )
})
