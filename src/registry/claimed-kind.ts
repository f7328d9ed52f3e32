/** The kind that a body claims to be of, compared with the one that its path expects, in the words of kube-apiserver. */
import { goQuote } from '../lib/go-text.ts'
import type { Resource } from '../schema/resource.ts'

/** The built-in kind of an apiVersion and kind. */
export type FindKind = (apiVersion: string, kind: string) => Resource | undefined
export type Claim = { readonly kind: string; readonly apiVersion: string }

/** The mistake of a body that claims another kind or version than its path has. Without a list of kinds, those of one version are known. */
export function mistakenKind(expected: Claim, claimed: Claim, findKind?: FindKind): string | undefined {
  const { kind, apiVersion } = claimed
  if (kind === expected.kind && apiVersion === expected.apiVersion) return undefined
  if (apiVersion.split('/').length > 2) return `unexpected GroupVersion string: ${apiVersion}`
  // Options of a deletion are of every version.
  if (kind === expected.kind && kind === 'DeleteOptions') return undefined
  const registry = registryOf(expected)
  if (!isRegistered(claimed, expected, findKind))
    return `no kind ${goQuote(kind)} is registered for version ${goQuote(apiVersion)} in scheme ${goQuote(registry.scheme)}`
  return `converting (${versionOf(claimed)}.${kind}) to (${registry.internal}.${expected.kind}): unknown conversion`
}

function isRegistered(claimed: Claim, expected: Claim, findKind: FindKind | undefined): boolean {
  if (!findKind) return claimed.apiVersion === expected.apiVersion && expected.kind !== 'DeleteOptions'
  if (claimed.apiVersion === 'v1' && (claimed.kind === 'Status' || claimed.kind === 'List')) return true
  const found = findKind(claimed.apiVersion, claimed.kind) ?? findKind(claimed.apiVersion, claimed.kind.replace(/List$/, ''))
  return found !== undefined && found.def.custom === undefined && registryOf(claimed).scheme === registryOf(expected).scheme
}

/** Two groups are served by parts of kube-apiserver that know only their own kinds. */
const SCHEMES: Readonly<Record<string, string>> = {
  apiextensions: 'k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:56',
  apiregistration: 'k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28',
}
/** Knows options alone, in every version. */
const OPTIONS_SCHEME = 'k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27'
const LEGACY_SCHEME = 'pkg/api/legacyscheme/scheme.go:30'

function registryOf({ apiVersion, kind }: Claim): { scheme: string; internal: string } {
  if (kind === 'DeleteOptions') return { scheme: OPTIONS_SCHEME, internal: 'internalversion' }
  const slash = apiVersion.indexOf('/')
  const label = slash === -1 ? '' : apiVersion.slice(0, slash).split('.')[0]!
  return { scheme: SCHEMES[label] ?? LEGACY_SCHEME, internal: label === '' || label === 'events' ? 'core' : label }
}

/** The name in Go of the type of a built-in kind where kube-apiserver works with it. */
export const internalType = ({ apiVersion }: Pick<Claim, 'apiVersion'>, kind: string): string =>
  `${registryOf({ apiVersion, kind }).internal}.${kind}`

export const versionOf = ({ apiVersion }: Pick<Claim, 'apiVersion'>): string => apiVersion.slice(apiVersion.lastIndexOf('/') + 1)
