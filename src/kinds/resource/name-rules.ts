/** Names of this group: drivers, pools, attributes, counters, shares and extended resources. */
import { goQuote } from '../../lib/go-text.ts'
import { isCIdentifier, isDNS1123Subdomain, isDNS1123SubdomainCaseless, isQualifiedName } from '../../lib/names.ts'
import { type FieldError, hasErrors, invalid, invalidEach, type Ref, required, tooLong, withValue } from '../../schema/refs.ts'
import { longNameFaults } from '../rules/declared-formats.ts'
import { type Finding, late } from './findings.ts'

const MAX_DRIVER_LENGTH = 63
const MAX_POOL_BYTES = 253
const MAX_DOMAIN_BYTES = 63
const MAX_IDENTIFIER_BYTES = 32

/** The maximum length of a qualified name: domain, slash, identifier. */
export const MAX_QUALIFIED_NAME_BYTES = MAX_DOMAIN_BYTES + 1 + MAX_IDENTIFIER_BYTES

/** The name of a driver: a DNS name in either case. */
export function* validateDriverName(name: string, at: Ref<any>): Iterable<FieldError> {
  const here = withValue(at, name)
  if (name === '') return yield required(here)
  if (Buffer.byteLength(name) > MAX_DRIVER_LENGTH) yield tooLong(here, MAX_DRIVER_LENGTH)
  yield* invalidEach(here, isDNS1123Subdomain(name.toLowerCase()))
}

/** The name of a driver, as a declarative rule; `max` is its maximum length. */
export function* validateDeclaredDriverName(name: string, at: Ref<string>, max = MAX_DRIVER_LENGTH): Iterable<Finding> {
  if (name === '') return yield* late([required(at)])
  yield* late(invalidEach(at, isDNS1123SubdomainCaseless(name)))
  if ([...name].length > max) yield* late([tooLong(at, max, 'character')])
}

/** The name of a pool: DNS names between slashes. */
export function* validatePoolName(name: string, at: Ref<string>): Iterable<FieldError> {
  if (name === '') return yield required(at)
  if (Buffer.byteLength(name) > MAX_POOL_BYTES) yield tooLong(at, MAX_POOL_BYTES)
  for (const part of name.split('/')) yield* invalidEach(withValue(at, part), isDNS1123Subdomain(part))
}

/** The name of a pool, as a declarative rule that names the wrong segment. */
export function* validateDeclaredPoolName(name: string, at: Ref<string>): Iterable<Finding> {
  if (Buffer.byteLength(name) > MAX_POOL_BYTES) yield* late([tooLong(at, MAX_POOL_BYTES)])
  for (const [i, part] of name.split('/').entries()) {
    if (part === '') yield* late([invalid(at, `segment ${i}: must not be empty`)])
    else
      yield* late(
        invalidEach(
          withValue(at, part),
          longNameFaults(part).map(fault => `segment ${i}: ${fault}`),
        ),
      )
  }
}

/** The name of an attribute or a capacity: an identifier, optionally after a domain and a slash. Errors point at the map of names. */
export function* validateQualifiedName(name: string, at: Ref<any>): Iterable<FieldError> {
  const [domain = '', identifier, ...more] = name.split('/')
  // Kubernetes accepts any name with two slashes.
  if (more.length > 0) return
  if (identifier === undefined) return yield* validateIdentifier(domain, at)
  if (domain === '') yield invalid(withValue(at, ''), 'the domain must not be empty')
  else yield* validateDriverName(domain, at)
  if (identifier === '') yield invalid(withValue(at, ''), 'the name must not be empty')
  else yield* validateIdentifier(identifier, at)
}

/** The name of an attribute with its domain, as claims write it. */
export function* validateFullyQualifiedName(name: string, at: Ref<string>): Iterable<Finding> {
  yield* late(fullyQualifiedNameErrors(name, at))
}

/** Whether a name could be that of an attribute with its domain. */
export const isFullyQualifiedName = (name: string, at: Ref<string>): boolean => !hasErrors(fullyQualifiedNameErrors(name, at))

function* fullyQualifiedNameErrors(name: string, at: Ref<string>): Iterable<FieldError> {
  const [domain = '', identifier, ...more] = name.split('/')
  if (more.length > 0) return
  if (identifier === undefined) {
    yield* validateIdentifier(domain, at)
    yield invalid(withValue(at, name), 'a fully qualified name must be a domain and a name separated by a slash')
    return
  }
  if (domain === '') yield invalid(withValue(at, ''), 'prefix must not be empty')
  else {
    if (Buffer.byteLength(domain) > MAX_DOMAIN_BYTES) yield tooLong(at, MAX_DOMAIN_BYTES)
    yield* invalidEach(
      withValue(at, domain),
      longNameFaults(domain).map(fault => `prefix: ${fault}`),
    )
  }
  if (identifier === '') yield invalid(withValue(at, ''), 'name must not be empty')
  else yield* validateIdentifier(identifier, at)
}

function* validateIdentifier(name: string, at: Ref<any>): Iterable<FieldError> {
  if (Buffer.byteLength(name) > MAX_IDENTIFIER_BYTES) yield tooLong(at, MAX_IDENTIFIER_BYTES)
  yield* invalidEach(withValue(at, name), isCIdentifier(name))
}

/** The identity of a share of a device. */
export function* validateShareID(id: string, at: Ref<string>): Iterable<Finding> {
  if (!UUID.test(id)) yield* late([invalid(at, 'must be a lowercase UUID in 8-4-4-4-12 format')])
}
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** A name of an extended resource that requests devices. */
export function* validateExtendedResourceName(name: string, at: Ref<string>): Iterable<Finding> {
  const faults: string[] = []
  if (!name.includes('/')) faults.push("a name must be a domain-prefixed path, such as 'example.com/my-prop'")
  else if (name.includes(NATIVE_DOMAIN)) faults.push(`must not have ${goQuote(NATIVE_DOMAIN)} domain`)
  if (name.startsWith(QUOTA_PREFIX)) faults.push(`must not have ${goQuote(QUOTA_PREFIX)} prefix`)
  yield* late(invalidEach(at, [...faults, ...isQualifiedName(QUOTA_PREFIX + name)]))
}
const NATIVE_DOMAIN = 'kubernetes.io/'
const QUOTA_PREFIX = 'requests.'
