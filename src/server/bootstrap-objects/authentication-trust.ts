/** The ConfigMap that publishes this server's trust to aggregated servers: authorities of clients, and proxies that name users. */
import { X509Certificate } from 'node:crypto'
import { queueKey } from '../../client/change.ts'
import { serverIdentity } from '../../client/identity.ts'
import { type Controller, defineController, watch } from '../../controllers/controller.ts'
import { ConfigMap } from '../../kinds/core/configmap.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { StatusError } from '../../schema/status-error.ts'
import type { Config } from '../config.ts'
import { type Pki, PROXY_CLIENT } from '../credentials/pki.ts'
import type { OwnFiles } from '../files/own-files.ts'

const NAMED = { namespace: 'kube-system', name: 'extension-apiserver-authentication' }
const KEY = queueKey(NAMED)
const LOOK_EVERY_MS = 60_000
const EXPIRY_SLACK_MS = 5 * 60_000

/** The published trust; certificates in PEM. */
export type Trust = {
  readonly clientCa: string
  /** Authorities of proxies; empty where no proxy may name users. */
  readonly proxyCa: string
  /** The settings of proxies, by their keys in the ConfigMap. */
  readonly proxies: Readonly<Record<string, readonly string[]>>
}

export type TrustPublisher = {
  readonly controller: Controller
  /** Publishes other authorities. */
  take(changed: Partial<Trust>): void
}

export function trustPublisher(initial: Trust): TrustPublisher {
  let trust = initial
  let publish = () => {}
  const controller = defineController({
    name: 'cluster_authentication_trust_controller',
    isRoutine: true,
    identity: serverIdentity(),
    create({ client, enqueue }) {
      const maps = client.of(ConfigMap)
      const read = rememberedCertificates()
      publish = () => enqueue(KEY)
      publish()
      return {
        watches: [watch(ConfigMap, ({ current }) => (queueKey(current) === KEY ? KEY : undefined))],
        async reconcile() {
          const stored = maps.get(NAMED)
          const data = combinedTrust(stored?.data ?? {}, trust, { now: client.now, read })
          if (!stored) await maps.create({ metadata: NAMED, data })
          else if (!deepEqual(stored.data ?? {}, data)) {
            try {
              await maps.update({ ...stored, data })
            } catch (error) {
              // Others can fill it up; it fits once it is created anew.
              if (isTooLarge(error)) await maps.delete(stored)
              throw error
            }
          }
          return LOOK_EVERY_MS
        },
      }
    },
  })
  return {
    controller,
    take(changed) {
      trust = { ...trust, ...changed }
      publish()
    },
  }
}

/**
 * The published settings of proxies that name users: from the configuration, or, where it has none, this server itself as a
 * proxy.
 */
export function publishedProxies(
  config: Config,
  { proxyCa, proxyClient }: Pick<OwnFiles, 'proxyCa' | 'proxyClient'>,
  { pki, gate }: { readonly pki: Pki; readonly gate: (name: string) => boolean },
): ProxyTrust {
  if (proxyCa === undefined && proxyClient === undefined)
    return { proxyCa: pki.proxyAuthority.cert, proxies: gate(UID_GATE) ? OWN_PROXY : { ...OWN_PROXY, 'requestheader-uid-headers': [] } }
  const proxies = {
    'requestheader-username-headers': config.requestheaderUsernameHeaders,
    'requestheader-uid-headers': config.requestheaderUidHeaders,
    'requestheader-group-headers': config.requestheaderGroupHeaders,
    'requestheader-extra-headers-prefix': config.requestheaderExtraHeadersPrefix,
    'requestheader-allowed-names': config.requestheaderAllowedNames,
  }
  return { proxyCa: proxyCa ?? '', proxies }
}
/** Without this gate proxies name users without their uid, and `--requestheader-uid-headers` is refused. */
export const UID_GATE = 'RemoteRequestHeaderUID'

type ProxyTrust = Pick<Trust, 'proxyCa' | 'proxies'>

const OWN_PROXY: Trust['proxies'] = {
  'requestheader-username-headers': ['X-Remote-User'],
  'requestheader-uid-headers': ['X-Remote-Uid'],
  'requestheader-group-headers': ['X-Remote-Group'],
  'requestheader-extra-headers-prefix': ['X-Remote-Extra-'],
  'requestheader-allowed-names': [PROXY_CLIENT],
}

/**
 * Adds trust to the trust that others have published: several servers add up, and only expired certificates are left out. Throws
 * when the stored value cannot be read.
 */
export function combinedTrust(
  stored: Readonly<Record<string, string>>,
  { clientCa, proxyCa, proxies }: Trust,
  { now, read = readCertificate }: { readonly now: Date; readonly read?: typeof readCertificate },
) {
  const combined = (...bundles: (string | undefined)[]) => combinedCertificates(bundles, now, read)
  const clients = combined(stored['client-ca-file'], clientCa)
  const proxyAuthorities = combined(stored['requestheader-client-ca-file'], proxyCa)
  const data: Record<string, string> = clients === '' ? {} : { 'client-ca-file': clients }
  if (proxyAuthorities === '') return data
  data['requestheader-client-ca-file'] = proxyAuthorities
  for (const [key, values] of Object.entries(proxies)) {
    const all = [...new Set([...(JSON.parse(stored[key] || '[]') as string[]), ...values])]
    if (all.length > 0 || key !== 'requestheader-uid-headers') data[key] = JSON.stringify(all)
  }
  return data
}

function combinedCertificates(bundles: readonly (string | undefined)[], now: Date, read: typeof readCertificate): string {
  const all = bundles.flatMap(bundle => bundle?.match(CERTIFICATE) ?? []).map(read)
  const valid = all.filter(({ validTo }) => validTo > now.getTime() - EXPIRY_SLACK_MS)
  return [...new Map(valid.map(({ fingerprint, text }) => [fingerprint, text])).values()].join('')
}

function readCertificate(pem: string): { readonly validTo: number; readonly fingerprint: string; readonly text: string } {
  const certificate = new X509Certificate(pem)
  return { validTo: Date.parse(certificate.validTo), fingerprint: certificate.fingerprint256, text: certificate.toString() }
}

/** Parses each certificate once: the check runs every minute, and parsing takes a millisecond. */
function rememberedCertificates(): typeof readCertificate {
  const known = new Map<string, ReturnType<typeof readCertificate>>()
  return pem => {
    const found = known.get(pem) ?? readCertificate(pem)
    // Others can put any number of certificates into the ConfigMap.
    if (known.size >= MAX_REMEMBERED) known.clear()
    known.set(pem, found)
    return found
  }
}
const MAX_REMEMBERED = 100
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

const isTooLarge = (error: unknown): boolean =>
  error instanceof StatusError && (error.code === 413 || (error.reason === 'Invalid' && error.message.includes('Too long')))
