/** Names of container images: `[domain[:port]/]path[:tag][@digest]`. */

/** The tag of an image: `latest` when it has neither tag nor digest, empty when it has only a digest, undefined for an invalid name. */
export function imageTag(image: string): string | undefined {
  if (/^[a-f0-9]{64}$/.test(image)) return undefined
  const [domain, remote] = splitDomain(image)
  const [tagged, digest] = cut(remote, '@')
  const [path, tag] = cut(tagged, ':')
  if (!isName(domain, path)) return undefined
  if (tag !== undefined && !/^\w[\w.-]{0,127}$/.test(tag)) return undefined
  if (digest !== undefined && !isDigest(digest)) return undefined
  return tag ?? (digest === undefined ? 'latest' : '')
}

/** The default of imagePullPolicy: Always for the tag latest, IfNotPresent for others. */
export const defaultPullPolicy = (image: string | undefined): 'Always' | 'IfNotPresent' =>
  imageTag(image ?? '') === 'latest' ? 'Always' : 'IfNotPresent'

const MAX_PATH = 255
const HEX_DIGITS: ReadonlyMap<string, number> = new Map([
  ['sha256', 64],
  ['sha384', 96],
  ['sha512', 128],
])

/** The part before the first slash is a domain only when it looks like one; `library/nginx` has none. */
function splitDomain(image: string): [domain: string | undefined, remote: string] {
  const [first, rest] = cut(image, '/')
  const isDomain = rest !== undefined && (first === 'localhost' || /[.:]/.test(first) || first.toLowerCase() !== first)
  return isDomain ? [first, rest] : [undefined, image]
}

function isName(domain: string | undefined, path: string): boolean {
  if (!path.split('/').every(isPathComponent)) return false
  if (domain === undefined || isDomain(domain)) return path.length <= MAX_PATH
  // The apparent domain may be the first component of the path.
  return isPathComponent(domain) && domain.length + 1 + path.length <= MAX_PATH
}

const isPathComponent = (text: string): boolean => /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/.test(text)

function isDomain(text: string): boolean {
  const host = text.replace(/:[0-9]+$/, '')
  if (/^\[[a-fA-F0-9:]+\]$/.test(host)) return true
  return host.split('.').every(part => /^[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?$/.test(part))
}

function isDigest(text: string): boolean {
  const [algorithm, hex = ''] = cut(text, ':')
  return HEX_DIGITS.get(algorithm) === hex.length && /^[a-f0-9]+$/.test(hex)
}

function cut(text: string, separator: string): [before: string, after: string | undefined] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + separator.length)]
}
