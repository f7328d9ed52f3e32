// The first five minutes of the README: its commands are run with its manifests, and print exactly the shown output.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { KEELSON, patient, ROOT, run, type ServerProcess, startProcess, temporaryDirectory } from './kit.ts'
import { testWith } from './programs.ts'

type Block = { readonly language: string; readonly text: string }
type Shown = { readonly command: string; readonly output: string }

testWith(
  'kubectl',
  'the first five minutes of the README are what a new user sees',
  { timeout: 3 * patient.timeout },
  async (t, program) => {
    const home = temporaryDirectory(t)
    const bin = temporaryDirectory(t)
    symlinkSync(program, join(bin, 'kubectl'))
    // As in the folder of a clone, where npx finds the command of the package itself.
    writeFileSync(join(bin, 'npx'), `#!/bin/sh\nshift\nexec '${process.execPath}' '${KEELSON}' "$@"\n`, { mode: 0o755 })
    const reader = new Reader(t, home, { HOME: home, PATH: `${bin}${delimiter}${process.env['PATH']}` })
    for (const { language, text } of blocksOf('The first five minutes')) {
      if (language === 'yaml') writeFileSync(join(home, /^# (\S+)\n/.exec(text)?.[1] ?? ''), text)
      else for (const shown of commandsIn(text)) await reader.follow(shown)
    }
    assert.ok(reader.count >= 12, `only ${reader.count} commands were found`)
  },
)

/** Follows the README in an empty folder. */
class Reader {
  count = 0
  readonly #t: TestContext
  readonly #home: string
  readonly #env: NodeJS.ProcessEnv
  #server: ServerProcess | undefined
  /** The expected output of a watch once the next command is done. */
  #watching: { readonly lines: string[]; readonly output: string } | undefined

  constructor(t: TestContext, home: string, env: NodeJS.ProcessEnv) {
    this.#t = t
    this.#home = home
    this.#env = env
  }

  async follow({ command, output }: Shown): Promise<void> {
    this.count++
    if (command === 'npm start') return this.#serve(output)
    if (command.startsWith('export KUBECONFIG=')) return void (this.#env['KUBECONFIG'] = join(this.#home, 'keelson-data/admin.kubeconfig'))
    if (command.includes(' --watch')) return this.#watch({ command, output })
    const { stdout, stderr } = await run('sh', ['-c', command], { cwd: this.#home, env: this.#env })
    same(stdout + stderr, output, command)
    if (this.#watching) await this.#seen(this.#watching.output.split('\n').length)
  }

  /** A second time it has been stopped before, with no chance to prepare. */
  async #serve(output: string): Promise<void> {
    await this.#server?.stop('SIGKILL')
    this.#server = await startProcess(this.#t, { dataDir: join(this.#home, 'keelson-data'), flags: ['--nodes=1'] })
    same(this.#server.readyLine.replace(this.#home, '/home/you'), output, 'npm start')
  }

  async #watch({ command, output }: Shown): Promise<void> {
    const child = spawn('sh', ['-c', `exec ${command}`], { cwd: this.#home, env: this.#env, stdio: ['ignore', 'pipe', 'inherit'] })
    this.#t.after(() => child.kill())
    const lines: string[] = []
    createInterface(child.stdout).on('line', line => lines.push(line))
    this.#watching = { lines, output }
    await this.#seen(2)
  }

  /** Waits until a watch has printed that many lines, which must be the first of those in the README. */
  async #seen(count: number): Promise<void> {
    const { lines, output } = this.#watching!
    while (lines.length < count) await new Promise(resolve => setTimeout(resolve, 20))
    same(lines.slice(0, count).join('\n'), output.split('\n').slice(0, count).join('\n'), 'the watch')
    if (count === output.split('\n').length) this.#watching = undefined
  }
}

/** The code blocks of a section. */
function blocksOf(section: string): Block[] {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
  const [, text = ''] = readme.split(`\n## ${section}\n`)
  const [own = ''] = text.split('\n## ')
  return [...own.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', text = '']) => ({ language, text }))
}

/** The commands of a block, each with its output. */
function commandsIn(text: string): Shown[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map(part => {
      const [command = '', ...output] = part.trimEnd().split('\n')
      return { command, output: output.join('\n') }
    })
}

/** Equal, but for times, revisions, ports and spaces at the ends of lines; a line of three dots stands for any further lines. */
function same(printed: string, shown: string, what: string): void {
  const normal = (text: string) =>
    text
      .trimEnd()
      .replace(/\bin \d+ ms\b/g, 'in N ms')
      .replace(/(127\.0\.0\.1):\d+/g, '$1:PORT')
      .replace(/^revision \d+/gm, 'revision N')
      .replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'TIME')
      .replace(/ +$/gm, '')
      .replace(/\b\d+s$/gm, 'AGE')
  const [until, isOpen] = shown.endsWith('\n...') ? [shown.slice(0, -'\n...'.length), true] : [shown, false]
  const lines = normal(printed).split('\n')
  assert.equal((isOpen ? lines.slice(0, until.split('\n').length) : lines).join('\n'), normal(until), what)
}
