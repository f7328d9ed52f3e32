/** Rules for the names of certificate signers and of their trust bundles. */
import { goQuote } from '../../../../lib/go-text.ts'
import { isDNS1123Label, isDNS1123Subdomain, isDomainPrefixedKey, type NameRole, nameIsDNSSubdomain } from '../../../../lib/names.ts'
import { MAX_ANNOTATIONS_BYTES } from '../../../../schema/meta-rules.ts'
import { type FieldError, invalid, type Ref, required, tooLong, withValue } from '../../../../schema/refs.ts'

const MAX_DOMAIN = 253
const MAX_PATH = 253 + 63 + 1

/** A signer is a domain and a path: `example.com/signer-name`. */
export function* validateSignerName(name: string | undefined, at: Ref<any>): Iterable<FieldError> {
  if (!name) return yield required(at)
  const [domain, path, ...more] = name.split('/')
  if (domain === undefined || path === undefined || more.length > 0)
    return yield invalid(withValue(at, name), "must be a fully qualified domain and path of the form 'example.com/signer-name'")
  if (Buffer.byteLength(domain) > MAX_DOMAIN) yield tooLong(at, MAX_DOMAIN)
  const labels = domain.split('.')
  yield* validateParts(labels, withValue(at, domain), isDNS1123Label)
  if (labels.length < 2) yield invalid(withValue(at, domain), 'should be a domain with at least two segments separated by dots')
  yield* validateParts(path.split('.'), withValue(at, path), isDNS1123Subdomain)
  if (Buffer.byteLength(name) > MAX_DOMAIN + 1 + MAX_PATH) yield tooLong(at, MAX_DOMAIN + 1 + MAX_PATH)
}

/** The first invalid part is enough: the errors of further ones could not be distinguished. */
function* validateParts(parts: readonly string[], at: Ref<string>, rule: (part: string) => string[]): Iterable<FieldError> {
  for (const part of parts) {
    const faults = rule(part)
    for (const fault of faults) yield invalid(at, `validating label ${goQuote(part)}: ${fault}`)
    if (faults.length > 0) return
  }
}

/** Annotations from the author of a pod to the signer: keys have a domain, and the total size is limited. */
export function* validateUserAnnotations(annotations: Record<string, string>, at: Ref<Record<string, string>>): Iterable<FieldError> {
  let size = 0
  for (const [key, value] of Object.entries(annotations)) {
    size += Buffer.byteLength(key) + Buffer.byteLength(value)
    for (const fault of isDomainPrefixedKey(key.toLowerCase()))
      yield fault.type === 'required' ? required(at) : invalid(withValue(at, fault.value), fault.message)
  }
  if (size > MAX_ANNOTATIONS_BYTES) yield tooLong(at, MAX_ANNOTATIONS_BYTES)
}

/** Whether a signer is one of Kubernetes itself. */
export function isKubernetesSigner(name: string): boolean {
  const [host = ''] = name.split('/', 1)
  return host === 'kubernetes.io' || host.endsWith('.kubernetes.io')
}

/** The errors of a trust bundle's name; those of a signer begin with its name. */
export function trustBundleNameFaults(name: string, signer: string, role?: NameRole): string[] {
  if (signer === '')
    return name.includes(':') ? ['ClusterTrustBundle without signer name must not have ":" in its name'] : nameIsDNSSubdomain(name, role)
  const prefix = `${signer.replaceAll('/', ':')}:`
  return name.startsWith(prefix)
    ? nameIsDNSSubdomain(name.slice(prefix.length), role)
    : [`ClusterTrustBundle for signerName ${signer} must be named with prefix ${prefix}`]
}

/** The signer that the name of a trust bundle contains, if any. */
export const signerOfTrustBundle = (name: string): string => name.slice(0, Math.max(name.lastIndexOf(':'), 0)).replaceAll(':', '/')
