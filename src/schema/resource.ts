/** A served kind: with its resolved group, its complete type, its paths and verbs. */
import { type NameCheck, nameIsDNSSubdomain } from '../lib/names.ts'
import type { CellContext } from './columns.ts'
import type { Kind, KindSpec, Verb } from './kind.ts'
import { CURRENT_RELEASES, deprecationWarning, isBefore, type Lifecycle, type Releases } from './lifecycle.ts'
import { type AnyObject, API_VERSION_DOC, KIND_DOC, METADATA_DOC, ObjectMeta } from './object-meta.ts'
import { type AnyType, type Fields, message, string } from './types.ts'

export interface Resource {
  readonly kind: string
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly singular: string
  readonly listKind: string
  /** `apps/v1`, or `v1` for the core group. */
  readonly apiVersion: string
  /** `daemonsets.apps`, or `secrets` for the core group. */
  readonly qualified: string
  readonly namespaced: boolean
  readonly verbs: readonly Verb[]
  /** The whole object: apiVersion, kind, metadata and the kind's own fields, in the order they are written. */
  readonly type: AnyType
  /** The storage prefix of its objects; keys continue with `NAMESPACE/NAME` or `NAME`. */
  readonly prefix: string
  readonly nameRule: NameCheck
  /** The declaration of the kind. */
  readonly def: KindSpec<any, any, any, AnyObject>
  readonly subresources: readonly Subresource[]
  /** For a version that is served but not stored: the stored version, and the conversion. */
  readonly conversion?: VersionConversion
  /** Every served version of these objects, including this one. */
  readonly versions: readonly Resource[]
}

/** The conversion between a served version and the stored version. */
export type VersionConversion = {
  /** The stored version, with the rules for writes through this served version. */
  readonly storedVersion: Resource
  readonly toStored: (o: AnyObject) => AnyObject
  readonly fromStored: (h: AnyObject) => AnyObject
  /** The name of a selectable field in the stored version. */
  readonly fieldName: (name: string) => string
  /** Converts with a webhook, instead of `toStored` and `fromStored`; objects of the target version are returned unchanged. */
  readonly convert?: (objects: readonly AnyObject[], to: Resource) => Promise<AnyObject[]>
}

/** A path below an object, with the kind that it reads and writes. */
export type Subresource = {
  readonly name: string
  readonly verbs: readonly Verb[]
  /** The kind of its bodies, where that is not the resource's own. */
  readonly bodyKind?: { readonly group: string; readonly version: string; readonly kind: string }
}

const ALL: readonly Verb[] = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
const UPDATE_VERBS: readonly Verb[] = ['get', 'patch', 'update']

/** The resources of one server; versions of one kind share their list of versions. */
export function resourcesOf(kinds: readonly Kind<any>[], groupDomain: string, releases: Releases = CURRENT_RELEASES): Resource[] {
  const versionsOf = new Map<Kind<any>, Resource[]>()
  return kinds.map(kind => {
    const stored = kind.def.conversion?.storedVersion ?? kind
    const versions = versionsOf.get(stored) ?? []
    versionsOf.set(stored, versions)
    return assemble(kind, { groupDomain, releases, versions })
  })
}

/** One kind as a resource, without other versions. */
export const resourceOf = (kind: Kind<any>, groupDomain: string, releases: Releases = CURRENT_RELEASES): Resource =>
  assemble(kind, { groupDomain, releases, versions: [] })

type Assembling = { readonly groupDomain: string; readonly releases: Releases; readonly versions: Resource[] }

/** Resolves the group domain and assembles the type of a declared kind, and adds it to the versions of its kind. */
function assemble(kind: Kind<any>, { groupDomain, releases, versions }: Assembling): Resource {
  const declared = ofReleases(kind.def, groupDomain, releases)
  const resolve = (text: string) => text.replace('{group_domain}', groupDomain)
  const group = resolve(declared.group)
  const apiVersion = apiVersionOf(group, declared.version)
  const conversion =
    declared.conversion && conversionOf(declared, apiVersion, resourceOf(declared.conversion.storedVersion, groupDomain, releases))
  return served(conversion ? convertedDefinition(declared, conversion) : declared, {
    group,
    resolve,
    versions,
    ...(conversion && { conversion }),
  })
}

/** The declaration with everything that depends on the release: the warning of a deprecated version, and the version of records. */
function ofReleases(def: Definition, groupDomain: string, { emulated, oldest }: Releases): Definition {
  const { lifecycle, otherVersions = {}, storedAs } = def
  if (!lifecycle) return def
  const group = def.group.replace('{group_domain}', groupDomain)
  const deprecated = deprecationWarning({ ...def, group }, lifecycle, emulated)
  const recorded = storedAs ? undefined : recordedVersion({ [def.version]: lifecycle, ...otherVersions }, { emulated, oldest })
  return {
    ...def,
    ...(deprecated !== undefined && { deprecated }),
    ...(recorded !== undefined && recorded !== def.version && { storedAs: { version: recorded } }),
  }
}

/**
 * The version that records name: the first one that the oldest release to go back to can read. Alpha versions promise nothing of the kind,
 * so that where there is no other, the first one of the emulated release is used.
 */
function recordedVersion(versions: Readonly<Record<string, Lifecycle>>, { emulated, oldest }: Releases): string | undefined {
  const inOrder = Object.entries(versions)
  const isReadable = ([version, { introduced }]: [string, Lifecycle]) => !version.includes('alpha') && !isBefore(oldest, introduced)
  return (inOrder.find(isReadable) ?? inOrder.find(([, { introduced }]) => !isBefore(emulated, introduced)))?.[0]
}

/** A custom kind. All versions of one kind share `versions`, to which this one is added. */
export const customResource = (def: Definition, versions: Resource[], conversion?: VersionConversion): Resource =>
  served(def, { group: def.group, resolve: text => text, versions, ...(conversion && { conversion }) })

type ServedContext = {
  readonly group: string
  readonly resolve: (text: string) => string
  readonly versions: Resource[]
  readonly conversion?: VersionConversion
}

function served(def: Definition, { group, resolve, versions, conversion }: ServedContext): Resource {
  const { plural, singular = def.kind.toLowerCase(), list = `${def.kind}List` } = def.names
  const { custom } = def
  const resource: Resource = {
    kind: def.kind,
    group,
    version: def.version,
    plural,
    singular,
    listKind: list,
    apiVersion: apiVersionOf(group, def.version),
    qualified: group === '' ? plural : `${plural}.${group}`,
    namespaced: def.scope === 'Namespaced',
    verbs: def.verbs ?? ALL,
    type: custom ? NO_TYPE : objectType(def),
    prefix: conversion?.storedVersion.prefix ?? `/${group === '' ? 'core' : group}/${plural}/`,
    nameRule: def.name ?? nameIsDNSSubdomain,
    def,
    subresources: subresourcesOf(def, resolve),
    ...(conversion && { conversion }),
    versions,
  }
  // The type of a custom kind is built from its schema when it is first needed.
  if (custom) Object.defineProperty(resource, 'type', { get: () => custom.type, enumerable: true })
  versions.push(Object.freeze(resource))
  return resource
}
const NO_TYPE = message('', {})

/** The declaration of any kind. */
export type Definition = KindSpec<any, any, any, AnyObject>

const apiVersionOf = (group: string, version: string) => (group === '' ? version : `${group}/${version}`)

function conversionOf({ conversion, kind }: Definition, apiVersion: string, resource: Resource): VersionConversion {
  const {
    toStored,
    fromStored,
    selectable = {},
    validate = resource.def.validate,
    validateUpdate = resource.def.validateUpdate,
  } = conversion!
  return {
    storedVersion: { ...resource, def: { ...resource.def, ...(validate && { validate }), ...(validateUpdate && { validateUpdate }) } },
    toStored: o => ({ ...toStored(o), kind: resource.kind, apiVersion: resource.apiVersion }) as AnyObject,
    fromStored: h => ({ ...fromStored(h), kind, apiVersion }) as AnyObject,
    fieldName: name => (Object.hasOwn(selectable, name) ? selectable[name]! : name),
  }
}

/** The definition of a served version: everything but fields and defaults is inherited from the stored version. */
function convertedDefinition(served: Definition, { storedVersion: resource, toStored }: VersionConversion): Definition {
  const {
    spec: _,
    status: __,
    fields: ___,
    defaults: ____,
    expectsMetadata: _____,
    deprecated: ______,
    storedAs,
    ...inherited
  } = resource.def
  const { selectable } = served.conversion!
  const columns = Object.entries(inherited.columns ?? {}).map(([name, [type, get, ...rest]]) => [
    name,
    [type, (o: AnyObject, ctx: CellContext) => get(toStored(o), ctx.list ? { ...ctx, list: ctx.list.map(toStored) } : ctx), ...rest],
  ])
  return {
    ...inherited,
    ...(selectable && { selectable: Object.fromEntries(Object.keys(selectable).map(name => [name, () => undefined])) }),
    ...(inherited.columns && { columns: Object.fromEntries(columns) }),
    ...(inherited.rowConditions && { rowConditions: (o: AnyObject) => inherited.rowConditions!(toStored(o)) }),
    ...served,
    storedAs: { group: resource.group, version: resource.version, ...storedAs },
  }
}

function objectType(def: KindSpec<any, any, Fields, any>): AnyType {
  return message(def.kind, {
    kind: [0, string, KIND_DOC],
    apiVersion: [0, string, API_VERSION_DOC],
    metadata: [1, def.expectsMetadata ? ObjectMeta.orEmpty().expected() : ObjectMeta.orEmpty(), METADATA_DOC],
    ...(def.spec ? { spec: [2, def.spec.orEmpty(), 'The desired state.'] as const } : {}),
    ...(def.fields ?? {}),
    ...(def.status ? { status: [3, def.status.orEmpty(), 'The observed state; written through the status subresource.'] as const } : {}),
  })
}

function subresourcesOf(
  { group, version, subresources = {}, custom }: KindSpec<any, any, any, any>,
  resolve: (group: string) => string,
): Subresource[] {
  const { status, scale, updates = {}, creates = {}, connect = {} } = subresources
  const found: Subresource[] = []
  if (status) found.push({ name: 'status', verbs: UPDATE_VERBS })
  if (scale) found.push({ name: 'scale', verbs: UPDATE_VERBS, bodyKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' } })
  for (const [name, update] of Object.entries(updates)) found.push({ name, verbs: update.verbs ?? UPDATE_VERBS })
  for (const [name, { verbs, input }] of Object.entries(creates)) {
    found.push({ name, verbs, bodyKind: { group: resolve(input.group), version: input.version, kind: input.kind } })
  }
  for (const [name, { verbs, kind }] of Object.entries(connect))
    found.push({ name, verbs, bodyKind: { group: resolve(group), version, kind } })
  // Custom kinds list their subresources in this order, all others by name.
  return custom ? found : found.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** The storage key of an object, and the prefix of a namespace's objects. */
export const keyOf = (r: Resource, namespace: string, name: string) =>
  r.namespaced ? `${r.prefix}${namespace}/${name}` : `${r.prefix}${name}`

/** The path of a resource's objects in the API: those of a namespace, or all where it is empty. */
export function collectionPath(
  { apiVersion, plural, namespaced }: Pick<Resource, 'apiVersion' | 'plural' | 'namespaced'>,
  namespace: string,
): string {
  const root = apiVersion.includes('/') ? '/apis' : '/api'
  const place = namespaced && namespace !== '' ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  return `${root}/${apiVersion}${place}/${plural}`
}

/** Whether a kind's group has a server of its own inside of kube-apiserver, which stores its kinds like custom ones. */
export const isServedApart = ({ group }: Resource): boolean => SERVED_APART.has(group.split('.')[0]!)
const SERVED_APART: ReadonlySet<string> = new Set(['apiextensions', 'apiregistration'])

/** The path of a kind's objects in kube-apiserver's etcd, below its own prefix: `/services/specs/`. */
export const recordsPath = (resource: Resource): string => {
  const { group, plural, def } = resource
  return def.custom || isServedApart(resource) ? `/${group}/${plural}/` : `/${def.keptUnder ?? plural}/`
}
