/**
 * `keelson kube-apiserver`: accepts the flags of kube-apiserver, for harnesses that start one. Controllers and simulated nodes are off unless
 * they are named, as they are not part of kube-apiserver. The data directory is that of the stand-in for etcd; or the store is a real etcd.
 */
import { existsSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { FLAGS } from '../flags/serve-flags.ts'
import { makeFolders } from '../lib/folders.ts'
import { replaceFile } from '../lib/private-files.ts'
import { issueAuthority, issueServer } from '../lib/x509/issue.ts'
import { ConfigError } from '../server/config.ts'
import { trustPlace } from '../server/files/trusted-files.ts'
import type { Command } from './command.ts'
import { MISSED, SWITCHES, WITHOUT_MEANING } from './kube-apiserver-flags.ts'
import { serve } from './serve.ts'

/** Flags with a meaning only for this command, not for `keelson serve`. */
const OWN = ['cert-dir', 'etcd-servers']
/** Flags with a meaning only on a real etcd. A server on the stand-in has no peers, and test harnesses may pass them all the same. */
const ABOUT_PEERS = /^--peer-/

export const kubeApiServer: Command = async args => {
  if (args.some(arg => ['--help', '-h'].includes(arg))) return print(help())
  if (args.some(arg => /^--version(=true)?$/.test(arg))) return print('Kubernetes v1.37.0\n')
  const { own, passed, warnings } = translate(args)
  for (const warning of warnings) process.stderr.write(`kube-apiserver: ${warning}\n`)
  const servers = own['etcd-servers']?.split(',') ?? []
  if (servers.length === 0) throw new ConfigError('--etcd-servers must be specified')
  const isGiven = (name: string) => passed.some(flag => flag.startsWith(`--${name}=`))
  const certificates = isGiven('tls-cert-file') ? [] : certificatesIn(own['cert-dir'], passed)
  // Sets kube-apiserver's defaults where ours differ, except for the address: a server for tests should not be open to the whole network.
  const modes = isGiven('authorization-mode') || isGiven('authorization-config') ? [] : ['--authorization-mode=AlwaysAllow']
  const components = [
    ...(isGiven('controllers') || isGiven('nodes') ? [] : ['--controllers=none']),
    ...(isGiven('nodes') ? [] : ['--nodes=0']),
    ...(isGiven('console') ? [] : ['--console=false']),
  ]
  const store = await storeFlags(servers)
  const meant = store.includes('--store=etcd') ? passed : passed.filter(flag => !ABOUT_PEERS.test(flag))
  return await serve([...modes, ...store, ...certificates, ...meant, ...components])
}

type Translation = {
  readonly own: Readonly<Record<string, string>>
  readonly passed: readonly string[]
  readonly warnings: readonly string[]
}

/** Sorts flags by their treatment; throws ConfigError for one that kube-apiserver does not have. */
export function translate(args: readonly string[]): Translation {
  const own: Record<string, string> = {}
  const passed: string[] = []
  const warnings: string[] = []
  for (let i = 0; i < args.length; i++) {
    const [, name = '', , inline] = /^--([A-Za-z0-9_-]+)(=([\s\S]*))?$/.exec(args[i]!) ?? []
    const flag = name.replaceAll('_', '-')
    if (/^-v(=?\d+)?$/.test(args[i]!) || flag === 'v') {
      if (inline === undefined && !/\d$/.test(args[i]!)) i++
      continue
    }
    const known = FLAGS.find(f => f.name === flag)
    if (!known && !OWN.includes(flag) && !WITHOUT_MEANING.has(flag) && !Object.hasOwn(MISSED, flag))
      throw new ConfigError(`unknown flag: ${args[i]}`)
    // A switch has a value only after an equals sign.
    const isSwitch = known ? known.isSwitch : SWITCHES.has(flag)
    const value = inline ?? (isSwitch ? 'true' : args[++i])
    if (value === undefined) throw new ConfigError(`flag needs an argument: --${flag}`)
    if (OWN.includes(flag)) own[flag] = value
    else if (known) passed.push(`--${flag}=${value}`)
    else if (Object.hasOwn(MISSED, flag) && value !== '') warnings.push(`--${flag} has no effect: ${MISSED[flag]}`)
  }
  return { own, passed, warnings }
}

/** How long the stand-in for etcd may take to start. */
const TIMEOUT_MS = 20_000

/** The flags for the store at the address of etcd. */
async function storeFlags(servers: readonly string[]): Promise<string[]> {
  const [first] = servers as [string]
  const until = performance.now() + TIMEOUT_MS
  for (;;) {
    const asked = await ask(first)
    if (asked === 'other') return ['--store=etcd', `--etcd-servers=${servers.join(',')}`]
    if (asked !== undefined) return ['--store=embedded', `--data-dir=${join(asked.dataDir, 'keelson')}`]
    if (performance.now() > until) throw new ConfigError(`nothing answers at ${first}, which --etcd-servers names`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

/** The server at an address: the stand-in with its folder, another one, or none yet. */
function ask(server: string): Promise<{ readonly dataDir: string } | 'other' | undefined> {
  if (!server.startsWith('http://')) return Promise.resolve('other')
  return new Promise(resolve => {
    const request = get(new URL('/keelson', server.replace('//0.0.0.0:', '//127.0.0.1:')), { timeout: 1000 }, answer => {
      let text = ''
      answer.setEncoding('utf8').on('data', part => (text += part))
      answer.on('error', () => resolve(undefined))
      answer.on('end', () => resolve(answer.statusCode === 200 ? readAnswer(text) : 'other'))
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(undefined))
  })
}

function readAnswer(text: string): { readonly dataDir: string } | 'other' {
  try {
    const { dataDir } = JSON.parse(text)
    return typeof dataDir === 'string' ? { dataDir } : 'other'
  } catch {
    return 'other'
  }
}

const DAY_MS = 24 * 3_600_000

/** The certificate in a folder, created if absent, with kube-apiserver's file names. */
function certificatesIn(folder: string | undefined, passed: readonly string[]): string[] {
  if (folder === undefined || folder === '') return []
  const [cert, key] = [join(folder, 'apiserver.crt'), join(folder, 'apiserver.key')]
  for (const path of [folder, cert, key]) trustPlace(path)
  if (!existsSync(cert) || !existsSync(key)) {
    const now = Date.now()
    const validity = { notBefore: new Date(now - 3_600_000), notAfter: new Date(now + 365 * DAY_MS) }
    const authority = issueAuthority(`keelson-ca@${Math.floor(now / 1000)}`, validity)
    const addresses = passed.flatMap(flag => /^--(?:bind|advertise)-address=(.+)$/.exec(flag)?.[1] ?? [])
    const names = [...new Set(['localhost', '127.0.0.1', ...addresses.filter(address => address !== '0.0.0.0' && address !== '::')])]
    const made = issueServer(authority, 'kube-apiserver', { names, ...validity })
    makeFolders(folder, 0o755)
    replaceFile(key, made.key)
    replaceFile(cert, made.cert + authority.cert, 0o644)
  }
  return [`--tls-cert-file=${cert}`, `--tls-private-key-file=${key}`]
}

/** One flag per line, as harnesses expect. */
function help(): string {
  const known = FLAGS.map(({ name, takes, doc }) => [`--${name} ${takes}`, doc])
  const missed = Object.entries(MISSED).map(([name, problem]) => [`--${name} string`, `has no effect: ${problem}`])
  const ignored = [...WITHOUT_MEANING].map(name => [SWITCHES.has(name) ? `--${name}` : `--${name} string`, 'accepted without effect'])
  const own = [
    ['--cert-dir string', 'folder of apiserver.crt and apiserver.key, which are created if absent'],
    ['--etcd-servers strings', 'URL of the included stand-in for etcd, or URLs of a real etcd'],
  ]
  const lines = [...own, ...known, ...missed, ...ignored].sort(([a = ''], [b = '']) => (a < b ? -1 : 1))
  return `Keelson in place of kube-apiserver 1.37.\n\nUsage:\n  kube-apiserver [flags]\n\nFlags:\n${lines
    .map(([flag = '', doc]) => `      ${flag.padEnd(50)} ${doc}`)
    .join('\n')}\n`
}

function print(text: string): 0 {
  process.stdout.write(text)
  return 0
}
