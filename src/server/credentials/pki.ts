/** The server's certificate authority and certificates: created at first start, kept in the data directory, renewed before they expire. */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolders } from '../../lib/folders.ts'
import { parseIP } from '../../lib/ip.ts'
import { writePrivateFile } from '../../lib/private-files.ts'
import { issueAuthority, issueClient, issueServer, type KeyPair, type Subject, type Validity } from '../../lib/x509/issue.ts'
import { newKey } from '../../lib/x509/new-key.ts'

export type Pki = {
  readonly authority: KeyPair
  readonly server: KeyPair
  readonly admin: KeyPair
  /** Identifies this server to kubelets. Its user has no rights in this API; each kubelet decides about its rights there. */
  readonly kubeletClient: KeyPair
  /** Identifies this server to aggregated servers: with its own authority, so that no client certificate can pass for it. */
  readonly proxyAuthority: KeyPair
  readonly proxyClient: KeyPair
  /** Resolves when everything new is on disk. */
  readonly saved: Promise<unknown>
}

export type PkiOptions = {
  /** The folder of keys and certificates; undefined keeps them in memory alone. */
  readonly directory: string | undefined
  /** Keeps key pairs between calls that are in no directory, so that an authority stays the same. */
  readonly memory?: Map<string, KeyPair>
  /** The keys that all servers over one store share, by name; such servers write no others to a directory. */
  readonly shared?: ReadonlyMap<string, string> | undefined
  /** Names and addresses by which clients reach the server, in addition to the fixed ones. */
  readonly names: readonly string[]
  readonly now: Date
}

const DAY = 24 * 3_600_000
const AUTHORITY_DAYS = 3650
const LEAF_DAYS = 365
/** The share of its lifetime at which a certificate is renewed. */
const RENEW_AT = 1 / 3
/** Clocks differ: a new certificate must be valid for a client whose clock is behind. */
const SKEW_MS = 3_600_000
/** The names of the server inside a cluster. */
const CLUSTER_NAMES = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'kubernetes.default.svc.cluster.local']
/** Earlier versions issued other subjects; a kept certificate with one of those is replaced, and remains valid until it expires. */
const ADMIN = { commonName: 'kubernetes-admin', organizations: ['system:masters'] }
const ADMIN_SUBJECT = 'O=system:masters\nCN=kubernetes-admin'
/** The user of this server at kubelets, named as kubeadm names it, in no group. */
export const KUBELET_CLIENT = 'kube-apiserver-kubelet-client'
/** The user of this server at aggregated servers. */
export const PROXY_CLIENT = 'front-proxy-client'
/** Not the name of the server: a certificate with the name of its issuer would be taken for self-signed. */
const AUTHORITIES = { ca: 'keelson-ca', 'front-proxy-ca': 'front-proxy-ca' } as const
const TOKEN_KEY = 'service-accounts'
const LOCAL_NAMES = ['localhost', '127.0.0.1', '::1']

/** Loads existing certificates that are still valid, and issues the rest. Called again later, it renews those that expire soon. */
export function loadPki({ directory, memory = new Map(), shared, names, now }: PkiOptions): Pki {
  const folder = directory === undefined || shared ? undefined : join(directory, 'pki')
  if (folder !== undefined) makeFolders(folder, 0o700)
  const saves: Promise<void>[] = []
  const keep = shared ? sharedKeys(shared, memoryKeeper(memory)) : folder === undefined ? memoryKeeper(memory) : keeper(folder, saves)
  const allNames = [...new Set([...LOCAL_NAMES, ...CLUSTER_NAMES, ...names])]
  const authority = keep(
    'ca',
    pair => isFresh(pair, now),
    () => issueAuthority(AUTHORITIES.ca, validity(now, AUTHORITY_DAYS)),
  )
  const isOurs = (pair: KeyPair) => isFresh(pair, now) && isIssuedBy(pair, authority)
  const server = keep(
    'server',
    pair => isOurs(pair) && covers(pair, allNames),
    () => issueServer(authority, 'keelson', { names: allNames, ...leafValidity(now, authority) }),
  )
  const admin = keep(
    'admin',
    pair => isOurs(pair) && certificateOf(pair).subject === ADMIN_SUBJECT,
    () => issueClient(authority, ADMIN, leafValidity(now, authority)),
  )
  const kubeletClient = keep(
    'apiserver-kubelet-client',
    pair => isOurs(pair) && certificateOf(pair).subject === `CN=${KUBELET_CLIENT}`,
    () => issueClient(authority, { commonName: KUBELET_CLIENT }, leafValidity(now, authority)),
  )
  const proxyAuthority = keep(
    'front-proxy-ca',
    pair => isFresh(pair, now),
    () => issueAuthority(AUTHORITIES['front-proxy-ca'], validity(now, AUTHORITY_DAYS)),
  )
  const proxyClient = keep(
    'front-proxy-client',
    pair => isFresh(pair, now) && isIssuedBy(pair, proxyAuthority),
    () => issueClient(proxyAuthority, { commonName: PROXY_CLIENT }, leafValidity(now, proxyAuthority)),
  )
  return { authority, server, admin, kubeletClient, proxyAuthority, proxyClient, saved: Promise.all(saves) }
}

/** A certificate for a user, valid for as long as those of the server. */
export const certify = ({ authority }: Pki, subject: Subject, now: Date): KeyPair =>
  issueClient(authority, subject, leafValidity(now, authority))

/** The key that signs service account tokens, in PEM: created once and kept, since tokens are only valid as long as it is. */
export function loadTokenKey(
  directory: string | undefined,
  shared?: ReadonlyMap<string, string>,
): { readonly key: string; readonly saved: Promise<void> } {
  const common = shared?.get(TOKEN_KEY)
  if (common !== undefined) return { key: common, saved: Promise.resolve() }
  const folder = directory === undefined ? undefined : join(directory, 'pki')
  if (folder !== undefined) makeFolders(folder, 0o700)
  const file = folder && join(folder, `${TOKEN_KEY}.pem`)
  const kept = file === undefined ? undefined : readIfThere(file)
  if (kept !== undefined) return { key: kept, saved: Promise.resolve() }
  const key = newKey().pem
  return { key, saved: file === undefined ? Promise.resolve() : writePrivateFile(file, key) }
}

/** The keys that servers over one store share: by name, how to check a stored one, and how to create one; PEM. */
export const SHARED_KEYS: ReadonlyMap<string, { isGood(text: string, now: Date): boolean; make(now: Date): string }> = new Map([
  ...Object.entries(AUTHORITIES).map(([name, commonName]) => {
    const make = (now: Date) => {
      const { cert, key } = issueAuthority(commonName, validity(now, AUTHORITY_DAYS))
      return cert + key
    }
    return [name, { isGood: (text: string, now: Date) => isFresh(pairIn(text, name), now), make }] as const
  }),
  [TOKEN_KEY, { isGood: () => true, make: () => newKey().pem }],
])

/** The time at which the first certificate should be renewed, in milliseconds since the epoch. */
export function renewalTime({ authority, server, admin, kubeletClient, proxyAuthority, proxyClient }: Omit<Pki, 'saved'>): number {
  return Math.min(...[authority, server, admin, kubeletClient, proxyAuthority, proxyClient].map(pair => lifeOf(pair).renew))
}

type Keep = (name: string, isGood: (pair: KeyPair) => boolean, issue: () => KeyPair) => KeyPair

/** Keeps key pairs in a folder: returns the kept one if it is still valid, otherwise a new one. Key and certificate are in one file, so they always match. */
const keeper =
  (folder: string, saves: Promise<void>[]): Keep =>
  (name, isGood, issue) => {
    const file = join(folder, `${name}.pem`)
    const kept = readPair(file)
    if (kept !== undefined && isGood(kept)) return kept
    const made = issue()
    saves.push(writePrivateFile(file, made.cert + made.key))
    return made
  }

const memoryKeeper =
  (memory: Map<string, KeyPair>): Keep =>
  (name, isGood, issue) => {
    const kept = memory.get(name)
    if (kept !== undefined && isGood(kept)) return kept
    const made = issue()
    memory.set(name, made)
    return made
  }

/** Uses the shared keys, and issues the other certificates at every start. */
const sharedKeys =
  (shared: ReadonlyMap<string, string>, others: Keep): Keep =>
  (name, isGood, issue) => {
    const text = shared.get(name)
    return text === undefined ? others(name, isGood, issue) : pairIn(text, name)
  }

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function readPair(file: string): KeyPair | undefined {
  const text = readIfThere(file)
  return text === undefined ? undefined : pairIn(text, file)
}

function pairIn(text: string, from: string): KeyPair {
  const [cert] = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n/.exec(text) ?? []
  const [key] = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n/.exec(text) ?? []
  if (cert === undefined || key === undefined)
    throw new Error(`${from} does not hold a certificate and a key; remove it to have new ones made`)
  return { cert, key }
}

/** Clients use the clock of their machine: a certificate is valid for them at once, even if a test has advanced the server's clock. */
const validity = (now: Date, days: number): Validity => ({
  notBefore: new Date(Math.min(now.getTime(), Date.now()) - SKEW_MS),
  notAfter: new Date(now.getTime() + days * DAY),
})

/** A certificate expires no later than its issuer. */
function leafValidity(now: Date, authority: KeyPair): Validity {
  const { notBefore, notAfter } = validity(now, LEAF_DAYS)
  return { notBefore, notAfter: new Date(Math.min(notAfter.getTime(), lifeOf(authority).end)) }
}

/** Parsed once, as each is looked at several times, and again by the next server with the same pair. */
const CERTIFICATES = new WeakMap<KeyPair, X509Certificate>()

function certificateOf(pair: KeyPair): X509Certificate {
  const certificate = CERTIFICATES.get(pair) ?? new X509Certificate(pair.cert)
  CERTIFICATES.set(pair, certificate)
  return certificate
}

function lifeOf(pair: KeyPair): { start: number; renew: number; end: number } {
  const { validFrom, validTo, ca } = certificateOf(pair)
  const start = Date.parse(validFrom)
  const end = Date.parse(validTo)
  const life = Math.min(end - start, (ca ? AUTHORITY_DAYS : LEAF_DAYS) * DAY)
  return { start, end, renew: end - life * RENEW_AT }
}

function isFresh(pair: KeyPair, now: Date): boolean {
  const { start, renew } = lifeOf(pair)
  return start <= now.getTime() && now.getTime() < renew
}

function isIssuedBy(pair: KeyPair, authority: KeyPair): boolean {
  const [issuer, issued] = [certificateOf(authority), certificateOf(pair)]
  return issued.checkIssued(issuer) && issued.verify(issuer.publicKey)
}

function covers(pair: KeyPair, names: readonly string[]): boolean {
  const issued = certificateOf(pair)
  return names.every(name => (parseIP(name) ? issued.checkIP(name) : issued.checkHost(name.replace(/^\*/, 'any'))) !== undefined)
}
