/** `keelson history KIND/NAME`: prints an object at every revision in the server's history, with its changes and their users. */
import { isDeepStrictEqual } from 'node:util'
import { stringifyYaml } from '../codec/yaml-writer.ts'
import { readFlags } from '../flags/read-flags.ts'
import { UsageError } from '../flags/usage-error.ts'
import { isObject, type JsonObject } from '../lib/json-value.ts'
import { type DiffLine, diffLines } from '../lib/line-diff.ts'
import type { AnyObject, ManagedFieldsEntry } from '../schema/object-meta.ts'
import { ConfigError } from '../server/config.ts'
import { type ApiClient, apiClient, findResource } from './api-client.ts'
import type { Command } from './command.ts'
import { readAccess } from './kubeconfig.ts'

const USAGE = 'keelson history KIND/NAME [-n NAMESPACE] [--data-dir DIR] [--kubeconfig FILE]'

export const history: Command = async args => {
  const { kind, name, namespace, flags } = readArguments(args)
  const api = apiClient(readAccess(readFlags(flags)))
  const resource = await findResource(api, kind)
  const path = resource.path(namespace, name)
  const present = await revisionsOf(api, path)
  const deleted = present.objects.length === 0 ? await findDeletion(api, { path, list: resource.list(namespace), name }) : undefined
  if (present.objects.length === 0 && !deleted)
    throw new ConfigError(`${resource.kind} ${name} does not exist, and is not in the server's history`)
  const revisions = deleted ? await revisionsOf(api, path, before(deleted)) : present
  const paint = process.stdout.isTTY && !process.env['NO_COLOR'] ? painted : plain
  const writers = await writersOf(api, [
    ...(deleted ? [deleted] : []),
    ...revisions.objects.map(({ metadata }) => metadata.resourceVersion),
  ])
  const sections = revisions.objects.map((object, i) => section({ object, before: revisions.objects[i + 1], revisions, writers, paint }))
  if (deleted) sections.unshift(`${paint({ sign: '@', text: headOf([`revision ${deleted}, deleted`], writers.known.get(deleted)) })}\n`)
  process.stdout.write(sections.join('\n'))
  if (writers.note !== '') process.stderr.write(`keelson: ${writers.note}\n`)
  return 0
}

function readArguments(args: readonly string[]) {
  const flags: string[] = []
  let [named, namespace]: [string | undefined, string] = [undefined, 'default']
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!
    const value = /^(?:-n|--namespace)(?:=(.*))?$/.exec(arg)
    if (value) namespace = value[1] ?? args[++i] ?? ''
    else if (/^--(data-dir|kubeconfig)$/.test(arg)) flags.push(arg, args[++i] ?? '')
    else if (arg.startsWith('--')) flags.push(arg)
    else if (named === undefined) named = arg
    else throw new UsageError(`what is ${arg}? ${USAGE}`)
  }
  const [, kind, name] = /^([^/]+)\/([^/]+)$/.exec(named ?? '') ?? []
  if (kind === undefined || name === undefined) throw new UsageError(`which object? ${USAGE}`)
  return { kind, name, namespace, flags }
}

/** An object in a server's response. */
type ServedObject = AnyObject & { readonly metadata: { readonly resourceVersion: string } }

type Past = {
  /** Newest first. */
  readonly objects: readonly ServedObject[]
  /** Whether the oldest of them is the creation of the object, or earlier revisions have been compacted. */
  readonly isWhole: boolean
}

const before = (revision: string): string => String(BigInt(revision) - 1n)
const exactly = (path: string, revision: string): string => `${path}?resourceVersion=${revision}&resourceVersionMatch=Exact`

/** Goes back from the stored object, now or at a revision: reads the object just before each revision. */
async function revisionsOf(api: ApiClient, path: string, from = ''): Promise<Past> {
  const objects: ServedObject[] = []
  for (let at = from; ; ) {
    const answer = await api.get<ServedObject>(at === '' ? path : exactly(path, at))
    if (!answer.ok && answer.status === 404) return { objects, isWhole: true }
    if (!answer.ok && answer.status === 410) return { objects, isWhole: false }
    if (!answer.ok) throw new ConfigError(answer.message)
    const { uid, resourceVersion } = answer.body.metadata
    // An earlier object with the same name.
    if (objects.length > 0 && uid !== objects[0]!.metadata.uid) return { objects, isWhole: true }
    objects.push(answer.body)
    at = before(resourceVersion)
  }
}

type Place = { readonly path: string; readonly list: string; readonly name: string }

/** The revision at which an object was last deleted, if it is in the history: found by a watch from the oldest revision. */
async function findDeletion(api: ApiClient, { path, list, name }: Place): Promise<string | undefined> {
  const answer = await api.get<{ readonly metadata: { readonly resourceVersion: string } }>(`${list}?limit=1`)
  if (!answer.ok) throw new ConfigError(answer.message)
  const newest = answer.body.metadata.resourceVersion
  const isForgotten = async (revision: bigint) => {
    const there = await api.get(exactly(path, String(revision)))
    return !there.ok && there.status === 410
  }
  // The oldest revisions are compacted first, so a binary search finds the oldest one left.
  let [low, high] = [1n, BigInt(newest)]
  while (low < high) {
    const middle = (low + high) / 2n
    if (await isForgotten(middle)) low = middle + 1n
    else high = middle
  }
  const query = new URLSearchParams({
    watch: 'true',
    resourceVersion: String(low),
    fieldSelector: `metadata.name=${name}`,
    timeoutSeconds: '1',
  })
  const events = await api.lines<{ readonly type: string; readonly object: ServedObject }>(`${list}?${query}`)
  return events.findLast(({ type }) => type === 'DELETED')?.object.metadata.resourceVersion
}

type Writer = { readonly user: string; readonly time: string }

type Writers = {
  /** User and time of each revision, where they are known. */
  readonly known: ReadonlyMap<string, Writer>
  /** The reason why some are not. */
  readonly note: string
}

const MAX_BATCH_REVISIONS = 500

/** The user of each write. It requires a permission, and the server keeps it only for a while. */
async function writersOf(api: ApiClient, revisions: readonly string[]): Promise<Writers> {
  const known = new Map<string, Writer>()
  for (let i = 0; i < revisions.length; i += MAX_BATCH_REVISIONS) {
    const asked = revisions.slice(i, i + MAX_BATCH_REVISIONS)
    const answer = await api.get<{ readonly writes: Readonly<Record<string, Writer>> }>(`/keelson/writes?revisions=${asked}`)
    if (!answer.ok) return { known, note: `users are not shown: ${answer.message}` }
    for (const [revision, writer] of Object.entries(answer.body.writes)) known.set(revision, writer)
  }
  const missing = revisions.filter(revision => !known.has(revision)).length
  const several = missing === 1 ? 'the user of one revision is' : `the users of ${missing} revisions are`
  return {
    known,
    note: missing === 0 ? '' : `${several} not known: a server keeps those of its own last writes, until it is restarted`,
  }
}

type Paint = (line: DiffLine | { readonly sign: '@'; readonly text: string }) => string
const plain: Paint = ({ sign, text }) => (sign === '@' ? text : `${sign} ${text}`)
const COLOURS = { '@': '1;36', '+': '32', '-': '31', ' ': '2' }
const painted: Paint = line => `\u001b[${COLOURS[line.sign]}m${plain(line)}\u001b[0m`

/** Unchanged lines shown around a change. */
const AROUND = 2

type Section = {
  readonly object: ServedObject
  readonly before: ServedObject | undefined
  readonly revisions: Past
  readonly writers: Writers
  readonly paint: Paint
}

function section({ object, before, revisions: { isWhole }, writers, paint }: Section): string {
  const { resourceVersion } = object.metadata
  const { manager, operation, time, subresource }: Partial<ManagedFieldsEntry> = managerOf(object, before) ?? {}
  const writer = writers.known.get(resourceVersion)
  const parts = [
    `revision ${resourceVersion}${before ? '' : isWhole ? ', created' : ', the oldest in the history'}`,
    manager === undefined ? '' : `${manager}${subresource ? ` (${subresource})` : ''} ${operation}`,
  ]
  const head = paint({ sign: '@', text: headOf(parts, writer, time) })
  const lines = diffLines(before ? linesOf(before) : [], linesOf(object))
  const isNear = (i: number) => lines.slice(Math.max(0, i - AROUND), i + AROUND + 1).some(({ sign }) => sign !== ' ')
  return [head, ...lines.filter((_, i) => isNear(i)).map(paint), ''].join('\n')
}

/** The first line of a section, with the user and the time of the write. */
const headOf = (parts: readonly string[], writer: Writer | undefined, time = ''): string =>
  [...parts, writer ? `by ${writer.user}` : 'user not known', writer?.time.replace(/\.\d+Z$/, 'Z') ?? time]
    .filter(part => part !== '')
    .join('  ')

/**
 * The manager whose entry in managedFields is new or changed; an entry that only lost fields was changed by another manager's write. Two
 * writes of one manager to the same fields within a second leave the entry unchanged: then it is the owner of a changed field.
 */
function managerOf(object: ServedObject, before: ServedObject | undefined): ManagedFieldsEntry | undefined {
  const keyOf = ({ manager, operation, subresource = '' }: ManagedFieldsEntry) => `${operation} ${subresource} ${manager}`
  const known = new Map(before?.metadata.managedFields?.map(entry => [keyOf(entry), entry]))
  const size = ({ fieldsV1 }: ManagedFieldsEntry) => JSON.stringify(fieldsV1 ?? {}).length
  const isNewer = (entry: ManagedFieldsEntry) => {
    const was = known.get(keyOf(entry))
    return !was || was.time !== entry.time || size(was) < size(entry)
  }
  const entries = object.metadata.managedFields ?? []
  const newer = entries.filter(isNewer)
  const candidates = newer.length > 0 || !before ? newer : entries.filter(entry => ownsAny(entry.fieldsV1, object, before))
  return candidates.sort((a, b) => ((a.time ?? '') < (b.time ?? '') ? 1 : -1))[0]
}

/** Whether an entry owns a field that differs. A list counts as one field. */
function ownsAny(fields: unknown, object: unknown, before: unknown): boolean {
  if (!isObject(fields)) return false
  if (!isObject(object) || !isObject(before)) return !isDeepStrictEqual(object, before)
  const owned = Object.keys(fields).filter(key => key.startsWith('f:') && key !== 'f:managedFields')
  return owned.some(key => {
    const [now, then, below] = [object[key.slice(2)], before[key.slice(2)], fields[key]]
    if (isDeepStrictEqual(now, then)) return false
    return !isObject(now) || !isObject(then) || !isObject(below) || Object.keys(below).length === 0 || ownsAny(below, now, then)
  })
}

/** The object for people: without fields that change with every write. */
function linesOf({ metadata: { managedFields: _, resourceVersion: __, ...metadata }, ...rest }: ServedObject): string[] {
  return stringifyYaml({ ...rest, metadata } as unknown as JsonObject)
    .trimEnd()
    .split('\n')
}
