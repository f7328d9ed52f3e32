/**
 * The part of `keelson doctor` that only a server can tell: its store, every record with its checksum, its certificates, slow requests. Lines
 * of JSON: progress, then the report. It names records of all namespaces, so it requires a permission of its own, to `get` this
 * nonResourceURL.
 */
import type { EndpointRule } from '../../http/endpoints.ts'
import type { SlowRequests } from '../../http/observability/slow-requests.ts'
import { methodNotAllowed, StatusError, tooManyRequests } from '../../schema/status-error.ts'
import type { Holds } from '../../storage/holds.ts'
import { Compacted, type Store } from '../../storage/store.ts'
import { VERSION } from '../../version.ts'
import type { Pki } from '../credentials/pki.ts'
import type { ObservedStore } from '../data/observed-store.ts'
import { certificatesIn } from '../doctor/certificates.ts'
import type { NamedCertificate, RecordFigures, ServerReport, StoreFigures } from '../doctor/findings.ts'
import { scanRecords } from '../doctor/scan-records.ts'
import type { OwnFiles } from '../files/own-files.ts'

export const DOCTOR_PATH = '/keelson/v1/doctor'

export type DoctorLine =
  | { readonly progress: { readonly done: number; readonly total: number } }
  | { readonly report: ServerReport }
  | { readonly failure: string }

export type DoctorParts = {
  readonly store: Store
  readonly observed: ObservedStore
  readonly holds: Holds
  readonly files: OwnFiles
  readonly pki: () => Pki
  readonly slowRequests: SlowRequests
  readonly groupDomain: string
  readonly now: () => Date
}

export function doctorEndpoint(parts: DoctorParts): EndpointRule {
  let isRunning = false
  return {
    path: DOCTOR_PATH,
    hidden: true,
    describe: async () => (await import('./own-api.ts')).SERVER_API,
    answer({ method }) {
      if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed()
      // Every record is read and parsed.
      if (isRunning) throw tooManyRequests('another doctor is reading the records', RETRY_SECONDS)
      // At once, and not when the first line is read: another request may come before.
      isRunning = true
      let hasBegun = false
      async function* alone(): AsyncGenerator<Uint8Array> {
        hasBegun = true
        try {
          yield* lines(parts)
        } finally {
          isRunning = false
        }
      }
      return {
        status: 200,
        headers: { 'content-type': 'application/x-ndjson' },
        body: { type: 'pieces', length: undefined, pieces: alone() },
        taken() {
          // Nobody reads the lines: the client has gone, or wanted the head alone.
          if (!hasBegun) isRunning = false
        },
      }
    },
  }
}

const RETRY_SECONDS = 5

async function* lines(parts: DoctorParts): AsyncGenerator<Uint8Array> {
  const line = (value: DoctorLine) => Buffer.from(`${JSON.stringify(value)}\n`)
  const { store, holds, slowRequests, groupDomain, now } = parts
  try {
    // Not after the records were read: the reading itself would be held.
    const figures = await storeFigures(parts)
    using _held = await holds.hold(await store.fresh())
    const scan = scanRecords(store)
    let records: RecordFigures | undefined
    for (;;) {
      const { value, done } = await scan.next()
      if (done) {
        records = value
        break
      }
      yield line({ progress: value })
    }
    const slowestRequests = slowRequests
      .slowest(now().getTime())
      .map(({ at, ms, ...request }) => ({ time: new Date(at).toISOString(), ms: Math.round(ms), ...request }))
    const report = {
      time: now().toISOString(),
      version: VERSION,
      groupDomain,
      store: figures,
      records,
      certificates: certificates(parts),
      slowestRequests,
    }
    yield line({ report })
  } catch (error) {
    if (error instanceof Compacted) yield line({ failure: 'the store had to forget the revision that was being read; try again' })
    else if (error instanceof StatusError) yield line({ failure: error.message })
    else throw error
  }
}

async function storeFigures({ store, observed, holds }: DoctorParts): Promise<StoreFigures> {
  const { oldest, newest } = await store.extent()
  const size = store.size?.()
  const { freePages } = observed
  return {
    revision: newest,
    oldestRevision: oldest,
    ...(size && { bytes: size.bytes, usedBytes: size.usedBytes, isFull: size.isFull }),
    ...(size && Number.isFinite(size.quotaBytes) && { quotaBytes: size.quotaBytes }),
    ...(freePages !== undefined && { freePages }),
    ...(holds.oldest !== undefined && { heldRevision: holds.oldest }),
  }
}

/** Those that the server uses: of files that flags name, and its own in their place. */
function certificates({ files, pki }: DoctorParts): NamedCertificate[] {
  const own = pki()
  const named: readonly (readonly [name: string, text: string | undefined])[] = [
    ['server (--tls-cert-file)', files.server?.cert],
    ['clients (--client-ca-file)', files.clientCa],
    ['proxies (--requestheader-client-ca-file)', files.proxyCa],
    ['OpenID provider (--oidc-ca-file)', files.oidcCa],
    ['kubelets (--kubelet-certificate-authority)', files.kubelet.ca],
    ['kubelet client (--kubelet-client-certificate)', files.kubelet.client?.cert],
    ['proxy client (--proxy-client-cert-file)', files.proxyClient?.cert],
    ['peers (--peer-ca-file)', files.peerCa],
    ['etcd (--etcd-cafile)', files.etcd.ca],
    ['etcd client (--etcd-certfile)', files.etcd.cert],
    ['ca', own.authority.cert],
    ['server', own.server.cert],
    ['admin', own.admin.cert],
    ['apiserver-kubelet-client', own.kubeletClient.cert],
    ['front-proxy-ca', own.proxyAuthority.cert],
    ['front-proxy-client', own.proxyClient.cert],
  ]
  return named.flatMap(([name, text]) => (text === undefined ? [] : certificatesIn(name, text)))
}
