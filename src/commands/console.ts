/** `keelson console`: opens the console in a browser, logged in as the user of a kubeconfig. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { readFlags } from '../flags/read-flags.ts'
import { UsageError } from '../flags/usage-error.ts'
import { ConfigError } from '../server/config.ts'
import { apiClient } from './api-client.ts'
import { readArguments } from './arguments.ts'
import type { Command } from './command.ts'
import { readAccess } from './kubeconfig.ts'
import { PLACE_FLAGS } from './place.ts'

const USAGE = 'keelson console [--print] [--data-dir DIR] [--kubeconfig FILE] [--context-name NAME]'
/** Enough for a browser to start and read the page that leads to the console. */
const READ_MS = 10_000

export const openConsole: Command = async args => {
  const given = readArguments(args, { flags: PLACE_FLAGS, switches: ['print'], usage: USAGE })
  if (given.rest.length > 0) throw new UsageError(`unknown argument ${given.rest[0]}: ${USAGE}`)
  const access = readAccess(readFlags(given.only(PLACE_FLAGS)))
  const answer = await apiClient(access).send<{ readonly code: string; readonly user: string; readonly expiresSeconds: number }>(
    'POST',
    '/console/codes',
  )
  if (!answer.ok)
    throw new ConfigError(answer.status === 404 ? `${access.server} serves no console; keelson serve --console does` : answer.message)
  const { code, user, expiresSeconds } = answer.body
  const link = `${access.server}/console/#code=${code}`
  process.stdout.write(`${link}\n`)
  process.stderr.write(`keelson: this link logs ${user} in, once, within ${expiresSeconds} seconds\n`)
  if (!given.has('print')) await openInBrowser(link)
  return 0
}

/** Programs that open an address in the browser of the user, by platform. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [program: string, ...args: string[]]>>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** Every user of a machine can see the arguments of programs, so the browser gets a file that leads to the link. */
async function openInBrowser(link: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-console-'))
  try {
    const page = join(folder, 'console.html')
    writeFileSync(page, `<!doctype html><meta http-equiv="refresh" content="0; url=${link}"><a href="${link}">console</a>\n`, {
      mode: 0o600,
    })
    const [program, ...args] = OPENERS[process.platform] ?? ['xdg-open']
    const isOpened = await new Promise<boolean>(resolve => {
      const child = spawn(program, [...args, pathToFileURL(page).href], { stdio: 'ignore', detached: true })
      child.once('error', () => resolve(false))
      child.once('exit', code => resolve(code === 0))
      child.unref()
    })
    if (isOpened) await sleep(READ_MS)
    else process.stderr.write(`keelson: ${program} opened no browser: open the link in one\n`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
