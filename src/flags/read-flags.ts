/** Parses a command line into the configuration of a server, by the declared flags. */
import { join, resolve } from 'node:path'
import { nearestName } from '../lib/nearest-name.ts'
import { type Config, ConfigError, DEFAULTS } from '../server/config.ts'
import type { Draft, Flag, ServeOptions } from './flag.ts'
import { FLAGS } from './serve-flags.ts'
import { UsageError, unknownText } from './usage-error.ts'

/** `keelson serve` is for people; other servers are for programs. */
export const SERVE_DEFAULTS: Partial<Config> = { console: true }

/**
 * Parses the flags of `serve` as kube-apiserver does: `--name value`, `--name=value`, `--switch`, optionally with underscores for dashes.
 * Settings of a command replace the defaults. Throws ConfigError.
 */
export function readServeFlags(args: readonly string[], own: Partial<Config> = {}): ServeOptions & { readonly config: Config } {
  const given = new Map<Flag, string[]>()
  for (let i = 0; i < args.length; i++) {
    const [, written = '', , inline] = /^--([a-z0-9_-]+)(=([\s\S]*))?$/.exec(args[i]!) ?? []
    const name = written.replaceAll('_', '-')
    const flag = FLAGS.find(f => f.name === name)
    if (!flag) throw new UsageError(unknownText(`unknown argument ${args[i]}`, nearFlag(name), 'keelson serve --help'))
    const next = args[i + 1]
    // An argument that looks like a flag is the next flag; a value that begins with dashes has to be written after `=`.
    const isNextValue = next !== undefined && !next.startsWith('--')
    if (inline === undefined && isNextValue) i++
    const value = inline ?? (isNextValue ? next : flag.isSwitch ? 'true' : undefined)
    if (value === undefined) throw new UsageError(`--${name} needs a value: --${name} ${flag.takes}`)
    const values = given.get(flag)
    if (values) values.push(value)
    else given.set(flag, [value])
  }
  const draft: Draft = { ...DEFAULTS, ...own, apply: [], output: 'text', exitWithParent: false, processes: 1 }
  for (const [flag, values] of given) flag.read(values, draft, flag.name)
  const { apply, output, exitWithParent, processes, ...config } = draft
  const kubeconfig = resolve(config.kubeconfig ?? join(config.dataDir, 'admin.kubeconfig'))
  if (processes > 1) checkShareable(config)
  return { config: { ...config, kubeconfig }, apply, output, exitWithParent, processes }
}

/** The configuration of the server alone. */
export const readFlags = (args: readonly string[]): Config => readServeFlags(args).config

/** Throws ConfigError where several processes could not serve as one. */
function checkShareable({ store, enableFaultInjection, testEndpoints, localImages, workspaces }: Config): void {
  if (workspaces) throw new ConfigError('--processes: workspaces are in the memory of one process; leave out --processes or --workspaces')
  if (store === 'memory')
    throw new ConfigError('--processes: a store in memory belongs to one process; use --store embedded or etcd, or leave --processes out')
  if (enableFaultInjection)
    throw new ConfigError('--processes: injected faults are counted by one process; leave out --processes or --enable-fault-injection')
  if (testEndpoints)
    throw new ConfigError(
      '--processes: the clock and the state of tests are those of one process; leave out --processes or --test-endpoints',
    )
  if (localImages.length > 0)
    throw new ConfigError(
      '--processes: logs and sessions of local processes are those of one process; leave out --processes or --local-image',
    )
}

/** A flag with a similar name, or one that contains this name. */
function nearFlag(name: string): string | undefined {
  const names = FLAGS.map(flag => flag.name)
  const near = nearestName(name, names) ?? names.find(flag => name.length > 3 && (flag.includes(name) || name.includes(flag)))
  return near && `--${near}`
}
