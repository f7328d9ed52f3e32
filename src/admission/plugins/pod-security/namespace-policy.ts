/** The policy that the labels of a namespace ask for: a level and a version to enforce, to audit and to warn about. */
import { entry, type FieldError, invalid, refTo } from '../../../schema/refs.ts'
import type { Level, LevelVersion } from './standards.ts'

export const MODES = ['enforce', 'audit', 'warn'] as const
export type Mode = (typeof MODES)[number]
export type NamespacePolicy = Readonly<Record<Mode, LevelVersion>>

const LEVELS: readonly Level[] = ['privileged', 'baseline', 'restricted']
const PREFIX = 'pod-security.kubernetes.io/'

/** The value of a label, or the reason why it has none. */
type Parsed<V> = { readonly value: V } | { readonly wrong: string }

export const parseLevel = (text: string): Parsed<Level> =>
  LEVELS.includes(text as Level) ? { value: text as Level } : { wrong: `must be one of ${LEVELS.join(', ')}` }

export function parseVersion(text: string): Parsed<LevelVersion['version']> {
  if (text === 'latest') return { value: 'latest' }
  const [, digits] = /^v1\.([0-9]|[1-9][0-9]*)$/.exec(text) ?? []
  const minor = Number(digits)
  return Number.isSafeInteger(minor) ? { value: minor } : { wrong: 'must be "latest" or "v1.x"' }
}

/**
 * The policy, with the defaults of the server for missing labels. A label that cannot be read is an error; until it is
 * mended the strictest level is enforced, and nothing is audited or warned about because of it. A namespace that enforces a level
 * stricter than the default warns about the same level.
 */
export function policyOf(
  labels: Readonly<Record<string, string>>,
  defaults: NamespacePolicy,
): { readonly policy: NamespacePolicy; readonly errors: readonly FieldError[] } {
  const errors: FieldError[] = []
  const at = refTo(labels, 'metadata.labels')
  const read = <V>(label: string, parse: (text: string) => Parsed<V>, instead: V): V | undefined => {
    if (!Object.hasOwn(labels, label)) return undefined
    const parsed = parse(labels[label]!)
    if ('value' in parsed) return parsed.value
    errors.push(invalid(entry(at, label), parsed.wrong))
    return instead
  }
  const modes = MODES.map(mode => {
    const level = read(PREFIX + mode, parseLevel, mode === 'enforce' ? 'restricted' : 'privileged')
    const version = read(`${PREFIX}${mode}-version`, parseVersion, 'latest')
    return [mode, { level: level ?? defaults[mode].level, version: version ?? defaults[mode].version }] as const
  })
  const policy = Object.fromEntries(modes) as Record<Mode, LevelVersion>
  const { enforce, warn } = policy
  const enforces = Object.hasOwn(labels, `${PREFIX}enforce`) && 'value' in parseLevel(labels[`${PREFIX}enforce`]!)
  if (enforces && !Object.hasOwn(labels, `${PREFIX}warn`) && compareLevels(enforce.level, warn.level) > 0)
    policy.warn = { level: enforce.level, version: Object.hasOwn(labels, `${PREFIX}warn-version`) ? warn.version : enforce.version }
  return { policy, errors }
}

/** Positive when the first level is the stricter one. */
export const compareLevels = (a: Level, b: Level): number => LEVELS.indexOf(a) - LEVELS.indexOf(b)

export const isSamePolicy = (a: LevelVersion, b: LevelVersion): boolean => a.level === b.level && a.version === b.version

/** Every version of `privileged` allows the same: everything. */
export const isEquivalent = (a: LevelVersion, b: LevelVersion): boolean =>
  isSamePolicy(a, b) || (a.level === 'privileged' && b.level === 'privileged')

export const isPrivileged = (policy: NamespacePolicy): boolean => MODES.every(mode => policy[mode].level === 'privileged')

/** As in `baseline:v1.30`. */
export const formatPolicy = ({ level, version }: LevelVersion): string => `${level}:${version === 'latest' ? version : `v1.${version}`}`

/** Those of the namespace's labels that ask for something, as in `enforce=baseline:latest, warn=restricted:latest`. */
export const describeLabels = (policy: NamespacePolicy, labels: Readonly<Record<string, string>>): string =>
  MODES.filter(
    mode =>
      policy[mode].level !== 'privileged' && (Object.hasOwn(labels, PREFIX + mode) || Object.hasOwn(labels, `${PREFIX}${mode}-version`)),
  )
    .map(mode => `${mode}=${formatPolicy(policy[mode])}`)
    .join(', ')
