// The string formats of the Kubernetes API: each check returns its error messages, none when the value is valid.

/** An error of a name that is checked part by part: it is missing, or a part of it is invalid. */
export type NameFault = { readonly type: 'required' } | { readonly type: 'invalid'; readonly value: string; readonly message: string }

export const DNS1123_LABEL_MAX_LENGTH = 63
export const DNS1123_SUBDOMAIN_MAX_LENGTH = 253
const DNS1035_LABEL_MAX_LENGTH = 63
const LABEL_VALUE_MAX_LENGTH = 63

/** The message for a string longer than `length` bytes, which most checks word as characters. */
export function maxLengthMessage(length: number, unit: 'characters' | 'bytes' = 'characters'): string {
  return `must be no more than ${length} ${unit}`
}

/** The message for a value that does not match a pattern, with examples that do. */
export function regexMessage(message: string, pattern: string, ...examples: readonly string[]): string {
  const regex = `regex used for validation is '${pattern}')`
  if (examples.length === 0) return `${message} (${regex}`
  return `${message} (e.g. ${examples.map(example => `'${example}', `).join(' or ')}${regex}`
}

/** The message for a number outside an inclusive range. */
export function inclusiveRangeMessage(low: number | bigint, high: number | bigint): string {
  return `must be between ${low} and ${high}, inclusive`
}

/** The message for an empty value. */
const EMPTY_MESSAGE = 'must be non-empty'

interface Format {
  readonly test: (value: string) => boolean
  readonly message: string
}

// The patterns match in linear time even in a backtracking engine: no repetition can share a character with the one around it.
function format(pattern: string, message: string, examples: readonly string[]): Format {
  const regex = new RegExp(`^(?:${pattern})$`)
  return { test: value => regex.test(value), message: regexMessage(message, pattern, ...examples) }
}

/**
 * A format of dotted names with a check that is cheaper than its pattern, for which the engine would remember each label: the shape of a
 * whole name, and a sequence that must not occur in it.
 */
function dottedFormat(pattern: string, message: string, examples: readonly string[], [whole, nowhere]: readonly [RegExp, RegExp]): Format {
  return { test: value => whole.test(value) && !nowhere.test(value), message: regexMessage(message, pattern, ...examples) }
}

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const LABEL_WITH_UNDERSCORE = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?'
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`
const SUBDOMAIN_WITH_UNDERSCORE = `${LABEL_WITH_UNDERSCORE}(\\.${LABEL_WITH_UNDERSCORE})*`
const LABEL_KEY = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'
const HTTP_PATH = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"

const ALPHANUMERIC_ENDS = 'and must start and end with an alphanumeric character'

const dns1123Label = format(
  LABEL,
  `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', ${ALPHANUMERIC_ENDS}`,
  ['my-name', '123-abc'],
)
const dns1123Subdomain = dottedFormat(
  SUBDOMAIN,
  `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', ${ALPHANUMERIC_ENDS}`,
  ['example.com'],
  [/^[a-z0-9](?:[-.a-z0-9]*[a-z0-9])?$/, /\.[-.]|-\./],
)
const dns1123SubdomainWithUnderscore = dottedFormat(
  SUBDOMAIN_WITH_UNDERSCORE,
  `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', ${ALPHANUMERIC_ENDS}`,
  ['example.com'],
  [/^_?[a-z0-9](?:[-_.a-z0-9]*[a-z0-9])?$/, /\.[-.]|[-_]\.|\._[-_.]/],
)
// The caseless rule shows the lower case pattern.
const dns1123SubdomainCaseless = dottedFormat(
  SUBDOMAIN,
  `an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', ${ALPHANUMERIC_ENDS}`,
  ['Example.com'],
  [/^[a-zA-Z0-9](?:[-.a-zA-Z0-9]*[a-zA-Z0-9])?$/, /\.[-.]|-\./],
)
const dns1035Label = format(
  '[a-z]([-a-z0-9]*[a-z0-9])?',
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  ['my-name', 'abc-123'],
)
const wildcardSubdomain = dottedFormat(
  `\\*\\.${SUBDOMAIN}`,
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
  ['*.example.com'],
  [/^\*\.[a-z0-9](?:[-.a-z0-9]*[a-z0-9])?$/, /\.[-.]|-\./],
)
const labelKey = format(LABEL_KEY, `must consist of alphanumeric characters, '-', '_' or '.', ${ALPHANUMERIC_ENDS}`, [
  'MyName',
  'my.name',
  '123-abc',
])
const labelValue = format(
  `(${LABEL_KEY})?`,
  `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', ${ALPHANUMERIC_ENDS}`,
  ['MyValue', 'my_value', '12345'],
)
/** A fast check that most label keys and values pass: objects may have thousands. */
const PLAIN_LABEL = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/
const cIdentifier = format(
  '[A-Za-z_][A-Za-z0-9_]*',
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
  ['my_name', 'MY_NAME', 'MyName'],
)
const percent = format('[0-9]+%', "a valid percent string must be a numeric string followed by an ending '%'", ['1%', '93%'])
const httpHeaderName = format('[-A-Za-z0-9]+', "a valid HTTP header must consist of alphanumeric characters or '-'", ['X-Header-Name'])
const configMapKey = format('[-._a-zA-Z0-9]+', "a valid config key must consist of alphanumeric characters, '-', '_' or '.'", [
  'key.name',
  'KEY_NAME',
  'key-name',
])
const httpPath = format(HTTP_PATH, 'Invalid path', [])

/** A label of a DNS name (RFC 1123), lower case. */
export function isDNS1123Label(value: string): string[] {
  const messages = tooLong(value, DNS1123_LABEL_MAX_LENGTH)
  if (!dns1123Label.test(value)) messages.push(dns1123Subdomain.test(value) ? 'must not contain dots' : dns1123Label.message)
  return messages
}

/** A DNS name (RFC 1123), lower case. */
export function isDNS1123Subdomain(value: string): string[] {
  return matching(value, dns1123Subdomain, tooLong(value, DNS1123_SUBDOMAIN_MAX_LENGTH))
}

/** A DNS name that may also contain underscores, as search paths of pods may. */
export function isDNS1123SubdomainWithUnderscore(value: string): string[] {
  return matching(value, dns1123SubdomainWithUnderscore, tooLong(value, DNS1123_SUBDOMAIN_MAX_LENGTH))
}

/** A DNS name in either case, as driver names may be. */
export function isDNS1123SubdomainCaseless(value: string): string[] {
  return matching(value, dns1123SubdomainCaseless, tooLong(value, DNS1123_SUBDOMAIN_MAX_LENGTH, 'bytes'))
}

/** A label of a DNS name (RFC 1035): as 1123, but it starts with a letter. */
export function isDNS1035Label(value: string): string[] {
  return matching(value, dns1035Label, tooLong(value, DNS1035_LABEL_MAX_LENGTH))
}

/** `*.` and a DNS name. */
export function isWildcardDNS1123Subdomain(value: string): string[] {
  return matching(value, wildcardSubdomain, tooLong(value, DNS1123_SUBDOMAIN_MAX_LENGTH))
}

/** A label key: a name, optionally after a DNS name and a slash. */
export function isQualifiedName(value: string): string[] {
  if (PLAIN_LABEL.test(value)) return []
  const parts = value.split('/')
  if (parts.length > 2)
    return [`a valid label key ${labelKey.message} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`]
  const name = parts.at(-1) ?? ''
  const messages: string[] = []
  if (parts.length === 2) {
    const prefix = parts[0] ?? ''
    const faults =
      prefix === '' ? [EMPTY_MESSAGE] : matching(prefix, dns1123Subdomain, tooLong(prefix, DNS1123_SUBDOMAIN_MAX_LENGTH, 'bytes'))
    messages.push(...faults.map(fault => `prefix part ${fault}`))
  }
  if (name === '') messages.push(`name part ${EMPTY_MESSAGE}`)
  else messages.push(...tooLong(name, 63, 'bytes').map(fault => `name part ${fault}`))
  if (!labelKey.test(name)) messages.push(`name part ${labelKey.message}`)
  return messages
}

/** A label key that must have a prefix. */
export function isPrefixedLabelKey(value: string): string[] {
  const messages = isQualifiedName(value)
  return messages.length > 0 || value.includes('/') ? messages : ["must include a prefix (e.g. 'example.com/key')"]
}

/** A label value: empty, or a short name. */
export function isValidLabelValue(value: string): string[] {
  if (PLAIN_LABEL.test(value)) return []
  return matching(value, labelValue, tooLong(value, LABEL_VALUE_MAX_LENGTH, 'bytes'))
}

/** An identifier of the C language. */
export function isCIdentifier(value: string): string[] {
  return matching(value, cIdentifier)
}

/** A key of a ConfigMap or Secret, which becomes a file name. */
export function isConfigMapKey(value: string): string[] {
  const messages = matching(value, configMapKey, tooLong(value, DNS1123_SUBDOMAIN_MAX_LENGTH))
  return [...messages, ...dotPrefix(value)]
}

/** An environment variable name by the relaxed rule: printable ASCII without `=`. */
export function isRelaxedEnvVarName(value: string): string[] {
  if (value === '') return [`environment variable name ${EMPTY_MESSAGE}`]
  if (/^[\x20-\x7e]*$/.test(value) && !value.includes('=')) return []
  return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]
}

/** A header name of HTTP. */
export function isHTTPHeaderName(value: string): string[] {
  return matching(value, httpHeaderName)
}

/** A port number that is not zero. */
export function isValidPortNum(port: number | bigint): string[] {
  return isInRange(port, 1, 65535)
}

/** A number inside an inclusive range. */
export function isInRange(value: number | bigint, low: number | bigint, high: number | bigint): string[] {
  return value >= low && value <= high ? [] : [inclusiveRangeMessage(low, high)]
}

/** A user id of Unix. */
export function isValidUserID(id: number | bigint): string[] {
  return isInRange(id, 0, 2 ** 31 - 1)
}

/** A group id of Unix. */
export function isValidGroupID(id: number | bigint): string[] {
  return isInRange(id, 0, 2 ** 31 - 1)
}

/** A service name for a port (RFC 6335), lower case. */
export function isValidPortName(port: string): string[] {
  const messages = tooLong(port, 15)
  if (!/^[-a-z0-9]+$/.test(port)) messages.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)')
  if (!/[a-z]/.test(port)) messages.push('must contain at least one letter (a-z)')
  if (port.includes('--')) messages.push('must not contain consecutive hyphens')
  if (port.startsWith('-') || port.endsWith('-')) messages.push('must not begin or end with a hyphen')
  return messages
}

/** A percentage such as `25%`. */
export function isValidPercent(value: string): string[] {
  return matching(value, percent)
}

/** An integer in canonical form: no sign but minus, no leading zero. */
export function isDecimalInteger(value: string): string[] {
  if (value === '') return [EMPTY_MESSAGE]
  return /^(?:0|-?[1-9][0-9]*)$/.test(value) ? [] : ['must be a valid decimal integer in canonical form']
}

/** A domain of at least three segments, without a trailing dot. */
export function isFullyQualifiedName(name: string): NameFault[] {
  if (name === '') return [{ type: 'required' }]
  return domainOfSegments(name, 3, 'should be a domain with at least three segments separated by dots')
}

/** A domain of at least two segments, with or without a trailing dot, each a label. */
export function isFullyQualifiedDomainName(name: string): NameFault[] {
  if (name === '') return [{ type: 'required' }]
  const domain = name.endsWith('.') ? name.slice(0, -1) : name
  const faults = domainOfSegments(domain, 2, 'should be a domain with at least two segments separated by dots')
  if (faults.length > 0) return faults
  for (const label of domain.split('.')) {
    const messages = isDNS1123Label(label)
    if (messages.length > 0) return [invalid(label, messages.join(','))]
  }
  return []
}

/** A domain, a slash and an HTTP path: `acme.io/foo`. */
export function isDomainPrefixedPath(value: string): NameFault[] {
  if (value === '') return [{ type: 'required' }]
  const slash = value.indexOf('/')
  const [host, path] = [value.slice(0, Math.max(slash, 0)), value.slice(slash + 1)]
  if (host === '' || path === '') return [invalid(value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
  const faults = isDNS1123Subdomain(host).map(message => invalid(host, message))
  if (!httpPath.test(path)) faults.push(invalid(path, httpPath.message))
  return faults
}

/** A domain, a slash and a label name: `acme.io/foo`. */
export function isDomainPrefixedKey(key: string): NameFault[] {
  if (key === '') return [{ type: 'required' }]
  const messages = isQualifiedName(key)
  if (messages.length > 0) return messages.map(message => invalid(key, message))
  return key.includes('/') ? [] : [invalid(key, 'must be a domain-prefixed key (such as "acme.io/foo")')]
}

/** Whether a value is a whole name or the prefix of a generated one, whose random suffix is still to come. */
export type NameRole = 'name' | 'prefix'

/** A check of object names or of the prefixes that names are generated from. */
export type NameCheck = (name: string, role?: NameRole) => string[]

/** An object name that must be a DNS name. */
export const nameIsDNSSubdomain: NameCheck = (name, role) => isDNS1123Subdomain(maskTrailingDash(name, role))

/** An object name that must be a DNS label. */
export const nameIsDNSLabel: NameCheck = (name, role) => isDNS1123Label(maskTrailingDash(name, role))

/** An object name that must be a DNS label starting with a letter. */
export const nameIsDNS1035Label: NameCheck = (name, role) => isDNS1035Label(maskTrailingDash(name, role))

/** An object name that only has to be valid as one segment of a URL path. */
export const nameIsPathSegment: NameCheck = (name, role) =>
  role === 'prefix' ? isValidPathSegmentPrefix(name) : isValidPathSegmentName(name)

/** A rule for names; the prefix of a generated name only has to be valid in a path. */
export const ofNamesAlone =
  (rule: NameCheck): NameCheck =>
  (name, role) =>
    role === 'prefix' ? isValidPathSegmentPrefix(name) : rule(name, role)

/** A name fit for one segment of a URL path. */
export function isValidPathSegmentName(name: string): string[] {
  return name === '.' || name === '..' ? [`may not be '${name}'`] : isValidPathSegmentPrefix(name)
}

/** The beginning of a name fit for one segment of a URL path. */
function isValidPathSegmentPrefix(name: string): string[] {
  return ['/', '%'].filter(illegal => name.includes(illegal)).map(illegal => `may not contain '${illegal}'`)
}

/** A prefix usually ends with a dash, which is valid because more follows: the last two characters are replaced for the check. */
function maskTrailingDash(name: string, role: NameRole = 'name'): string {
  return role === 'prefix' && name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name
}

function domainOfSegments(name: string, segments: number, message: string): NameFault[] {
  const messages = isDNS1123Subdomain(name)
  if (messages.length > 0) return [invalid(name, messages.join(','))]
  return name.split('.').length < segments ? [invalid(name, message)] : []
}

function invalid(value: string, message: string): NameFault {
  return { type: 'invalid', value, message }
}

function matching(value: string, { test, message }: Format, messages: string[] = []): string[] {
  if (!test(value)) messages.push(message)
  return messages
}

/** The lengths are limits of storage and of DNS, so they count bytes. */
function tooLong(value: string, length: number, unit: 'characters' | 'bytes' = 'characters'): string[] {
  return value.length * 3 > length && Buffer.byteLength(value) > length ? [maxLengthMessage(length, unit)] : []
}

function dotPrefix(value: string): string[] {
  if (value === '.' || value === '..') return [`must not be '${value}'`]
  return value.startsWith('..') ? ["must not start with '..'"] : []
}
