/** The kinds that the server serves, from aggregated discovery: built-in, custom and of other servers alike. */
import { computed, signal } from '@preact/signals'
import { get } from './api.ts'

export type Kind = {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
  readonly verbs: readonly string[]
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly subresources: ReadonlyMap<string, Subresource>
}
export type Subresource = { readonly verbs: readonly string[]; readonly kind: string }

type Discovered = {
  items: {
    metadata?: { name?: string }
    versions: {
      version: string
      freshness?: string
      resources?: {
        resource: string
        responseKind?: { group?: string; version?: string; kind: string }
        scope: string
        verbs: string[]
        shortNames?: string[]
        categories?: string[]
        subresources?: { subresource: string; verbs: string[]; responseKind?: { kind: string } }[]
      }[]
    }[]
  }[]
}

/** Kinds in the preferred version of their group; undefined until they are known. */
export const kinds = signal<readonly Kind[] | undefined>(undefined)
/** Every version of every kind. */
export const allKinds = signal<readonly Kind[]>([])
export const discoveryError = signal<unknown>(undefined)

const ACCEPT = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'

let under: Promise<void> | undefined
/** Reads discovery; several callers share one request. */
export function discover(): Promise<void> {
  under ??= read().finally(() => {
    under = undefined
  })
  return under
}

async function read(): Promise<void> {
  try {
    const found = (await Promise.all(['/api', '/apis'].map(path => get<Discovered>(path, { accept: ACCEPT })))).flatMap(kindsOf)
    allKinds.value = found.map(({ kind }) => kind)
    kinds.value = found
      .filter(({ isPreferred }) => isPreferred)
      .map(({ kind }) => kind)
      .sort((a, b) => (a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : a.group < b.group ? -1 : 1))
    discoveryError.value = undefined
  } catch (error) {
    discoveryError.value = error
    throw error
  }
}

function kindsOf({ items = [] }: Discovered): { kind: Kind; isPreferred: boolean }[] {
  return items.flatMap(({ metadata, versions }) => {
    // The first version that has a resource is the preferred one of that resource.
    const seen = new Set<string>()
    return versions.flatMap(({ version, resources = [] }) =>
      resources.map(({ resource, responseKind, scope, verbs, shortNames = [], categories = [], subresources = [] }) => {
        const isPreferred = !seen.has(resource)
        seen.add(resource)
        const kind: Kind = {
          group: metadata?.name ?? '',
          version,
          kind: responseKind?.kind ?? resource,
          plural: resource,
          namespaced: scope === 'Namespaced',
          verbs,
          shortNames,
          categories,
          subresources: new Map(
            subresources.map(({ subresource, verbs, responseKind }) => [subresource, { verbs, kind: responseKind?.kind ?? '' }]),
          ),
        }
        return { kind, isPreferred }
      }),
    )
  })
}

/** Kinds whose objects can be listed. */
export const listable = computed(() => (kinds.value ?? []).filter(({ verbs }) => verbs.includes('list')))

/** A kind by group and plural; the version may be another than the preferred one. */
export function findKind(group: string, plural: string, version?: string): Kind | undefined {
  const preferred = kinds.value?.find(kind => kind.group === group && kind.plural === plural)
  if (version === undefined || preferred?.version === version) return preferred
  return allKinds.value.find(kind => kind.group === group && kind.plural === plural && kind.version === version)
}

/** The kind of an apiVersion and a kind's name, as in an owner reference. */
export function kindOf(apiVersion: string, name: string): Kind | undefined {
  const [group, version] = splitApiVersion(apiVersion)
  const fits = (kind: Kind) => kind.group === group && kind.kind === name
  return allKinds.value.find(kind => fits(kind) && kind.version === version) ?? kinds.value?.find(fits)
}

export function splitApiVersion(apiVersion: string): [group: string, version: string] {
  const slash = apiVersion.indexOf('/')
  return slash < 0 ? ['', apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)]
}

export const apiVersionOf = ({ group, version }: Kind): string => (group === '' ? version : `${group}/${version}`)
/** `deployments.apps`, as kubectl names it. */
export const qualifiedName = ({ plural, group }: Kind): string => (group === '' ? plural : `${plural}.${group}`)

const rootOf = ({ group, version }: Kind): string => (group === '' ? `/api/${version}` : `/apis/${group}/${version}`)

/** The path of a collection; of all namespaces if none is given. */
export function listPath(kind: Kind, namespace?: string): string {
  const inside = kind.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  return `${rootOf(kind)}${inside}/${kind.plural}`
}

export function objectPath(kind: Kind, namespace: string | undefined, name: string, subresource?: string): string {
  return `${listPath(kind, namespace)}/${encodeURIComponent(name)}${subresource ? `/${subresource}` : ''}`
}
