/** The registry of simulated images: every image exists but for those whose reference says that it does not. */

/** Tags and suffixes of images that do not exist, and the host label that is reserved for invalid names. */
const TAGS = new Set(['404', 'missing', 'nonexistent', 'non-existent', 'does-not-exist', 'doesnt-exist'])
const MISSING_NAME = /(?:^|[/-])(?:non-?existent|does-not-exist|doesnt-exist)(?::[^:/@]+)?$/
const INVALID_HOST = /^(?:[^/]*\.)?invalid(?:\.[^/]*)?(?::\d+)?\//

/** No registry accepts a longer reference, and matching one would take long. */
const MAX_REFERENCE_LENGTH = 1024

/** Why an image cannot be pulled, in the words of a container runtime; undefined when it can. */
export function pullErrorOf(image: string): string | undefined {
  if (image.length > MAX_REFERENCE_LENGTH) return undefined
  const tag = /^[^@]*:([^:/@]+)$/.exec(image)?.[1] ?? ''
  const isInvalid = INVALID_HOST.test(image)
  if (!isInvalid && !TAGS.has(tag) && !MISSING_NAME.test(image)) return undefined
  const reference = withDefaults(image)
  const [host = ''] = reference.split('/')
  const reason = isInvalid ? `failed to do request: dial tcp: lookup ${host}: no such host` : `${reference}: not found`
  return `failed to pull and unpack image "${reference}": failed to resolve reference "${reference}": ${reason}`
}

/** A reference with its registry; `web:1` is docker.io/library/web:1. */
function withDefaults(image: string): string {
  const [first = '', ...rest] = image.split('/')
  if (rest.length === 0) return `docker.io/library/${image}`
  return /[.:]|^localhost$/.test(first) ? image : `docker.io/${image}`
}
