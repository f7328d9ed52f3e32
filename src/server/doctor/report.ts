/** A whole report: of a running server through its API, or of a data directory without one. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { AnyObject } from '../../schema/object-meta.ts'
import { ownerOf } from '../../storage/embedded/lock.ts'
import { type EmbeddedReader, openEmbeddedReader } from '../../storage/embedded/reader.ts'
import { ConfigError } from '../config.ts'
import { DATA_IDENTITY } from '../data/data-identity.ts'
import { certificatesIn, certificatesOf, expiryFindings } from './certificates.ts'
import { type CheckedObjects, failingApiServices, failingWebhooks, stuckDeletions } from './check-objects.ts'
import type { Finding, NamedCertificate, RecordFigures, ServerReport, SlowRequest, StoreFigures } from './findings.ts'
import { scanRecords } from './scan-records.ts'

export type Report = {
  /** The server or the directory. */
  readonly examined: string
  readonly time: string
  readonly isWell: boolean
  readonly findings: readonly Finding[]
  /** Checks that could not be made, and why. */
  readonly skipped: readonly { readonly check: string; readonly reason: string }[]
  readonly store?: StoreFigures & { readonly readers?: readonly LmdbReader[] }
  readonly records?: RecordFigures
  readonly certificates: readonly NamedCertificate[]
  readonly slowestRequests?: readonly SlowRequest[]
  /** How far the clock of the server is ahead of that of this machine, in milliseconds. */
  readonly clockAheadMs?: number
}

/** A process that reads the database now. Pages of transactions since its own are not reused. */
export type LmdbReader = { readonly pid: number; readonly transactionsBehind: number }

export type OnProgress = (done: number, total: number) => void

/** The part of an API client that is used here. */
export type DoctorApi = {
  get<Body>(
    path: string,
  ): Promise<{ readonly ok: true; readonly body: Body } | { readonly ok: false; readonly status: number; readonly message: string }>
  chunks(path: string): AsyncIterable<Uint8Array>
}

const CLOCKS_DIFFER_MS = 5_000
const FUTURE_MS = 60_000
const MUCH_FREE = { share: 1 / 2, bytes: 64 << 20 }

export async function examineServer(api: DoctorApi, { url, ca, cert }: { url: string; ca: string; cert: string }, onProgress: OnProgress) {
  const skipped: { check: string; reason: string }[] = []
  const findings: Finding[] = []
  const began = Date.now()
  let server: ServerReport | undefined
  let clockAheadMs: number | undefined
  try {
    server = await serverReport(api, onProgress)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    skipped.push({ check: 'store, records, certificates, requests', reason: error.message })
  }
  if (server) {
    clockAheadMs = clockDifference(Date.parse(server.time), began, Date.now())
    findings.push(...storeFindings(server.store), ...recordFindings(server.records, new Date(server.time)), ...clockFindings(clockAheadMs))
  }
  const now = server ? new Date(server.time) : new Date()
  const list = async (path: string): Promise<AnyObject[]> => {
    const answer = await api.get<{ items?: AnyObject[]; kind?: string }>(path)
    if (!answer.ok && answer.status !== 404) skipped.push({ check: path, reason: answer.message })
    if (!answer.ok) return []
    const kind = (answer.body.kind ?? '').replace(/List$/, '')
    return (answer.body.items ?? []).map(item => ({ ...item, kind }))
  }
  const objects = await checkedObjects(list, server?.groupDomain)
  findings.push(...objectFindings(objects, now), ...(await calledWebhooks(api, skipped)))
  const certificates = [
    ...(server?.certificates ?? []),
    ...certificatesIn('authority in the kubeconfig', ca),
    ...certificatesIn('client in the kubeconfig', cert),
  ]
  findings.push(
    ...expiryFindings(certificates, now, {
      advice: 'the server renews its own while it runs; renew those of files, and give the server the new files',
    }),
  )
  return reportOf({
    examined: url,
    findings,
    skipped,
    certificates,
    ...(server && { store: server.store, records: server.records, slowestRequests: server.slowestRequests }),
    ...(clockAheadMs !== undefined && { clockAheadMs }),
  })
}

/** The server said its time between the two. */
function clockDifference(server: number, before: number, after: number): number {
  if (server < before) return server - before
  return server > after ? server - after : 0
}

async function serverReport(api: DoctorApi, onProgress: OnProgress): Promise<ServerReport> {
  let rest = ''
  for await (const chunk of api.chunks('/keelson/v1/doctor')) {
    const lines = (rest + Buffer.from(chunk).toString()).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const { progress, report, failure } = JSON.parse(line) as {
        progress?: { done: number; total: number }
        report?: ServerReport
        failure?: string
      }
      if (progress) onProgress(progress.done, progress.total)
      if (report) return report
      if (failure !== undefined) throw new ConfigError(failure)
    }
  }
  throw new ConfigError('the server ended its report too early; its log may say why')
}

async function checkedObjects(list: (path: string) => Promise<AnyObject[]>, domain = 'k8s.io'): Promise<CheckedObjects> {
  const admission = `/apis/admissionregistration.${domain}/v1`
  const [namespaces, definitions, apiServices, validating, mutating, services, endpointSlices] = await Promise.all([
    list('/api/v1/namespaces'),
    list(`/apis/apiextensions.${domain}/v1/customresourcedefinitions`),
    list(`/apis/apiregistration.${domain}/v1/apiservices`),
    list(`${admission}/validatingwebhookconfigurations`),
    list(`${admission}/mutatingwebhookconfigurations`),
    list('/api/v1/services'),
    list(`/apis/discovery.${domain}/v1/endpointslices`),
  ])
  const left = new Map<AnyObject, AnyObject[]>()
  for (const definition of definitions!.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)) {
    const { group, names, versions = [] } = (definition as unknown as { spec: DefinitionSpec }).spec
    const version = versions.find(({ storage }) => storage)?.name ?? ''
    left.set(definition, await list(`/apis/${group}/${version}/${names.plural}`))
  }
  return {
    namespaces: namespaces!,
    definitions: definitions!,
    apiServices: apiServices!,
    webhookConfigurations: [...validating!, ...mutating!],
    services: services!,
    endpointSlices: endpointSlices!,
    instances: definition => left.get(definition) ?? [],
  }
}
type DefinitionSpec = {
  readonly group: string
  readonly names: { readonly plural: string }
  readonly versions?: readonly { readonly name: string; readonly storage?: boolean }[]
}

const objectFindings = (objects: CheckedObjects, now: Date): Finding[] => [
  ...stuckDeletions(objects, now),
  ...failingApiServices(objects, now),
  ...failingWebhooks(objects, now),
]

/** Calls of webhooks that have failed since the server was started, as its metrics count them. */
async function calledWebhooks(api: DoctorApi, skipped: { check: string; reason: string }[]): Promise<Finding[]> {
  let text = ''
  try {
    for await (const chunk of api.chunks('/metrics')) text += Buffer.from(chunk).toString()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    skipped.push({ check: 'calls of webhooks', reason: error.message })
    return []
  }
  const failures = new Map<string, number>()
  for (const [, labels = '', count] of text.matchAll(/^apiserver_admission_webhook_(?:rejection|fail_open)_count\{([^}]*)\} (\d+)/gm)) {
    const label = (name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(labels)?.[1]
    if ((label('error_type') ?? 'calling_webhook_error') !== 'calling_webhook_error') continue
    failures.set(label('name') ?? '', (failures.get(label('name') ?? '') ?? 0) + Number(count))
  }
  return [...failures].map(([name, count]) => ({
    check: 'webhooks',
    level: 'warning',
    subject: name,
    message: `calls of it have failed ${count} times since the server was started`,
    advice: 'the header Keelson-Explain: admission of a request that it is for says why',
  }))
}

/** Examines a directory. Nothing in it changes. */
export async function examineFolder(dir: string, now: Date, onProgress: OnProgress): Promise<Report> {
  await using reader = await openEmbeddedReader(join(dir, 'store'))
  const pastFaults = checkLog(reader, onProgress)
  let records: RecordFigures | undefined
  const scan = scanRecords(reader)
  while (!records) {
    const { value, done } = await scan.next()
    if (done) records = value
  }
  const { bytes, pageBytes, freePages } = reader.size
  const { oldest, newest } = await reader.extent()
  const store = {
    bytes,
    usedBytes: bytes - pageBytes * freePages,
    freePages,
    revision: newest,
    oldestRevision: oldest,
    readers: reader.readers,
  }
  const { entry } = await reader.get(DATA_IDENTITY)
  const domain =
    entry && entry.fault === undefined ? (JSON.parse(Buffer.from(entry.value).toString()) as { groupDomain: string }).groupDomain : 'k8s.io'
  const objects = await checkedObjects(path => objectsAt(reader, path), domain)
  const certificates = certificatesOf(dir)
  const findings = [
    ...storeFindings(store),
    ...recordFindings(records, now),
    ...(pastFaults > 0 ? [pastFinding(pastFaults)] : []),
    ...objectFindings(objects, now),
    ...expiryFindings(certificates, now, { advice: 'a server renews it when it starts', fix: { kind: 'renew-certificates' } }),
    ...fileFindings(dir),
  ]
  return reportOf({ examined: dir, findings, skipped: [], certificates, store, records })
}

/** Compares every record with its checksum; returns how many past ones are damaged. */
function checkLog(reader: EmbeddedReader, onProgress: OnProgress): number {
  const total = reader.count
  let [done, faults] = [0, 0]
  for (const { fault, isCurrent } of reader.records()) {
    if (fault !== undefined && !isCurrent) faults++
    if (++done % 1000 === 0) onProgress(done, total)
  }
  onProgress(total, total)
  return faults
}

/** The objects of a path in the API, from their records. */
async function objectsAt(reader: EmbeddedReader, path: string): Promise<AnyObject[]> {
  const [, group = 'core', plural] = /^\/(?:api|apis\/([^/]+))\/[^/]+\/([^/]+)$/.exec(path) ?? []
  const { entries } = await reader.list(`/${group}/${plural}/`)
  return entries.flatMap(({ value, fault }) => {
    try {
      return fault === undefined ? [JSON.parse(Buffer.from(value).toString()) as AnyObject] : []
    } catch {
      return []
    }
  })
}

const pastFinding = (count: number): Finding => ({
  check: 'records',
  level: 'warning',
  subject: 'history',
  message: `${count} past states of objects do not match their checksums; they are gone when history is compacted`,
  advice: 'look after the disk',
})

function storeFindings(store: StoreFigures): Finding[] {
  const { isFull, usedBytes = 0, quotaBytes, bytes = 0 } = store
  const about = { check: 'store', subject: 'database' } as const
  const findings: Finding[] = []
  if (isFull) {
    const advice = 'delete objects, or raise --quota-backend-bytes'
    findings.push({ ...about, level: 'problem', message: 'it is full and takes deletions only', advice })
  } else if (quotaBytes !== undefined && usedBytes > quotaBytes * (7 / 8))
    findings.push({
      ...about,
      level: 'warning',
      message: `${Math.round((usedBytes / quotaBytes) * 100)} % of its quota are in use`,
      advice: 'delete objects, or raise --quota-backend-bytes',
    })
  const free = bytes - usedBytes
  if (free > MUCH_FREE.bytes && free > bytes * MUCH_FREE.share)
    findings.push({
      ...about,
      level: 'warning',
      message: `${Math.round((free / bytes) * 100)} % of the file are free pages, which are reused but never given back to the disk`,
      advice: 'keelson snapshot save and restore make a small file',
    })
  return findings
}

function recordFindings({ unreadable, newest }: RecordFigures, now: Date): Finding[] {
  const findings = unreadable.map(
    ({ key, modified, fault }): Finding => ({
      check: 'records',
      level: 'problem',
      subject: key,
      message: fault,
      advice: 'restore it from a snapshot, or provide the key that it was encrypted with; --fix removes it',
      fix: { kind: 'remove-record', key, modified },
    }),
  )
  if (newest && Date.parse(newest.time) > now.getTime() + FUTURE_MS)
    findings.push({
      check: 'clocks',
      level: 'warning',
      subject: newest.key,
      message: `was created at ${newest.time}, which is yet to come: the clock was set back, or another server's is ahead`,
      advice: 'synchronize the clocks of all machines (NTP)',
    })
  return findings
}

function clockFindings(aheadMs: number): Finding[] {
  if (Math.abs(aheadMs) <= CLOCKS_DIFFER_MS) return []
  const message = `the clock of the server is ${Math.round(Math.abs(aheadMs) / 1000)} seconds ${aheadMs > 0 ? 'ahead of' : 'behind'} that of this machine`
  return [{ check: 'clocks', level: 'warning', subject: 'server', message, advice: 'synchronize the clocks of all machines (NTP)' }]
}

/** Leftovers of commands that were interrupted, and keys that others may read. */
function fileFindings(dir: string): Finding[] {
  const findings: Finding[] = []
  const leftover = join(dir, 'store.restoring')
  if (existsSync(leftover) && ownerOf(leftover) === undefined)
    findings.push({
      check: 'files',
      level: 'warning',
      subject: leftover,
      message: 'is left over from a restore that was interrupted',
      fix: { kind: 'remove-leftover', path: leftover },
    })
  for (const path of namesIn(join(dir, 'pki')).map(name => join(dir, 'pki', name)))
    if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0)
      findings.push({
        check: 'files',
        level: 'problem',
        subject: path,
        message: 'other users can read this key',
        advice: 'replace the key if one may have read it',
        fix: { kind: 'close-file', path },
      })
  return findings
}

const namesIn = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : [])

const reportOf = (report: Omit<Report, 'isWell' | 'time'>): Report => ({
  ...report,
  time: new Date().toISOString(),
  isWell: report.findings.length === 0,
})
