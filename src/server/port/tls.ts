/** The TLS certificates of the port, replaced while the server runs when they expire soon or files change. */
import { readFile } from 'node:fs/promises'
import type { Listener, TlsMaterial } from '../../http/listener/listen.ts'
import { failureText } from '../../http/observability/failure-text.ts'
import type { Log } from '../../http/observability/log.ts'
import type { Clock } from '../../lib/clock.ts'
import { hostName, ownAddresses } from '../../lib/environment.ts'
import { addressAt, formatIP, isLinkLocalUnicast, parseCIDR, parseIP } from '../../lib/ip.ts'
import { readNamedPair, readTlsSettings } from '../../lib/tls-settings.ts'
import type { Config } from '../config.ts'
import { writeKubeconfig } from '../credentials/kubeconfig.ts'
import { type Pki, renewalTime } from '../credentials/pki.ts'
import { follow, followFile } from '../files/follow-file.ts'
import { checkCertificates, checkOverlap, checkPair, type OwnFiles } from '../files/own-files.ts'

export type Trusted = { readonly clientCa: string; readonly proxyCa?: string }

export type TlsParts = {
  readonly pki: Pki
  /** Loads or issues the certificates that are needed at a time. */
  readonly load: (now: Date) => Promise<Pki>
  readonly files: Pick<OwnFiles, 'clientCa' | 'server'> & Partial<Pick<OwnFiles, 'proxyCa' | 'named'>>
  readonly listener: Pick<Listener, 'reload' | 'renewCertified'>
  /** Called when the authorities of clients or proxies have changed; PEM. */
  readonly onTrusted?: (trusted: Trusted) => void
  /** Called with renewed certificates. */
  readonly onRenewed?: (pki: Pki) => void
  readonly onRenewal?: (done: Promise<void>) => void
  readonly url: string
  readonly log: Log
  readonly clock: Clock
}

const DAY_MS = 24 * 3600_000

export function tlsMaterial(
  { clientCa = '', proxyCa, server: own, named = [] }: TlsParts['files'],
  { authority, server }: Pki,
  { tlsMinVersion, tlsCipherSuites }: Pick<Config, 'tlsMinVersion' | 'tlsCipherSuites'>,
): TlsMaterial {
  const { minVersion, ciphers } = readTlsSettings({ minVersion: tlsMinVersion, cipherSuites: tlsCipherSuites })
  return {
    ...(own ?? server),
    clientCa: authority.cert + clientCa,
    ...(proxyCa !== undefined && { proxyCa }),
    named,
    minVersion,
    ciphers,
  }
}

/**
 * Checks once a day whether certificates expire soon, and follows the files of the server's certificate and of authorities. New
 * connections use the new ones. Returns a function that stops it.
 */
export function keepTlsFresh(config: Config, parts: TlsParts): () => void {
  const { listener, url, log, clock, load, onTrusted = () => {}, onRenewal = () => {}, onRenewed = () => {} } = parts
  let { pki, files } = parts
  const reload = () => {
    const material = tlsMaterial(files, pki, config)
    const { clientCa, proxyCa } = material
    listener.reload(material)
    onTrusted({ clientCa, ...(proxyCa !== undefined && { proxyCa }) })
  }
  const writeAccess = async () => {
    const ca = files.server?.cert ?? pki.authority.cert
    const { cert, key } = pki.admin
    if (config.kubeconfig !== undefined) await writeKubeconfig(config.kubeconfig, { server: url, ca, cert, key, name: config.contextName })
  }
  const renew = async (now: Date) => {
    pki = await load(now)
    await pki.saved
    onRenewed(pki)
    // Files may have changed since the start, and define the current trust.
    reload()
    await writeAccess()
    log.info({}, 'certificates renewed')
  }
  let isRenewing = false
  const look = () => {
    stopLooking = lookTomorrow()
    const now = new Date(clock.now())
    if (isRenewing || now.getTime() < renewalTime(pki)) return
    isRenewing = true
    const done = renew(now)
      .catch(error => log.error({ error: failureText(error) }, 'certificates could not be renewed; this is tried again tomorrow'))
      .finally(() => {
        isRenewing = false
      })
    onRenewal(done)
  }
  const lookTomorrow = () => clock.after(DAY_MS, look, { isRoutine: true })
  let stopLooking = lookTomorrow()
  const trust = (changed: Pick<OwnFiles, 'clientCa'> | Pick<OwnFiles, 'proxyCa'>) => {
    const next = { ...files, ...changed }
    checkOverlap({ clientCa: next.clientCa, proxyCa: next.proxyCa }, config.requestheaderAllowedNames)
    files = next
    reload()
    // No connection outlives the authority that it was trusted for.
    listener.renewCertified()
  }
  const { clientCaFile, requestheaderClientCaFile, tlsCertFile, tlsPrivateKeyFile } = config
  const following = [
    followAuthorities(clientCaFile, { log, text: files.clientCa, whose: 'clients' }, clientCa => trust({ clientCa })),
    followAuthorities(requestheaderClientCaFile, { log, text: files.proxyCa, whose: 'proxies' }, proxyCa => trust({ proxyCa })),
    followServerPair({ certFile: tlsCertFile, keyFile: tlsPrivateKeyFile }, { log, pair: files.server }, async server => {
      files = { ...files, server }
      reload()
      await writeAccess()
    }),
    ...config.tlsSniCertKeys.map((text, i) =>
      followServerPair(readNamedPair(text), { log, pair: files.named?.[i] }, async pair => {
        files = { ...files, named: files.named?.map((each, at) => (at === i ? { ...each, ...pair } : each)) ?? [] }
        reload()
      }),
    ),
  ]
  return () => {
    stopLooking()
    for (const stop of following) stop()
  }
}

type Followed = { readonly log: Log; readonly text: string | undefined; readonly whose: string }

function followAuthorities(file: string | undefined, { log, text, whose }: Followed, take: (text: string) => void): () => void {
  if (file === undefined) return () => {}
  return followFile(file, {
    text,
    take(text) {
      checkCertificates(text, file)
      take(text)
      log.info({ file }, `the authorities of ${whose} were read again`)
    },
    failed: error => log.warn({ error }, `the authorities of ${whose} could not be read again; those known before are kept`),
  })
}

type PairFiles = { readonly certFile: string | undefined; readonly keyFile: string | undefined }
type Pair = { readonly cert: string; readonly key: string }

/** Two files are seldom replaced at once. Until they match again, the previous pair stays in use. */
function followServerPair(
  { certFile, keyFile }: PairFiles,
  { log, pair }: { readonly log: Log; readonly pair: Pair | undefined },
  take: (pair: Pair) => Promise<void>,
): () => void {
  if (certFile === undefined || keyFile === undefined) return () => {}
  const textOf = ({ cert, key }: Pair) => JSON.stringify([cert, key])
  return follow(async () => textOf({ cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') }), {
    text: pair && textOf(pair),
    async take(text) {
      const [cert, key] = JSON.parse(text) as [string, string]
      await take(checkPair({ cert, key }, { certFile, keyFile }))
      log.info({ file: certFile }, "the server's certificate was read again")
    },
    failed: error => log.warn({ error }, "the server's certificate could not be read again; the one before is shown"),
  })
}

/** Names in the server's certificate: its addresses, the advertised ones, and its names inside a cluster. */
export function certificateNames({ host, advertiseAddress, tlsSans, serviceClusterIpRange }: Config): string[] {
  const service = serviceClusterIpRange.map(range => addressAt(parseCIDR(range)!, 1n)).filter(ip => ip !== undefined)
  const own = isEverywhere(host) ? [hostName(), ...machineAddresses()] : [host]
  return [...own, ...(advertiseAddress === undefined ? [] : [advertiseAddress]), ...tlsSans, ...service.map(formatIP)]
}

/** Addresses of this machine, without link-local ones. */
function machineAddresses(): string[] {
  return ownAddresses()
    .map(({ address }) => address)
    .filter(address => !isLinkLocalUnicast(parseIP(address)!))
}

/** The host of the URL in kubeconfigs: the advertised address, or one that works on this machine. */
export function reachableHost(listening: string, { advertiseAddress }: Pick<Config, 'advertiseAddress'>): string {
  const address = advertiseAddress ?? (isEverywhere(listening) ? '127.0.0.1' : listening)
  return address.includes(':') ? `[${address}]` : address
}

const isEverywhere = (address: string) => address === '0.0.0.0' || address === '::'
