/** The flags of a server with their values, in the notation of Go's flags, as `/flagz` shows them. */
import { FLAGS } from './flags/serve-flags.ts'
import { formatDuration } from './lib/duration.ts'
import type { Config } from './server/config.ts'
import { settingsOf } from './start-options.ts'

/** The values of all flags that configure a server, whether flags or options of the library have set them. None of them is a secret. */
export function flagValues(config: Config): Readonly<Record<string, string>> {
  const flags = new Map(FLAGS.map(flag => [flag.name, flag]))
  const values: Record<string, string> = {}
  for (const { flag: name, name: setting, value } of settingsOf(config)) {
    const flag = flags.get(name)
    if (flag) values[name] = flag.takes.startsWith('CIDR') ? String(value) : textOf(value, setting)
  }
  return values
}

function textOf(value: unknown, setting: string): string {
  if (value === undefined) return ''
  if (typeof value === 'number' && setting.endsWith('Ms')) return formatDuration(BigInt(Math.round(value * 1e6)))
  if (Array.isArray(value)) return `[${value.join(',')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  if ('from' in value && 'to' in value) return `${value.from}-${value.to}`
  return Object.entries(value)
    .map(([key, each]) => `${key}=${each}`)
    .join(',')
}
