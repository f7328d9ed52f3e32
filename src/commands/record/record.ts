/** `keelson record FILE -- COMMAND`: runs a command with a server of its own, and keeps everything that happened in a file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { readServeFlags } from '../../flags/read-flags.ts'
import { UsageError } from '../../flags/usage-error.ts'
import { replaceFile } from '../../lib/private-files.ts'
import { recordingText } from '../../library/recording/recording-file.ts'
import { RunRecorder } from '../../library/recording/run-recorder.ts'
import { startChild } from '../child.ts'
import type { Command } from '../command.ts'
import { askedToStop, ENDING_WITH_TERMINAL } from '../signals.ts'
import { sizeText } from '../text.ts'
import { startWithKit } from './start-with-kit.ts'

const USAGE = 'keelson record FILE [flags of serve] -- COMMAND …'

export const record: Command = async args => {
  const end = args.indexOf('--')
  const [file, ...flags] = end < 0 ? args : args.slice(0, end)
  const [program, ...rest] = end < 0 ? [] : args.slice(end + 1)
  if (file === undefined || file.startsWith('-')) throw new UsageError(`which file? ${USAGE}`)
  if (program === undefined) throw new UsageError(`no command; write it after two dashes: ${USAGE}`)
  const folder = mkdtempSync(join(tmpdir(), 'keelson-record-'))
  try {
    const { config, apply, processes } = readServeFlags(['--store=memory', '--secure-port=0', `--data-dir=${folder}`, ...flags])
    if (config.store !== 'memory' || processes > 1)
      throw new UsageError('--store, --processes: the server of a recording is in memory, and is this process')
    const stop = askedToStop(ENDING_WITH_TERMINAL)
    const { server, kit } = await startWithKit(config, { apply })
    await using _ = server
    const recorder = await RunRecorder.begin(kit, server)
    const child = startChild(program, rest, { KUBECONFIG: config.kubeconfig!, KEELSON_URL: server.url })
    stop.then(signal => child.kill(signal))
    const exitCode = await child.exited
    const { recording, isComplete } = await recorder.end({ command: [program, ...rest], flags, groupDomain: config.groupDomain, exitCode })
    const text = recordingText(recording)
    replaceFile(resolve(file), text)
    const { revision, writes, requests } = recording
    process.stderr.write(
      `recorded revisions ${revision} to ${writes.at(-1)?.revision ?? revision} and ${requests.length === 1 ? '1 request' : `${requests.length} requests`} in ${file} (${sizeText(text.length)}); Secrets are in it\n`,
    )
    if (!isComplete) process.stderr.write('the run has written more than a recording holds: its end is missing\n')
    return exitCode
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
