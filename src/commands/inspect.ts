/** `keelson inspect KEY…`: prints records as they are stored, decoded, from a data directory, a snapshot or etcd. */
import { resolve } from 'node:path'
import { stringifyYaml } from '../codec/yaml-writer.ts'
import { readFlags } from '../flags/read-flags.ts'
import { UsageError } from '../flags/usage-error.ts'
import type { Json } from '../lib/json-value.ts'
import { openDecrypting } from '../server/data/decrypt-records.ts'
import { type FoundRecord, Records, type RecordsPlace } from '../server/data/inspect-records.ts'
import { resourceOf } from '../storage/resource-prefix.ts'
import { type Arguments, outputOf, readArguments } from './arguments.ts'
import type { Command } from './command.ts'
import { RECORD_FLAGS } from './record-flags.ts'
import { sizeText, tableText } from './text.ts'

const USAGE = 'keelson inspect KEY… [--data-dir DIR | --snapshot FILE | --etcd-servers URL,…] [--output yaml|json|raw]'

export const inspect: Command = async args => {
  const given = readArguments(args, { flags: ['data-dir', 'snapshot', 'etcd-servers', 'output', ...RECORD_FLAGS], usage: USAGE })
  const output = outputOf(given, ['yaml', 'json', 'raw'])
  const config = readFlags(given.only(RECORD_FLAGS))
  const place = placeOf(given)
  const { decrypt, close } = await openDecrypting(place, config)
  try {
    return await print(new Records(place, config, decrypt), given, output)
  } finally {
    close()
  }
}

async function print(records: Records, given: Arguments, output: Output): Promise<number> {
  if (given.rest.length === 0) return await listResources(records, output)
  const wanted = given.rest.map(text => ({ text, ...records.selectorOf(text) }))
  if (output === 'raw' && (wanted.length > 1 || 'prefix' in wanted[0]!)) throw new UsageError('--output raw takes one whole KEY')
  let missing = 0
  for (const [i, each] of wanted.entries()) {
    if (i > 0 && output === 'yaml') process.stdout.write('\n')
    const found =
      'key' in each ? await printRecord(records, each.key, { output, isFirst: i === 0 }) : await printKeys(records, each.prefix, output)
    if (found) continue
    missing++
    process.stderr.write(`keelson: there is no record ${'key' in each ? each.key : `below ${each.prefix}`}\n`)
  }
  return missing === 0 ? 0 : 1
}

type Output = 'yaml' | 'json' | 'raw'

function placeOf(given: Arguments): RecordsPlace {
  const named = ['data-dir', 'snapshot', 'etcd-servers'].filter(name => given.has(name))
  if (named.length > 1) throw new UsageError(`--${named.join(' and --')} name two places; name one: ${USAGE}`)
  const snapshot = given.value('snapshot')
  if (snapshot !== undefined) return { kind: 'snapshot', file: resolve(snapshot) }
  const servers = given.value('etcd-servers')
  if (servers !== undefined) return { kind: 'etcd', servers: servers.split(',') }
  return { kind: 'folder', dir: resolve(given.value('data-dir') ?? './keelson-data') }
}

async function printRecord(records: Records, key: string, { output, isFirst }: { output: Output; isFirst: boolean }): Promise<boolean> {
  for await (const record of records.find([{ key }])) {
    if (output === 'raw') process.stdout.write(record.value)
    else if (output === 'json') process.stdout.write(`${JSON.stringify(asJson(record), undefined, 2)}\n`)
    else process.stdout.write(`${isFirst ? '' : '---\n'}${asYaml(record)}`)
    return true
  }
  return false
}

/** The keys below a prefix, and the facts about them that need no content. */
async function printKeys(records: Records, prefix: string, output: Output): Promise<boolean> {
  const rows: string[][] = [['KEY', 'REVISION', 'BYTES', 'STORED AS']]
  let count = 0
  for await (const { object: _, value: __, ...record } of records.find([{ prefix }])) {
    count++
    if (output === 'json') process.stdout.write(`${JSON.stringify(record)}\n`)
    else rows.push([record.key, String(record.modified), String(record.bytes), storedAs(record)])
  }
  if (output !== 'json' && count > 0) process.stdout.write(tableText(rows, [1, 2]))
  return count > 0
}

/** Without a key: the resources that there are, to find one. */
async function listResources(records: Records, output: Output): Promise<number> {
  if (output === 'raw') throw new UsageError('--output raw takes one whole KEY')
  const amounts = new Map<string, { records: number; bytes: number }>()
  for await (const { key, bytes } of records.find([{ prefix: '/' }])) {
    const amount = amounts.get(resourceOf(key)) ?? { records: 0, bytes: 0 }
    amounts.set(resourceOf(key), { records: amount.records + 1, bytes: amount.bytes + bytes })
  }
  const sorted = [...amounts].sort(([a], [b]) => (a < b ? -1 : 1))
  if (output === 'json') process.stdout.write(`${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`)
  else {
    const rows = sorted.map(([prefix, amount]) => [prefix, String(amount.records), sizeText(amount.bytes)])
    process.stdout.write(tableText([['PREFIX', 'RECORDS', 'BYTES'], ...rows], [1, 2]))
    process.stderr.write('keelson inspect PREFIX lists the keys below one, keelson inspect KEY prints a record\n')
  }
  return 0
}

type About = Omit<FoundRecord, 'value' | 'object'>

function storedAs({ encoding, encryption, fault }: About): string {
  const how = encryption ? `encrypted (${encryption.provider}, key ${encryption.key})` : encoding
  return fault === undefined ? how : `${how}, unreadable: ${fault}`
}

function asJson({ value, object, expires, ...about }: FoundRecord): object {
  const isText = object === undefined && about.encoding === 'other'
  return {
    ...about,
    ...(expires !== undefined && { expires: new Date(expires).toISOString() }),
    ...(object !== undefined && { object }),
    ...(isText && { base64: Buffer.from(value).toString('base64') }),
  }
}

/** The record as YAML, after comments that say how it is stored. */
function asYaml(record: FoundRecord): string {
  const { key, etcdKey, modified, created, bytes, encoding, encryption, crc32, isChecked, expires, fault, object, value } = record
  const checksum = crc32 === undefined ? 'wrong' : `crc32 ${crc32}${isChecked ? ', correct' : ''}`
  const lines = [
    ['key', key],
    ...(etcdKey === '' ? [] : [['in etcd', etcdKey]]),
    ['revision', `${modified}${created === modified ? ', when it was created' : `, created at ${created}`}`],
    ['size', `${bytes} bytes${encoding === 'other' ? '' : `, ${encoding}`}`],
    ['checksum', checksum],
    ['encrypted', encryption ? `${encryption.provider}, key ${encryption.key}` : 'no'],
    ...(expires === undefined ? [] : [['expires', new Date(expires).toISOString()]]),
    ...(fault === undefined ? [] : [['unreadable', fault]]),
  ]
  const head = lines.map(([name, text]) => `# ${`${name}:`.padEnd(11)} ${text}\n`).join('')
  if (object !== undefined) return head + stringifyYaml(object)
  return fault === undefined ? head + stringifyYaml(contentOf(value)) : head
}

const contentOf = (value: Uint8Array): Json => {
  const text = Buffer.from(value).toString()
  return Buffer.from(text).equals(value) ? text : { base64: Buffer.from(value).toString('base64') }
}
