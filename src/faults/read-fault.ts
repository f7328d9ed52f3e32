/** Reads a fault from a test or the body of a request, and checks every field of it. */
import { LIMITS } from '../lib/limits.ts'
import { didYouMean } from '../lib/nearest-name.ts'
import type { Fault } from '../public.d.ts'

/** An invalid fault; the message names the mistake and its correction. */
export class FaultError extends TypeError {}

type Check = { readonly takes: string; readonly fits: (value: any) => boolean }

const isText = (value: unknown): boolean => typeof value === 'string' && value.length <= LIMITS.faults.textLength
const text: Check = { takes: 'a string', fits: isText }
/** Verbs of resources, and methods, which are the verbs of other paths. */
const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection', 'post', 'put', 'head', 'options']
const verbs: Check = {
  takes: `one of ${VERBS.join(', ')}, or a list of them`,
  fits: value =>
    VERBS.includes(value) ||
    (Array.isArray(value) && value.length > 0 && value.length <= LIMITS.faults.verbs && value.every(each => VERBS.includes(each))),
}
const count: Check = { takes: 'a whole number, 0 or more', fits: value => Number.isSafeInteger(value) && value >= 0 }
const isDelay = (value: unknown): boolean => typeof value === 'number' && value >= 0 && value <= LIMITS.faults.delayMs
const delay: Check = { takes: `a number of milliseconds, ${LIMITS.faults.delayMs} at most`, fits: isDelay }
const only = (...values: readonly unknown[]): Check => ({
  takes: values.map(value => JSON.stringify(value)).join(' or '),
  fits: value => values.includes(value),
})

const SELECTORS: Readonly<Record<string, Check>> = {
  verb: verbs,
  resource: text,
  kind: text,
  subresource: text,
  namespace: text,
  name: text,
  user: text,
}
const HOW_OFTEN: Readonly<Record<string, Check>> = {
  probability: { takes: 'a number from 0 to 1', fits: value => typeof value === 'number' && value >= 0 && value <= 1 },
  times: count,
  skip: count,
}
const EFFECTS: Readonly<Record<string, Check>> = {
  delayMs: delay,
  status: { takes: 'a code from 400 to 599', fits: value => Number.isInteger(value) && value >= 400 && value <= 599 },
  disconnect: only(true, false),
  loseAnswer: only(true, false),
  restart: only('before', 'after'),
  bytesPerSecond: { takes: 'a number of bytes, 1 or more', fits: value => typeof value === 'number' && value >= 1 },
  staleBy: count,
  events: {
    takes: 'drop, gone, end or { delayMs }',
    fits: value =>
      ['drop', 'gone', 'end'].includes(value) || (isObject(value) && Object.keys(value).join() === 'delayMs' && isDelay(value['delayMs'])),
  },
}
/** Fields that need an effect, with that effect. */
const MORE: Readonly<Record<string, Check & { readonly of: string }>> = {
  message: { ...text, of: 'status' },
  retryAfterSeconds: { ...count, of: 'status' },
  downMs: { ...delay, of: 'restart' },
}
const KNOWN: Readonly<Record<string, Check>> = { ...SELECTORS, ...HOW_OFTEN, ...EFFECTS, ...MORE }

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A valid copy of a fault. Throws FaultError. */
export function readFault(value: unknown): Fault {
  if (!isObject(value)) throw new FaultError(`a fault is an object, not ${shown(value)}`)
  const given = Object.entries(value).filter(([, part]) => part !== undefined)
  for (const [name, part] of given) {
    const check = Object.hasOwn(KNOWN, name) ? KNOWN[name] : undefined
    if (!check)
      throw new FaultError(
        `a fault has no ${shown(name)}${didYouMean(name, Object.keys(KNOWN), `; it has ${Object.keys(KNOWN).join(', ')}`)}`,
      )
    if (!check.fits(part)) throw new FaultError(`${name} must be ${check.takes}, not ${shown(part)}${suggestion(name, part)}`)
  }
  const fault = Object.fromEntries(given) as Fault
  const has = (name: string) => Object.hasOwn(fault, name) && fault[name as keyof Fault] !== false
  if (!Object.keys(EFFECTS).some(has)) throw new FaultError(`a fault needs an effect: one of ${Object.keys(EFFECTS).join(', ')}`)
  for (const [name, { of }] of Object.entries(MORE))
    if (has(name) && !has(of)) throw new FaultError(`${name} says more about ${of}, which is not there`)
  return fault
}

const suggestion = (name: string, value: unknown): string =>
  name === 'verb' ? [value].flat().reduce<string>((text, verb) => text || didYouMean(String(verb), VERBS), '') : ''

const MAX_SHOWN_LENGTH = 60
function shown(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  const json = JSON.stringify(value) ?? String(value)
  return json.length > MAX_SHOWN_LENGTH ? `${json.slice(0, MAX_SHOWN_LENGTH)}…` : json
}
