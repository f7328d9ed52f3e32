/** `keelson snapshot save|status|restore`: backups of a cluster on the embedded store, and snapshots of a server for tests. */
import { join, resolve } from 'node:path'
import { UsageError } from '../flags/usage-error.ts'
import { ConfigError } from '../server/config.ts'
import { type Restored, restoreSnapshot, type SnapshotStatus, snapshotStatus } from '../server/data/restore-snapshot.ts'
import { saveTo, snapshotOf } from '../server/data/save-snapshot.ts'
import { SNAPSHOT_PATH } from '../server/port/snapshot-endpoint.ts'
import { openEmbeddedReader } from '../storage/embedded/reader.ts'
import { VERSION } from '../version.ts'
import { apiClient } from './api-client.ts'
import { outputOf, readArguments } from './arguments.ts'
import type { Command } from './command.ts'
import { findPlace, PLACE_FLAGS, type Place } from './place.ts'
import { Progress } from './progress.ts'
import { keptSnapshots, SNAPSHOT_ACTIONS } from './test-server.ts'
import { sizeText, tableText } from './text.ts'

const USAGE =
  'keelson snapshot save FILE | status FILE | restore FILE --data-dir DIR, or in a server with --test-endpoints: create [NAME] | list | revert NAME | delete NAME'

export const snapshot: Command = async ([action, ...args]) => {
  if (action === 'save') return await save(args)
  if (action === 'status') return await status(args)
  if (action === 'restore') return await restore(args)
  const ofTests = SNAPSHOT_ACTIONS.find(each => each === action)
  if (ofTests) return await keptSnapshots(ofTests, args)
  throw new UsageError(action === undefined ? `what is to be done? ${USAGE}` : `unknown action ${action}: ${USAGE}`)
}

async function save(args: readonly string[]): Promise<number> {
  const given = readArguments(args, { flags: PLACE_FLAGS, usage: `keelson snapshot save FILE [--data-dir DIR | --kubeconfig FILE]` })
  const file = resolve(onlyFile(given.rest, 'save'))
  const place = findPlace(given)
  const saved = await withProgress(onProgress => savePlace(place, { file, onProgress }))
  const { revision, records, bytes, hash } = saved
  process.stdout.write(
    `saved ${records} records at revision ${revision} to ${file} (${sizeText(bytes)})\nsha256 ${hash}\n` +
      'Secrets are in it as they are stored. The keys of the cluster are not: back up pki/ of the data directory as well, once\n',
  )
  return 0
}

type Saving = Parameters<typeof saveTo>[1]

async function savePlace(place: Place, saving: Saving): ReturnType<typeof saveTo> {
  if (place.kind === 'server') return await saveTo(apiClient(place.access).chunks(SNAPSHOT_PATH), saving)
  await using source = await openEmbeddedReader(join(place.dir, 'store'))
  return await saveTo(snapshotOf({ source, now: () => new Date(), writtenBy: `keelson ${VERSION}` }), saving)
}

async function status(args: readonly string[]): Promise<number> {
  const given = readArguments(args, { flags: ['output'], usage: 'keelson snapshot status FILE [--output json]' })
  const output = outputOf(given, ['text', 'json'])
  const file = resolve(onlyFile(given.rest, 'status'))
  const found = await withProgress(onProgress => snapshotStatus(file, onProgress))
  process.stdout.write(output === 'json' ? `${JSON.stringify(asJson(found), undefined, 2)}\n` : asText(file, found))
  return 0
}

function asJson({ header, summary, hash, bytes, encrypted }: SnapshotStatus): object {
  const { format, revision, time, writtenBy, cluster, groupDomain } = header
  const { records, bytes: recordBytes, resources } = summary
  const isEncrypted = Object.fromEntries(encrypted)
  return { format, revision, time, writtenBy, cluster, groupDomain, bytes, hash, records, recordBytes, encrypted: isEncrypted, resources }
}

function asText(file: string, { header, summary, hash, bytes, encrypted }: SnapshotStatus): string {
  const count = [...encrypted.values()].reduce((sum, each) => sum + each, 0)
  const keys = [...encrypted].map(([key, number]) => `${key} ${number}`).join(', ')
  const about = [
    ['file', file],
    ['revision', String(header.revision)],
    ['saved', `${header.time} by ${header.writtenBy}`],
    ['cluster', header.cluster || 'not known'],
    ['records', `${summary.records}, ${sizeText(summary.bytes)}`],
    ['size', `${sizeText(bytes)} (${bytes} bytes)`],
    ['encrypted', count === 0 ? 'no record' : `${count} of them (${keys}); they can be read with these keys alone`],
    ['sha256', `${hash}, correct`],
  ] as const
  const rows = Object.entries(summary.resources)
    .sort(([, a], [, b]) => b.records - a.records || b.bytes - a.bytes)
    .map(([prefix, amount]) => [prefix.slice(1).replace(/\/$/, ''), String(amount.records), sizeText(amount.bytes)])
  const lines = about.map(([name, text]) => `${name.padEnd(10)} ${text}`)
  return `${lines.join('\n')}\n\n${tableText([['RESOURCE', 'OBJECTS', 'BYTES'], ...rows], [1, 2])}`
}

async function restore(args: readonly string[]): Promise<number> {
  const usage = 'keelson snapshot restore FILE --data-dir DIR [--bump-revision N]'
  const given = readArguments(args, { flags: ['data-dir', 'bump-revision'], usage })
  const file = resolve(onlyFile(given.rest, 'restore'))
  const folder = given.value('data-dir')
  // The default of other commands is a place where a server may have its data.
  if (!folder) throw new UsageError(`--data-dir is missing: ${usage}`)
  const dir = resolve(folder)
  const bump = bumpOf(given.value('bump-revision'))
  const warn = (message: string) => process.stderr.write(`keelson: ${message}\n`)
  const restored = await withProgress(onProgress =>
    restoreSnapshot({ file, dir, ...(bump !== undefined && { bump }), now: new Date(), warn, onProgress }),
  )
  process.stdout.write(`${summaryOf(dir, restored).join('\n')}\n`)
  return 0
}

function bumpOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d*$/.test(text)) throw new UsageError(`--bump-revision takes a whole number above 0, not "${text}"`)
  return Number(text)
}

function summaryOf(dir: string, { header, summary, newest, hasKeys, encrypted }: Restored): string[] {
  return [
    `restored ${summary.records} records of revision ${header.revision} to ${dir}; it is at revision ${newest} now`,
    'resourceVersions have moved forward, and older ones are expired: clients list and watch again',
    hasKeys
      ? 'the keys in its folder pki stay in use'
      : `there are no keys in ${join(dir, 'pki')}: to keep kubeconfigs and tokens valid, copy the folder pki of the cluster there before a server starts; otherwise the server makes new ones`,
    ...(encrypted.size > 0 && !hasKeys ? ['encrypted records need the keys that they were written with, or they cannot be read'] : []),
    `start it: keelson serve --data-dir ${dir}`,
  ]
}

function onlyFile(rest: readonly string[], action: string): string {
  const [file, more] = rest
  if (file === undefined) throw new UsageError(`which file? keelson snapshot ${action} FILE`)
  if (more !== undefined) throw new UsageError(`what is ${more}? keelson snapshot ${action} takes one FILE`)
  if (file === '') throw new ConfigError('the name of the file is empty')
  return file
}

async function withProgress<T>(work: (onProgress: (done: number, total: number) => void) => Promise<T>): Promise<T> {
  const progress = new Progress(process.stderr, { linesElsewhere: false })
  try {
    return await work((done, total) => progress.show(done, total))
  } finally {
    progress.end()
  }
}
