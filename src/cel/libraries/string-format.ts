/** `string.format` at run time. Numbers with a fraction use the American notation, as in this version of cel-go. */

import { fixedText, scientificText } from '../../lib/float-text.ts'
import { compareText, goWholeQuote } from '../../lib/go-text.ts'
import { toText } from '../runtime/conversions.ts'
import {
  CelDouble,
  CelDuration,
  CelList,
  CelMap,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelValue,
  elementsOf,
  fault,
  isInt,
  runtimeType,
} from '../runtime/values.ts'
import { type Clause, clauseProblems, FormatError, fillTemplate } from './string-format-template.ts'

/** The template filled in with the elements of a list, or a fault. */
export function formatText(template: string, args: CelList): CelValue {
  try {
    return fillTemplate(template, { count: args.size, fill: (clause, index) => formatClause(clause, args.at(index)) }).text
  } catch (error) {
    if (error instanceof FormatError) return fault(error.message)
    throw error
  }
}

const DEFAULT_PRECISION = 6

function formatClause(clause: Clause, value: CelValue): string {
  const formatted = byVerb(clause, value)
  if (formatted !== undefined) return formatted
  throw new FormatError(`${clauseProblems[clause.verb]} ${runtimeType(value).name}`)
}

function byVerb({ verb, precision = DEFAULT_PRECISION }: Clause, value: CelValue): string | undefined {
  switch (verb) {
    case 's':
      return displayed(value)
    case 'd':
      return wholeOf(value)?.toString()
    case 'f':
      return fixed(numberOf(value), precision)
    case 'e':
      return scientific(numberOf(value), precision)
    case 'b':
      return typeof value === 'boolean' ? String(Number(value)) : wholeOf(value)?.toString(2)
    case 'x':
      return hex(value)
    case 'X':
      return hex(value)?.toUpperCase()
    case 'o':
      return wholeOf(value)?.toString(8)
  }
}

const wholeOf = (value: CelValue): number | bigint | undefined =>
  isInt(value) ? value : value instanceof CelUint ? value.value : undefined

function numberOf(value: CelValue): number | undefined {
  if (value instanceof CelDouble) return value.value
  return value === 'NaN' || value === 'Infinity' || value === '-Infinity' ? Number(value) : undefined
}

function hex(value: CelValue): string | undefined {
  if (typeof value === 'string') return Buffer.from(value).toString('hex')
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  return wholeOf(value)?.toString(16)
}

/** Doubles have no digits beyond this. */
const MAX_PLACES = 1100

function fixed(value: number | undefined, precision: number): string | undefined {
  if (value === undefined || !Number.isFinite(value)) return value === undefined ? undefined : special(value)
  const text = fixedText(value === 0 ? 0 : value, Math.min(precision, MAX_PLACES))
  const [whole = '', fraction] = text.split('.')
  const grouped = whole.replace(/\B(?=(?:[0-9]{3})+$)/g, ',')
  return fraction === undefined ? grouped : `${grouped}.${fraction}`
}

const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹'

/** The precision is used as the minimum width: that is how cel-go calls its printer. */
function scientific(value: number | undefined, width: number): string | undefined {
  if (value === undefined) return undefined
  return (Number.isFinite(value) ? powerOfTen(value) : special(value)).padStart(Math.min(width, 0xffff))
}

function powerOfTen(value: number): string {
  const { sign, mantissa, exponent } = scientificText(value === 0 ? 0 : value, DEFAULT_PRECISION)
  const digits = String(Math.abs(exponent)).padStart(2, '0')
  return `${sign}${mantissa}×10${exponent < 0 ? '⁻' : ''}${[...digits].map(digit => SUPERSCRIPTS[Number(digit)]).join('')}`
}

const special = (value: number): string => (Number.isNaN(value) ? 'NaN' : value > 0 ? '∞' : '-∞')

/** A value as `%s` formats it; undefined if it cannot be formatted. */
function displayed(value: CelValue): string | undefined {
  if (value === null) return 'null'
  if (value instanceof CelList) return `[${[...elementsOf(value)].map(nested).join(', ')}]`
  if (value instanceof CelMap) return displayedMap(value)
  if (value instanceof CelTypeValue) return value.type.name
  const text = toText(value)
  return typeof text === 'string' ? text : undefined
}

function displayedMap(map: CelMap): string {
  const entries = map.keys().map(key => {
    const isKey = typeof key === 'string' || typeof key === 'boolean' || wholeOf(key) !== undefined
    if (!isKey) throw new FormatError(`no formatting function for map key of type ${runtimeType(key).name}`)
    return [nested(key), nested(map.find(key) ?? null)] as const
  })
  entries.sort(([a], [b]) => compareText(a, b))
  return `{${entries.map(([key, value]) => `${key}:${value}`).join(', ')}}`
}

/** A value inside a list or map, as it would be written in an expression. */
function nested(value: CelValue): string {
  if (value instanceof CelDouble) {
    if (Number.isFinite(value.value)) return fixedText(value.value, DEFAULT_PRECISION)
    return goWholeQuote(Number.isNaN(value.value) ? 'NaN' : value.value > 0 ? '+Inf' : '-Inf')
  }
  const text = displayed(value)
  if (text === undefined) throw new FormatError(`no formatting function for ${runtimeType(value).name}`)
  if (typeof value === 'string') return goWholeQuote(text)
  if (value instanceof Uint8Array) return `b${goWholeQuote(text)}`
  if (value instanceof CelTimestamp) return `timestamp(${goWholeQuote(text)})`
  return value instanceof CelDuration ? `duration(${goWholeQuote(text)})` : text
}
