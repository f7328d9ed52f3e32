/**
 * Name constraints (RFC 5280, 4.2.1.10): which names an authority may certify. As in Go's crypto/x509 they apply to DNS names, IP
 * addresses, e-mail addresses and URIs; error messages are Go's. Names are looked up in sets, so that the cost of one does not depend on
 * the number of constraints.
 */
import { goQuote } from '../go-text.ts'
import { formatIP, parseIP } from '../ip.ts'
import { type AlternativeNames, addressOf, uriHost } from './alternative-names.ts'
import { childrenOf, contextTag, DerError, type Element, Parts, readWhole, TAG } from './der-reader.ts'
import { parseMailbox } from './mailbox.ts'

export type NameConstraints = {
  readonly permitted: Subtrees
  readonly excluded: Subtrees
  /** Whether all constraints are of the types that are checked. */
  readonly isUnderstood: boolean
}

type Subtrees = {
  readonly dns: readonly string[]
  readonly email: readonly string[]
  readonly uri: readonly string[]
  readonly ip: readonly Network[]
}
type Network = { readonly address: Buffer; readonly mask: Buffer }

/** Reads the value of the extension. Throws DerError. */
export function readNameConstraints(value: Buffer): NameConstraints {
  const [permitted = [], excluded = []] = subtreesIn(value)
  if (permitted.length === 0 && excluded.length === 0) throw new DerError('x509: empty name constraints extension')
  const [allowed, forbidden] = [readSubtrees(permitted), readSubtrees(excluded)]
  return { permitted: allowed, excluded: forbidden, isUnderstood: allowed.isUnderstood && forbidden.isUnderstood }
}

/** Why the authority may not certify some of a certificate's names; undefined when it may. */
export function nameProblem(names: AlternativeNames, constraints: readonly NameConstraints[]): string | undefined {
  const uris: NamedDomain[] = []
  for (const uri of names.uris) {
    const domain = domainOfUri(uri)
    if ('problem' in domain) return domain.problem
    uris.push({ shown: uri, domain: domain.name })
  }
  const emails: Mailbox[] = []
  for (const email of names.emailAddresses) {
    const mailbox = parseMailbox(email)
    if (!mailbox) return `cannot parse rfc822Name ${goQuote(email)}`
    const domain = mailbox.domain.toLowerCase()
    emails.push({ shown: `${mailbox.local}@${domain}`, local: mailbox.local, domain })
  }
  for (const { permitted, excluded } of constraints.map(compiled)) {
    for (const address of names.addresses) {
      const shown = shownAddress(address)
      const problem = checked('IP address', shown, [permitted.ip?.(address), excluded.ip?.(address)])
      if (problem !== undefined) return problem
    }
    for (const name of names.dnsNames) {
      if (!isDomainName(name)) return `x509: cannot parse dnsName ${goQuote(name)}`
      const problem = checked('DNS name', name, [permitted.dns?.(name), excluded.dns?.(name)])
      if (problem !== undefined) return problem
    }
    for (const { shown, domain } of uris) {
      if (!isDomainName(domain)) return `x509: internal error: URI SAN ${goQuote(shown)} failed to parse`
      const problem = checked('URI', shown, [permitted.uri?.(domain), excluded.uri?.(domain)])
      if (problem !== undefined) return problem
    }
    for (const mailbox of emails) {
      if (!isDomainName(mailbox.domain)) return `x509: cannot parse rfc822Name ${goQuote(mailbox.shown)}`
      const problem = checked('email address', mailbox.shown, [permitted.email?.(mailbox), excluded.email?.(mailbox)])
      if (problem !== undefined) return problem
    }
  }
  return undefined
}

type NamedDomain = { readonly shown: string; readonly domain: string }
type Mailbox = NamedDomain & { readonly local: string }

/** The constraint that applies to a name, `none`, or undefined where there is no constraint of this type. */
type Found = string | typeof NONE | undefined
const NONE = Symbol('none')
type Query<T> = (name: T) => string | typeof NONE

function checked(type: string, shown: string, [permitted, excluded]: readonly [Found, Found]): string | undefined {
  if (permitted === NONE) return `${type} ${goQuote(shown)} is not permitted by any constraint`
  if (excluded === NONE || excluded === undefined) return undefined
  return `${type} ${goQuote(shown)} is excluded by constraint ${goQuote(excluded)}`
}

type Queries = {
  readonly dns: Query<string> | undefined
  readonly uri: Query<string> | undefined
  readonly email: Query<Mailbox> | undefined
  readonly ip: Query<Buffer> | undefined
}

const known = new WeakMap<NameConstraints, { readonly permitted: Queries; readonly excluded: Queries }>()

/** The sets of an authority's constraints, built once. */
function compiled(constraints: NameConstraints) {
  let found = known.get(constraints)
  if (!found) {
    const queries = ({ dns, uri, email, ip }: Subtrees, side: Side): Queries => ({
      dns: domainQuery(dns, side),
      uri: domainQuery(uri, side),
      email: mailboxQuery(email, side),
      ip: networkQuery(ip),
    })
    known.set(
      constraints,
      (found = { permitted: queries(constraints.permitted, 'permitted'), excluded: queries(constraints.excluded, 'excluded') }),
    )
  }
  return found
}

type Side = 'permitted' | 'excluded'

/**
 * `example.com` matches the name itself and all below it, `.example.com` only names below it, and the empty constraint everything. A
 * wildcard is excluded if any of the names it matches is.
 */
function domainQuery(constraints: readonly string[], side: Side): Query<string> | undefined {
  if (constraints.length === 0) return undefined
  const set = new Map(constraints.map(constraint => [constraint.toLowerCase(), constraint]))
  const parents = new Map(side === 'excluded' ? constraints.flatMap(constraint => parentOf(constraint)) : [])
  const longest = Math.max(...constraints.map(({ length }) => length))
  return name => {
    if (set.has('')) return ''
    const lower = name.toLowerCase()
    // Suffixes longer than any constraint are skipped.
    for (let at = Math.max(0, lower.length - longest); at < lower.length; at++) {
      const isAtLabel = at === 0 || lower[at - 1] === '.' || lower[at] === '.'
      const found = isAtLabel ? set.get(lower.slice(at)) : undefined
      if (found !== undefined) return found
    }
    const firstDot = lower.indexOf('.')
    return (lower.startsWith('*') && firstDot >= 0 ? parents.get(lower.slice(firstDot)) : undefined) ?? NONE
  }
}

function parentOf(constraint: string): [string, string][] {
  const firstDot = constraint.indexOf('.')
  return firstDot < 0 ? [] : [[constraint.slice(firstDot).toLowerCase(), constraint]]
}

/** A constraint with an @ is one mailbox, whose domain may be in capitals. */
function mailboxQuery(constraints: readonly string[], side: Side): Query<Mailbox> | undefined {
  if (constraints.length === 0) return undefined
  const key = (mailbox: { local: string; domain: string }) => `${mailbox.domain.toLowerCase()} ${mailbox.local}`
  const whole = new Map(
    constraints.flatMap((constraint): [string, string][] => {
      const mailbox = constraint.includes('@') ? parseMailbox(constraint) : undefined
      return mailbox ? [[key(mailbox), constraint]] : []
    }),
  )
  const domains = domainQuery(
    constraints.filter(constraint => !constraint.includes('@')),
    side,
  )
  return mailbox => whole.get(key(mailbox)) ?? domains?.(mailbox.domain) ?? NONE
}

function networkQuery(networks: readonly Network[]): Query<Buffer> | undefined {
  if (networks.length === 0) return undefined
  const byMask = new Map<string, { readonly mask: Buffer; readonly found: Map<string, string> }>()
  for (const { address, mask } of networks) {
    const key = mask.toString('hex')
    let group = byMask.get(key)
    if (!group) byMask.set(key, (group = { mask, found: new Map() }))
    group.found.set(masked(address, mask), shownNetwork(address, mask))
  }
  return address => {
    for (const { mask, found } of byMask.values()) {
      const network = mask.length === address.length ? found.get(masked(address, mask)) : undefined
      if (network !== undefined) return network
    }
    return NONE
  }
}

const masked = (address: Buffer, mask: Buffer): string => Buffer.from(address.map((byte, i) => byte & mask[i]!)).toString('hex')
const shownAddress = (address: Buffer): string => formatIP(addressOf(address))
const shownNetwork = (address: Buffer, mask: Buffer): string =>
  `${shownAddress(address)}/${Array.from(mask, byte => byte.toString(2).replaceAll('0', '')).join('').length}`

/** The host of a URI, to which constraints apply: undefined for an address and for a URI without a host. */
function domainOfUri(uri: string): { readonly name: string } | { readonly problem: string } {
  const host = uriHost(uri).toLowerCase()
  if (host === '') return { problem: `URI with empty host (${goQuote(uri)}) cannot be matched against constraints` }
  if (host.startsWith('[') || parseIP(host)) return { problem: `URI with IP (${goQuote(uri)}) cannot be matched against constraints` }
  return { name: host }
}

/** A list of labels, none of them empty, without spaces and control characters. */
export function isDomainName(name: string, { isConstraint = false } = {}): boolean {
  if (name === '') return true
  const labels = (isConstraint && name.startsWith('.') ? name.slice(1) : name).split('.')
  return labels.every(label => /^[\x21-\x7e]+$/.test(label))
}

/** The permitted and the excluded subtrees. */
function subtreesIn(value: Buffer): [permitted: Element[] | undefined, excluded: Element[] | undefined] {
  try {
    const parts = new Parts(readWhole(value, TAG.sequence, 'nameConstraints'))
    const [permitted, excluded] = [parts.takeIf(contextTag(0)), parts.takeIf(contextTag(1))]
    if (!parts.isAtEnd) throw new DerError('more than constraints')
    return [permitted && childrenOf(permitted), excluded && childrenOf(excluded)]
  } catch {
    throw new DerError('x509: invalid NameConstraints extension')
  }
}

const [EMAIL, DNS, URI, IP] = [1, 2, 6, 7].map(number => contextTag(number, { constructed: false }))

function readSubtrees(subtrees: readonly Element[]): Subtrees & { readonly isUnderstood: boolean } {
  const found = { dns: [] as string[], email: [] as string[], uri: [] as string[], ip: [] as Network[], isUnderstood: true }
  for (const subtree of subtrees) {
    const { tag, content } = baseOf(subtree)
    if (tag === DNS) found.dns.push(domain(content, 'dnsName'))
    else if (tag === EMAIL) found.email.push(mailboxOrDomain(content))
    else if (tag === URI) {
      const text = ascii(content)
      if (parseIP(text)) throw new DerError(`x509: failed to parse URI constraint ${goQuote(text)}: cannot be IP address`)
      found.uri.push(domain(content, 'URI'))
    } else if (tag === IP) found.ip.push(network(content))
    else found.isUnderstood = false
  }
  return found
}

function baseOf(subtree: Element): Element {
  try {
    return new Parts(readWhole(subtree.raw, TAG.sequence, 'GeneralSubtree')).takeAny()
  } catch {
    throw new DerError('x509: invalid NameConstraints extension')
  }
}

function ascii(content: Buffer): string {
  const text = content.toString('latin1')
  if (content.some(byte => byte > 0x7f))
    throw new DerError(`x509: invalid constraint value: x509: ${goQuote(text)} cannot be encoded as an IA5String`)
  return text
}

function domain(content: Buffer, type: 'dnsName' | 'URI' | 'rfc822Name'): string {
  const text = ascii(content)
  if (!isDomainName(text, { isConstraint: true })) throw new DerError(`x509: failed to parse ${type} constraint ${goQuote(text)}`)
  return text
}

function mailboxOrDomain(content: Buffer): string {
  const text = ascii(content)
  if (!text.includes('@')) return domain(content, 'rfc822Name')
  if (!parseMailbox(text)) throw new DerError(`x509: failed to parse rfc822Name constraint ${goQuote(text)}`)
  return text
}

function network(content: Buffer): Network {
  if (content.length !== 8 && content.length !== 32) throw new DerError(`x509: IP constraint contained value of length ${content.length}`)
  const [address, mask] = [content.subarray(0, content.length / 2), content.subarray(content.length / 2)]
  const bits = Array.from(mask, byte => byte.toString(2).padStart(8, '0')).join('')
  if (bits.includes('01')) throw new DerError(`x509: IP constraint contained invalid mask ${mask.toString('hex')}`)
  return { address, mask }
}
