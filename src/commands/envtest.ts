/** `keelson envtest`: prints a folder with the programs that test harnesses start, for KUBEBUILDER_ASSETS. */
import { createHash } from 'node:crypto'
import { accessSync, constants, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { UsageError } from '../flags/usage-error.ts'
import { makeFolders } from '../lib/folders.ts'
import { replaceFile } from '../lib/private-files.ts'
import { trustPlace } from '../server/files/trusted-files.ts'
import { VERSION } from '../version.ts'
import type { Command } from './command.ts'

export const envtest: Command = async args => {
  const [flag, value] = args
  if (args.length > 0 && !(args.length === 2 && flag === '--dir')) throw new UsageError('keelson envtest takes --dir DIR and nothing else')
  // The command is run as `node PACKAGE/bin/keelson.js envtest`, or through npm's link to it.
  const bin = dirname(realpathSync(process.argv[1] ?? ''))
  const programs = programsOf(process.execPath, bin, kubectlOnPath())
  const folder = value === undefined ? join(cacheFolder(), 'keelson', `envtest-${VERSION}-${digest(programs)}`) : resolve(value)
  makeFolders(folder, 0o755)
  // Any other user with write permission there could change the programs before they are started.
  const { path } = trustPlace(folder, message => process.stderr.write(`keelson: ${message}\n`))
  // Replaced atomically: another run may be about to start the existing one.
  for (const [name, script] of Object.entries(programs)) replaceFile(join(path, name), script, 0o755)
  process.stdout.write(`${folder}\n`)
  return 0
}

const cacheFolder = () => process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
const digest = (programs: object) => createHash('sha256').update(JSON.stringify(programs)).digest('hex').slice(0, 12)
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

/** Scripts by name; each replaces itself by its program (exec), so that signals reach it. */
function programsOf(node: string, bin: string, kubectl: string | undefined): Record<string, string> {
  const start = (script: string, ...args: string[]) => `#!/bin/sh\nexec ${[node, join(bin, script), ...args].map(quoted).join(' ')} "$@"\n`
  const none = `#!/bin/sh\necho 'kubectl: none was on the PATH when keelson envtest was run; install one and run it again' >&2\nexit 127\n`
  return {
    // No process stays behind when a harness is killed.
    'kube-apiserver': start('keelson.js', 'kube-apiserver', '--exit-with-parent'),
    etcd: start('etcd.js', '--exit-with-parent'),
    kubectl: kubectl === undefined ? none : `#!/bin/sh\nexec ${quoted(kubectl)} "$@"\n`,
  }
}

function kubectlOnPath(): string | undefined {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const program = join(folder, 'kubectl')
    // Not the one that an earlier run has created.
    if (folder === '' || /\/keelson\/envtest-[^/]*\/?$/.test(folder)) continue
    try {
      accessSync(program, constants.X_OK)
      return program
    } catch {}
  }
  return undefined
}
