/** The alternative names of a subject: DNS names, e-mail addresses, IP addresses and URIs. Errors are those of Go. */
import { goQuote } from '../go-text.ts'
import type { IPAddress } from '../ip.ts'
import { childrenOf, contextTag, DerError, readWhole, TAG } from './der-reader.ts'
import * as der from './der-writer.ts'

export type AlternativeNames = {
  readonly dnsNames: readonly string[]
  readonly emailAddresses: readonly string[]
  /** Four bytes each, or sixteen. */
  readonly addresses: readonly Buffer[]
  readonly uris: readonly string[]
}

export const NO_NAMES: AlternativeNames = { dnsNames: [], emailAddresses: [], addresses: [], uris: [] }

const [EMAIL, DNS, URI, IP] = [1, 2, 6, 7] as const

/** Reads the value of the extension. Throws DerError where Go would refuse it. */
export function readAlternativeNames(value: Buffer): AlternativeNames {
  const found = { dnsNames: [] as string[], emailAddresses: [] as string[], addresses: [] as Buffer[], uris: [] as string[] }
  for (const { tag, content } of listed(value)) {
    if (tag === simple(EMAIL)) found.emailAddresses.push(ascii(content, 'rfc822Name'))
    else if (tag === simple(DNS)) found.dnsNames.push(ascii(content, 'dNSName'))
    else if (tag === simple(URI)) found.uris.push(uriOf(ascii(content, 'uniformResourceIdentifier')))
    else if (tag === simple(IP)) {
      if (content.length !== 4 && content.length !== 16) throw new DerError(`x509: cannot parse IP address of length ${content.length}`)
      found.addresses.push(content)
    }
  }
  return found
}

/** Encodes the value of the extension; undefined when there is no name. */
export function writeAlternativeNames({ dnsNames, emailAddresses, addresses, uris }: AlternativeNames): Buffer | undefined {
  const text = (tag: number, values: readonly string[]) => values.map(value => der.implicit(tag, Buffer.from(value, 'latin1')))
  const all = [
    ...text(DNS, dnsNames),
    ...text(EMAIL, emailAddresses),
    ...addresses.map(bytes => der.implicit(IP, unmapped(bytes))),
    ...text(URI, uris),
  ]
  return all.length === 0 ? undefined : der.sequence(...all)
}

const simple = (number: number) => contextTag(number, { constructed: false })

function listed(value: Buffer) {
  try {
    return childrenOf(readWhole(value, TAG.sequence, 'subjectAltName'))
  } catch {
    throw new DerError('x509: invalid subject alternative names')
  }
}

function ascii(content: Buffer, what: string): string {
  if (content.some(byte => byte > 0x7f)) throw new DerError(`x509: SAN ${what} is malformed`)
  return content.toString('latin1')
}

function uriOf(text: string): string {
  const problem = (why: string) => new DerError(`x509: cannot parse URI ${goQuote(text)}: ${why}`)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what no URI may contain
  if (/[\x00-\x1f\x7f]/.test(text)) throw problem(`parse ${goQuote(text)}: net/url: invalid control character in URL`)
  const host = uriHost(text)
  const labels = host.startsWith('[') || host === '' ? [] : host.split('.')
  if (labels.some(label => label === '' || !/^[\x21-\x7e]+$/.test(label))) throw problem('invalid domain')
  return text
}

/** The host of a URI, without the port; empty where there is none. */
export const uriHost = (uri: string): string => URI_HOST.exec(uri)?.[1] ?? ''
const URI_HOST = /^[a-zA-Z][a-zA-Z0-9+.-]*:\/\/(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]*)/

/** The address of four or sixteen bytes. */
export function addressOf(bytes: Buffer): IPAddress {
  const plain = unmapped(bytes)
  return { family: plain.length === 4 ? 4 : 6, bits: BigInt(`0x${plain.toString('hex')}`), mapped: plain.length < bytes.length }
}

const MAPPED = Buffer.from('00000000000000000000ffff', 'hex')
/** An IPv4-mapped address is written as IPv4. */
const unmapped = (bytes: Buffer) => (bytes.length === 16 && bytes.subarray(0, 12).equals(MAPPED) ? bytes.subarray(12) : bytes)
