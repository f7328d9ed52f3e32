/** The TLS certificates of the port, replaced while the server runs when they expire soon or files change. */
import { hostname, networkInterfaces } from 'node:os'
import type { Listener, TlsMaterial } from '../../http/listener/listen.ts'
import { failureText } from '../../http/observability/failure-text.ts'
import type { Log } from '../../http/observability/log.ts'
import type { Clock } from '../../lib/clock.ts'
import { addressAt, formatIP, isLinkLocalUnicast, parseCIDR, parseIP } from '../../lib/ip.ts'
import type { Config } from '../config.ts'
import { writeKubeconfig } from '../credentials/kubeconfig.ts'
import { type Pki, renewalTime } from '../credentials/pki.ts'
import { followFile } from '../files/follow-file.ts'
import { checkCertificates, type OwnFiles } from '../files/own-files.ts'

export type TlsParts = {
  readonly pki: Pki
  /** Loads or issues what is needed at a time. */
  readonly load: (now: Date) => Promise<Pki>
  readonly files: Pick<OwnFiles, 'clientCa' | 'server'> & Partial<Pick<OwnFiles, 'proxyCa'>>
  readonly listener: Pick<Listener, 'reload' | 'renewCertified'>
  /** Told when the authorities of clients have changed; PEM. */
  readonly onClientCa?: (clientCa: string) => void
  /** Told of certificates that were renewed. */
  readonly onRenewed?: (pki: Pki) => void
  readonly onRenewal?: (done: Promise<void>) => void
  readonly url: string
  readonly log: Log
  readonly clock: Clock
}

const DAY_MS = 24 * 3600_000

export function tlsMaterial({ clientCa = '', proxyCa, server: own }: TlsParts['files'], { authority, server }: Pki): TlsMaterial {
  return { ...(own ?? server), clientCa: authority.cert + clientCa, ...(proxyCa !== undefined && { proxyCa }) }
}

/**
 * Looks once a day whether certificates near their end, and follows the file of client authorities. What is new serves new
 * connections. Returns what ends it.
 */
export function keepTlsFresh(config: Config, parts: TlsParts): () => void {
  const { listener, url, log, clock, load, onClientCa = () => {}, onRenewal = () => {}, onRenewed = () => {} } = parts
  let { pki, files } = parts
  const reload = () => {
    const material = tlsMaterial(files, pki)
    listener.reload(material)
    onClientCa(material.clientCa)
  }
  const renew = async (now: Date) => {
    pki = await load(now)
    await pki.saved
    reload()
    onRenewed(pki)
    const ca = files.server?.cert ?? pki.authority.cert
    const { cert, key } = pki.admin
    if (config.kubeconfig !== undefined) await writeKubeconfig(config.kubeconfig, { server: url, ca, cert, key, name: config.contextName })
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
  const stopFollowing = followClientCa(config.clientCaFile, { log, clientCa: files.clientCa }, clientCa => {
    files = { ...files, clientCa }
    reload()
    listener.renewCertified()
  })
  return () => {
    stopLooking()
    stopFollowing()
  }
}

function followClientCa(file: string | undefined, { log, clientCa }: Following, take: (clientCa: string) => void): () => void {
  if (file === undefined) return () => {}
  return followFile(file, {
    text: clientCa,
    take(text) {
      checkCertificates(text, file)
      take(text)
      log.info({ file }, 'the authorities of clients were read again')
    },
    failed: error => log.warn({ error }, 'the authorities of clients could not be read again; those known before are kept'),
  })
}
type Following = { readonly log: Log; readonly clientCa: string | undefined }

/** Names in the server's certificate: where it listens and is said to be, and where clients inside a cluster expect it. */
export function certificateNames({ host, advertiseAddress, tlsSans, serviceClusterIpRange }: Config): string[] {
  const service = serviceClusterIpRange.map(range => addressAt(parseCIDR(range)!, 1n)).filter(ip => ip !== undefined)
  const own = isEverywhere(host) ? [hostname(), ...machineAddresses()] : [host]
  return [...own, ...(advertiseAddress === undefined ? [] : [advertiseAddress]), ...tlsSans, ...service.map(formatIP)]
}

/** Addresses of this machine, without those that are good on one link alone. */
function machineAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap(addresses => addresses ?? [])
  return all.map(({ address }) => address).filter(address => !isLinkLocalUnicast(parseIP(address)!))
}

/** The address of the server for the URL in kubeconfigs: the one it is said to have, or one that works on this machine. */
export function reachableHost(listening: string, { advertiseAddress }: Pick<Config, 'advertiseAddress'>): string {
  const address = advertiseAddress ?? (isEverywhere(listening) ? '127.0.0.1' : listening)
  return address.includes(':') ? `[${address}]` : address
}

const isEverywhere = (address: string) => address === '0.0.0.0' || address === '::'
