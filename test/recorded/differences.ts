/** The differences between two outcomes, in two classes: content that programs act on, and messages for people. */
import type { AllowedWording, Outcome } from './case.ts'

export type Difference = { readonly path: string; readonly recorded: unknown; readonly got: unknown }

export type Differences = {
  /** Code, media type, number of warnings, anything in the body except messages. */
  readonly content: readonly Difference[]
  /** Messages and warnings whose text differs. */
  readonly wording: readonly Difference[]
  /** Messages that differ only as AllowedWording permits. */
  readonly allowed: readonly Difference[]
}

const IS_WORDING = /(^|\.)(message|warnings\.\d+)$/

export function differencesOf(recorded: Outcome, got: Outcome, allowed: readonly AllowedWording[]): Differences {
  const all = [...compared(recorded, got, '')]
  const wording = all.filter(({ path }) => IS_WORDING.test(path))
  return {
    content: all.filter(difference => !wording.includes(difference)),
    wording: wording.filter(difference => !isAllowed(difference, allowed)),
    allowed: wording.filter(difference => isAllowed(difference, allowed)),
  }
}

function* compared(recorded: unknown, got: unknown, path: string): Generator<Difference> {
  if (recorded === got) return
  if (!isKeyed(recorded) || !isKeyed(got) || !isSameShape(recorded, got)) return yield { path, recorded, got }
  for (const key of new Set([...Object.keys(recorded), ...Object.keys(got)]))
    yield* compared(recorded[key], got[key], path === '' ? key : `${path}.${key}`)
}

type Keyed = Readonly<Record<string, unknown>>
const isKeyed = (value: unknown): value is Keyed => typeof value === 'object' && value !== null

/** Two objects, or two lists of the same length. */
const isSameShape = (a: Keyed, b: Keyed): boolean =>
  Array.isArray(a) && Array.isArray(b) ? a.length === b.length : Array.isArray(a) === Array.isArray(b)

/** Whether two messages are equal except for known differences. */
function isAllowed({ recorded, got }: Difference, allowed: readonly AllowedWording[]): boolean {
  if (typeof recorded !== 'string' || typeof got !== 'string') return false
  const without = (text: string) => allowed.reduce((rest, { pattern }) => rest.replace(new RegExp(pattern, 'g'), '<…>'), text)
  return without(recorded) === without(got)
}
