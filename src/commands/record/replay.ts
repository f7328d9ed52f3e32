/** `keelson replay FILE --to REVISION`: brings a server to a moment of a recorded run, to look at it or to run a command against it. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readServeFlags } from '../../flags/read-flags.ts'
import { UsageError } from '../../flags/usage-error.ts'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { MovableClock } from '../../library/movable-clock.ts'
import { lastRevision, type Moment, momentAt } from '../../library/recording/moment.ts'
import { type Recording, RecordingError, recordingIn } from '../../library/recording/recording-file.ts'
import type { TestKit } from '../../library/test-kit.ts'
import { type Config, ConfigError } from '../../server/config.ts'
import type { Server } from '../../server/running-server.ts'
import { startChild } from '../child.ts'
import type { Command } from '../command.ts'
import { readOwnFlags } from '../own-flags.ts'
import { askedToStop, ENDING_WITH_TERMINAL } from '../signals.ts'
import { startWithKit } from './start-with-kit.ts'
import { timelineOf } from './timeline.ts'

const USAGE = 'keelson replay FILE [--to REVISION] [--list] [flags of serve] [-- COMMAND …]'

export const replay: Command = async args => {
  const [file, ...more] = args
  if (file === undefined || file.startsWith('-')) throw new UsageError(`which file? ${USAGE}`)
  const own = readOwnFlags(more, { flags: ['to'], switches: ['list'] })
  const recording = read(file)
  if (own.has('list')) {
    process.stdout.write(timelineOf(recording))
    return 0
  }
  const moment = namingFile(file, () => momentAt(recording, revisionIn(own.value('to'), recording)))
  const folder = mkdtempSync(join(tmpdir(), 'keelson-replay-'))
  try {
    const isLooking = own.command.length === 0
    const config = configOf(recording, { folder, isLooking, given: own.others })
    const stop = askedToStop(ENDING_WITH_TERMINAL)
    const { server, kit } = await startWithKit(config, { clock: new MovableClock(clockFrom(moment)) })
    await using _ = server
    await bringTo(moment, kit, { isLooking })
    if (isLooking) return await look(moment, { server, config, stop })
    kit.faults.replaceAll(moment.faults, moment.seed)
    const [program, ...rest] = own.command
    const child = startChild(program!, rest, { KUBECONFIG: config.kubeconfig!, KEELSON_URL: server.url })
    stop.then(signal => child.kill(signal))
    return await child.exited
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function read(file: string): Recording {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(`${file} cannot be read: ${(error as Error).message}`)
  }
  return namingFile(file, () => recordingIn(text))
}

function namingFile<T>(file: string, run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw error instanceof RecordingError ? new ConfigError(`${file} ${error.message}`) : error
  }
}

function revisionIn(text: string | undefined, recording: Recording): number {
  if (text === undefined) return lastRevision(recording)
  if (!/^\d{1,15}$/.test(text))
    throw new UsageError(`--to takes a revision, a whole number, not "${text}"; keelson replay FILE --list shows them`)
  return Number(text)
}

type ReplayStart = { readonly folder: string; readonly isLooking: boolean; readonly given: readonly string[] }

/** The flags of the recorded server, then those of the user. To look at a state, nothing may change it. */
function configOf({ flags, groupDomain }: Recording, { folder, isLooking, given }: ReplayStart): Config {
  const still = isLooking ? ['--controllers=none', '--nodes=0'] : []
  const own = ['--store=memory', '--secure-port=0', `--data-dir=${folder}`]
  const recorded = withoutApply(flags)
  const { config } = readServeFlags([...own, ...recorded, ...still, ...given])
  if (config.store !== 'memory') throw new UsageError('--store: a replay is in memory')
  if (config.groupDomain !== groupDomain) throw new UsageError(`--group-domain: the recorded server had ${groupDomain}`)
  return config
}

/** Objects that were applied are in the recorded state. */
function withoutApply(flags: readonly string[]): readonly string[] {
  return readOwnFlags(flags, { flags: ['apply'] }).others
}

/** Certificates that are older are no longer valid for clients, whose clock cannot be moved. */
const MAX_AGE_MS = 300 * 86_400_000

/** The time that a start may take. */
const START_MS = 60_000

/** A clock that reaches the time of the moment soon. Clients would not trust a server that begins in the future. */
function clockFrom({ at }: Moment): Clock {
  const aheadMs = Date.parse(at) - START_MS - systemClock.now()
  if (aheadMs >= 0 || aheadMs < -MAX_AGE_MS) return systemClock
  return { now: () => systemClock.now() + aheadMs, after: (ms, run, options) => systemClock.after(ms, run, options) }
}

async function bringTo({ state, at, isFrozen }: Moment, kit: TestKit, { isLooking }: { readonly isLooking: boolean }): Promise<void> {
  kit.clock.freeze()
  await kit.advance(Math.max(0, Date.parse(at) - kit.clock.now()))
  await kit.restore(state)
  if (!isFrozen && !isLooking) kit.clock.resume()
}

type Looking = { readonly server: Server; readonly config: Config; readonly stop: Promise<NodeJS.Signals> }

async function look({ revision, at, state }: Moment, { server, config, stop }: Looking): Promise<number> {
  process.stdout.write(
    `revision ${revision}, ${at}: ${state.records.size} objects at ${server.url}; no controller runs, and the clock stands still\nexport KUBECONFIG=${config.kubeconfig}\n`,
  )
  await stop
  return 0
}
