/** Formats of texts as declarative validation checks them, for the rules of fields (`declared-rules.ts`). */
import {
  DNS1123_LABEL_MAX_LENGTH,
  DNS1123_SUBDOMAIN_MAX_LENGTH,
  isDNS1123Label,
  isDNS1123Subdomain,
  isPrefixedLabelKey,
  isQualifiedName,
  isValidPathSegmentName,
  maxLengthMessage,
} from '../../lib/names.ts'
import { type FieldError, invalid, invalidEach, type Ref, tooLong, unsupported } from '../../schema/refs.ts'

/** The errors of a DNS name, in the words of declarative validation. */
export const longNameFaults = (name: string): string[] => inBytes(isDNS1123Subdomain(name))
/** The errors of a DNS label, in the words of declarative validation. */
export const shortNameFaults = (name: string): string[] => inBytes(isDNS1123Label(name))

/** Declarative validation counts bytes where hand-written validation counts characters. */
const inBytes = (messages: readonly string[]): string[] => messages.map(message => IN_BYTES.get(message) ?? message)
const IN_BYTES = new Map(
  [DNS1123_LABEL_MAX_LENGTH, DNS1123_SUBDOMAIN_MAX_LENGTH].map(max => [maxLengthMessage(max), maxLengthMessage(max, 'bytes')]),
)

type Check<V> = (value: V, at: Ref<V>) => Iterable<FieldError>

export const longName: Check<string> = (name, at) => invalidEach(at, longNameFaults(name))
export const shortName: Check<string> = (name, at) => invalidEach(at, shortNameFaults(name))
export const labelKey: Check<string> = (key, at) => invalidEach(at, isQualifiedName(key))
export const prefixedLabelKey: Check<string> = (key, at) => invalidEach(at, isPrefixedLabelKey(key))
export const pathSegmentName: Check<string> = (name, at) => invalidEach(at, isValidPathSegmentName(name))

export const uuid: Check<string> = (id, at) => (UUID.test(id) ? [] : [invalid(at, 'must be a lowercase UUID in 8-4-4-4-12 format')])
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** One of several values. */
export const choice =
  (...values: readonly string[]): Check<string> =>
  (value, at) =>
    values.includes(value) ? [] : [unsupported(at, ...[...values].sort())]

export const minimum =
  (min: number): Check<number | bigint> =>
  (value, at) =>
    value < min ? [invalid(at, `must be greater than or equal to ${min}`)] : []

export const maximum =
  (max: number): Check<number | bigint> =>
  (value, at) =>
    value > max ? [invalid(at, `must be less than or equal to ${max}`)] : []

export const maxLength =
  (max: number): Check<string> =>
  (value, at) =>
    [...value].length > max ? [tooLong(at, max, 'character')] : []

/** A number that never decreases. */
export function* monotonic(value: number | bigint, at: Ref<number | bigint>, old: number | bigint | undefined): Iterable<FieldError> {
  if (old !== undefined && value < old) yield invalid(at, `may not be decreased from ${old}`)
}

/** Names under domains that belong to Kubernetes. */
export function* notReserved(name: string, at: Ref<string>): Iterable<FieldError> {
  if (isReservedDomain(name)) yield invalid(at, 'domain names *.k8s.io, *.kubernetes.io are reserved')
}

/** Whether the domain before the slash belongs to Kubernetes. */
export function isReservedDomain(name: string): boolean {
  const [prefix = ''] = name.toLowerCase().split('/', 1)
  const domain = prefix.trim()
  let end = domain.length
  while (end > 0 && domain[end - 1] === '.') end--
  return ['.k8s.io', '.kubernetes.io'].some(reserved => `.${domain.slice(0, end)}`.endsWith(reserved))
}
