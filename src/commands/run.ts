/** `keelson run -- COMMAND`: runs a server as long as a command runs. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readServeFlags } from '../flags/read-flags.ts'
import { UsageError } from '../flags/usage-error.ts'
import { ConfigError } from '../server/config.ts'
import { startChild } from './child.ts'
import type { Command } from './command.ts'
import { askedToStop, ENDING_WITH_TERMINAL } from './signals.ts'
import { startFor } from './start.ts'

export const run: Command = async args => {
  const end = args.indexOf('--')
  const [program, ...rest] = end < 0 ? [] : args.slice(end + 1)
  if (program === undefined) throw new UsageError('no command; write it after two dashes: keelson run -- go test ./...')
  const folder = mkdtempSync(join(tmpdir(), 'keelson-run-'))
  try {
    // Flags of the user come later and take precedence.
    const own = ['--store=memory', '--secure-port=0', `--data-dir=${folder}`]
    const given = args.slice(0, end)
    const { config: read, apply, processes } = readServeFlags([...own, ...given])
    if (processes > 1) throw new ConfigError('--processes is for keelson serve; the server of keelson run is this process')
    const saysTestEndpoints = given.some(arg => /^--test[-_]endpoints(=|$)/.test(arg))
    const config = saysTestEndpoints ? read : { ...read, testEndpoints: read.store !== 'etcd' }
    const stop = askedToStop(ENDING_WITH_TERMINAL)
    await using server = await startFor({ config, apply })
    const child = startChild(program, rest, { KUBECONFIG: config.kubeconfig!, KEELSON_URL: server.url })
    // The terminal sends its signals to both processes; signals to only this one are forwarded.
    stop.then(signal => child.kill(signal))
    return await child.exited
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
