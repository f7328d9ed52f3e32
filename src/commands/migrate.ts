/** `keelson migrate`: copies a cluster between a data directory and etcd, in either direction. */
import { resolve } from 'node:path'
import { readFlags } from '../flags/read-flags.ts'
import { UsageError } from '../flags/usage-error.ts'
import { ConfigError } from '../server/config.ts'
import { type Location, locationName, type Migrated, migrate as migrateCluster } from '../server/data/migration.ts'
import { readArguments } from './arguments.ts'
import type { Command } from './command.ts'
import { Progress } from './progress.ts'
import { RECORD_FLAGS } from './record-flags.ts'

export const migrate: Command = async args => {
  const { from, to, skipUnreadable, others } = readMigration(args)
  const progress = new Progress(process.stderr, { linesElsewhere: true })
  let migrated: Migrated
  try {
    migrated = await migrateCluster({
      from,
      to,
      config: readFlags(others),
      skipUnreadable,
      onProgress: (done, total) => progress.show(done, total),
    })
  } finally {
    progress.end()
  }
  process.stdout.write(`${summaryOf(from, to, migrated).join('\n')}\n`)
  return 0
}

const USAGE = 'keelson migrate --from embedded:DIR|etcd:URL,… --to embedded:DIR|etcd:URL,…'

type Migration = { readonly from: Location; readonly to: Location; readonly skipUnreadable: boolean; readonly others: readonly string[] }

function readMigration(args: readonly string[]): Migration {
  const given = readArguments(args, { flags: ['from', 'to', ...RECORD_FLAGS], switches: ['skip-unreadable'], usage: USAGE })
  const [unknown] = given.rest
  if (unknown !== undefined) throw new UsageError(`unknown argument ${unknown}: ${USAGE}`)
  const [from, to] = (['from', 'to'] as const).map(flag => {
    const value = given.value(flag)
    return value === undefined ? undefined : readLocation(flag, value)
  })
  if (!from || !to) throw new UsageError(`--${from ? 'to' : 'from'} is missing: ${USAGE}`)
  if (locationName(from) === locationName(to)) throw new ConfigError('--from and --to are the same')
  return { from, to, skipUnreadable: given.has('skip-unreadable'), others: given.only(RECORD_FLAGS) }
}

function readLocation(flag: string, text: string): Location {
  const [, kind, rest = ''] = /^(embedded|etcd):(.+)$/.exec(text) ?? []
  if (kind === 'embedded') return { kind, dir: resolve(rest) }
  if (kind === 'etcd') return { kind, servers: rest.split(',') }
  throw new UsageError(`--${flag} takes embedded:DIR or etcd:URL,URL, not "${text}"`)
}

/** The summary that is printed at the end. */
function summaryOf(from: Location, to: Location, { counts, resumed, unreadable, keys }: Migrated): string[] {
  const objects = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const again = resumed ? '; it continued an earlier run' : ''
  return [
    `copied ${objects} records of ${counts.size} resources from ${locationName(from)} to ${locationName(to)}, and counted them there${again}`,
    'uids, creation times and managed fields are unchanged; resourceVersions are new, so that clients list and watch again',
    keys.length > 0
      ? `the keys of the cluster were copied: ${keys.join(', ')}`
      : 'there were no keys of the cluster to copy: configure the server with those that clients and pods trust, with --client-ca-file, --service-account-key-file and --service-account-signing-key-file, or it makes new ones',
    ...(unreadable.length > 0 ? [`skipped, because they cannot be read: ${unreadable.join(', ')}`] : []),
  ]
}
