/** Named formats of strings: format.dns1123Label() and the like, format.named and validate. */

import { isQualifiedName, isValidLabelValue, nameIsDNS1035Label, nameIsDNSLabel, nameIsDNSSubdomain } from '../../lib/names.ts'
import { checkRequestUri, UrlError } from '../../lib/url.ts'
import type { Library } from '../checker/library.ts'
import { listType, objectType, optionalType, stringType } from '../checker/types.ts'
import { type CelFault, CelOpaque, CelOptional, type CelValue, listOf, noSuchOverload, optionalNone } from '../runtime/values.ts'
import { matchingCost, unitCost } from './call-costs.ts'
import { fn, global, member } from './declare.ts'

export const formatType = objectType('kubernetes.NamedFormat')

interface Format {
  readonly title: string
  readonly check: (text: string) => readonly string[]
  /** The length of an equivalent pattern, which determines costs. */
  readonly patternLength: number
}

/** A format as a value. */
class FormatValue extends CelOpaque {
  readonly type = formatType
  readonly format: Format
  constructor(format: Format) {
    super()
    this.format = format
  }
  equalTo(other: CelValue): boolean | CelFault {
    return other instanceof FormatValue ? other.format.title === this.format.title : noSuchOverload
  }
}

const matching =
  (isFine: (text: string) => boolean, message: string) =>
  (text: string): readonly string[] =>
    isFine(text) ? [] : [message]

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i
const DATE_TIME_PATTERN_LENGTH = 71
const UUID_PATTERN_LENGTH = 70

const formats: ReadonlyMap<string, Format> = new Map([
  ['dns1123Label', { title: 'DNS1123Label', check: text => nameIsDNSLabel(text), patternLength: 30 }],
  ['dns1123Subdomain', { title: 'DNS1123Subdomain', check: text => nameIsDNSSubdomain(text), patternLength: 60 }],
  ['dns1035Label', { title: 'DNS1035Label', check: text => nameIsDNS1035Label(text), patternLength: 30 }],
  ['qualifiedName', { title: 'QualifiedName', check: isQualifiedName, patternLength: 60 }],
  ['dns1123LabelPrefix', { title: 'DNS1123LabelPrefix', check: text => nameIsDNSLabel(text, 'prefix'), patternLength: 30 }],
  ['dns1123SubdomainPrefix', { title: 'DNS1123SubdomainPrefix', check: text => nameIsDNSSubdomain(text, 'prefix'), patternLength: 60 }],
  ['dns1035LabelPrefix', { title: 'DNS1035LabelPrefix', check: text => nameIsDNS1035Label(text, 'prefix'), patternLength: 30 }],
  ['labelValue', { title: 'LabelValue', check: isValidLabelValue, patternLength: 40 }],
  ['uri', { title: 'URI', check: uriFaults, patternLength: 1103 }],
  [
    'uuid',
    { title: 'uuid', check: matching(text => UUID.test(text), 'does not match the UUID format'), patternLength: UUID_PATTERN_LENGTH },
  ],
  ['byte', { title: 'byte', check: matching(isBase64, 'invalid base64'), patternLength: 84 }],
  ['date', { title: 'date', check: matching(isDate, 'invalid date'), patternLength: DATE_TIME_PATTERN_LENGTH }],
  ['datetime', { title: 'datetime', check: matching(isDateTime, 'invalid datetime'), patternLength: DATE_TIME_PATTERN_LENGTH }],
])

export function formatLibrary(): Library {
  const values = new Map([...formats].map(([name, format]) => [name, new FormatValue(format)]))
  return {
    functions: [
      fn(
        'format.named',
        global({ id: 'format-named', params: [stringType], result: optionalType(formatType), cost: unitCost }, (name: string) => {
          const found = values.get(name)
          return found ? new CelOptional(found) : optionalNone
        }),
      ),
      fn(
        'validate',
        member(
          {
            id: 'format-validate',
            params: [formatType, stringType],
            result: optionalType(listType(stringType)),
            cost: ([format, text]) => (format instanceof FormatValue ? matchingCost(text, format.format.patternLength) : 1),
          },
          validate,
        ),
      ),
      ...[...values].map(([name, value]) =>
        fn(
          `format.${name}`,
          global({ id: `format.${name}`, params: [], result: formatType }, () => value),
        ),
      ),
    ],
  }
}

function validate({ format }: FormatValue, text: string): CelValue {
  const messages = format.check(text)
  return messages.length === 0 ? optionalNone : new CelOptional(listOf(messages))
}

function uriFaults(text: string): readonly string[] {
  try {
    checkRequestUri(text)
    return []
  } catch (error) {
    if (error instanceof UrlError) return [error.message]
    throw error
  }
}

/** Base64 with padding; the empty string is invalid, as in the OpenAPI validator. */
function isBase64(text: string): boolean {
  return /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/.test(text)
}

function isDate(text: string): boolean {
  const [, year, month, day] = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text) ?? []
  if (day === undefined) return false
  const date = new Date(0)
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day)
}

function isDateTime(text: string): boolean {
  const [date = '', time] = text.toLowerCase().split('t')
  if (time === undefined || !isDate(date)) return false
  const [, hours = '', minutes = '', seconds = ''] =
    /^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$/.exec(time) ?? []
  return seconds !== '' && hours <= '23' && minutes <= '59' && seconds <= '59'
}
