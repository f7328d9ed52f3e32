/** A kind as it is served: its group resolved, its whole type assembled, its paths and verbs known. */
import { type NameCheck, nameIsDNSSubdomain } from '../lib/names.ts'
import type { CellContext } from './columns.ts'
import type { Kind, KindSpec, Verb } from './kind.ts'
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
  /** Where its objects are stored; keys go on with `NAMESPACE/NAME` or `NAME`. */
  readonly prefix: string
  readonly nameRule: NameCheck
  /** The declaration, for what is derived elsewhere. */
  readonly def: KindSpec<any, any, any, AnyObject>
  readonly subresources: readonly Subresource[]
  /** For a kind that is a form of another: that other, and how to get there and back. */
  readonly hub?: HubForm
  /** Every form in which these objects are served, this one among them. */
  readonly forms: readonly Resource[]
}

/** How a resource is a form of its hub. */
export type HubForm = {
  /** The hub, with the rules that hold for writes through this form. */
  readonly resource: Resource
  readonly toHub: (o: AnyObject) => AnyObject
  readonly fromHub: (h: AnyObject) => AnyObject
  /** What the hub calls a selectable field. */
  readonly fieldName: (name: string) => string
  /** Converts by asking somebody, instead of `toHub` and `fromHub`; objects of the wanted version are left as they are. */
  readonly convert?: (objects: readonly AnyObject[], to: Resource) => Promise<AnyObject[]>
}

/** A path below an object, with what it speaks. */
export type Subresource = {
  readonly name: string
  readonly verbs: readonly Verb[]
  /** The kind of its bodies, where that is not the resource's own. */
  readonly speaks?: { readonly group: string; readonly version: string; readonly kind: string }
}

const ALL: readonly Verb[] = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
const VIEW: readonly Verb[] = ['get', 'patch', 'update']

/** The kinds of one server: those that are forms of another are told of it, and it of them. */
export function resourcesOf(kinds: readonly Kind<any>[], groupDomain: string): Resource[] {
  const families = new Map<Kind<any>, Resource[]>()
  return kinds.map(kind => {
    const hub = kind.def.hub?.kind ?? kind
    const family = families.get(hub) ?? []
    families.set(hub, family)
    return assemble(kind, groupDomain, family)
  })
}

/** One kind as it is served by itself. */
export const resourceOf = (kind: Kind<any>, groupDomain: string): Resource => assemble(kind, groupDomain, [])

/** Resolves the group domain and assembles the type of a declared kind, and adds it to its family. */
function assemble(kind: Kind<any>, groupDomain: string, forms: Resource[]): Resource {
  const { def: declared } = kind
  const resolve = (text: string) => text.replace('{group_domain}', groupDomain)
  const group = resolve(declared.group)
  const apiVersion = apiVersionOf(group, declared.version)
  const hub = declared.hub && hubFormOf(declared, apiVersion, assemble(declared.hub.kind, groupDomain, []))
  return served(hub ? formDefinition(declared, hub) : declared, { group, resolve, forms, ...(hub && { hub }) })
}

/** A kind that was defined while the server runs. All forms of one kind share `forms`, to which this one is added. */
export const customResource = (def: Definition, forms: Resource[], hub?: HubForm): Resource =>
  served(def, { group: def.group, resolve: text => text, forms, ...(hub && { hub }) })

type ServedContext = {
  readonly group: string
  readonly resolve: (text: string) => string
  readonly forms: Resource[]
  readonly hub?: HubForm
}

function served(def: Definition, { group, resolve, forms, hub }: ServedContext): Resource {
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
    prefix: hub?.resource.prefix ?? `/${group === '' ? 'core' : group}/${plural}/`,
    nameRule: def.name ?? nameIsDNSSubdomain,
    def,
    subresources: subresourcesOf(def, resolve),
    ...(hub && { hub }),
    forms,
  }
  // What a schema says is worked out when somebody wants to know.
  if (custom) Object.defineProperty(resource, 'type', { get: () => custom.type, enumerable: true })
  forms.push(Object.freeze(resource))
  return resource
}
const NO_TYPE = message('', {})

/** A declaration, whatever the kind. */
export type Definition = KindSpec<any, any, any, AnyObject>

const apiVersionOf = (group: string, version: string) => (group === '' ? version : `${group}/${version}`)

function hubFormOf({ hub, kind }: Definition, apiVersion: string, resource: Resource): HubForm {
  const { toHub, fromHub, selectable = {}, validate = resource.def.validate, validateUpdate = resource.def.validateUpdate } = hub!
  return {
    resource: { ...resource, def: { ...resource.def, ...(validate && { validate }), ...(validateUpdate && { validateUpdate }) } },
    toHub: o => ({ ...toHub(o), kind: resource.kind, apiVersion: resource.apiVersion }) as AnyObject,
    fromHub: h => ({ ...fromHub(h), kind, apiVersion }) as AnyObject,
    fieldName: name => (Object.hasOwn(selectable, name) ? selectable[name]! : name),
  }
}

/** What a form takes over from its hub: all that is not about how the object is written down. */
function formDefinition(form: Definition, { resource, toHub }: HubForm): Definition {
  const { spec: _, status: __, fields: ___, defaults: ____, expectsMetadata: _____, storedAs, ...inherited } = resource.def
  const { selectable } = form.hub!
  const columns = Object.entries(inherited.columns ?? {}).map(([name, [type, get, ...rest]]) => [
    name,
    [type, (o: AnyObject, ctx: CellContext) => get(toHub(o), ctx.list ? { ...ctx, list: ctx.list.map(toHub) } : ctx), ...rest],
  ])
  return {
    ...inherited,
    ...(selectable && { selectable: Object.fromEntries(Object.keys(selectable).map(name => [name, () => undefined])) }),
    ...(inherited.columns && { columns: Object.fromEntries(columns) }),
    ...(inherited.rowConditions && { rowConditions: (o: AnyObject) => inherited.rowConditions!(toHub(o)) }),
    ...form,
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
  { group, version, subresources = {} }: KindSpec<any, any, any, any>,
  resolve: (group: string) => string,
): Subresource[] {
  const { status, scale, updates = {}, creates = {}, connect = {} } = subresources
  const found: Subresource[] = []
  if (status) found.push({ name: 'status', verbs: VIEW })
  if (scale) found.push({ name: 'scale', verbs: VIEW, speaks: { group: 'autoscaling', version: 'v1', kind: 'Scale' } })
  for (const [name, view] of Object.entries(updates)) found.push({ name, verbs: view.verbs ?? VIEW })
  for (const [name, { verbs, input }] of Object.entries(creates)) {
    found.push({ name, verbs, speaks: { group: resolve(input.group), version: input.version, kind: input.kind } })
  }
  for (const [name, { verbs, kind }] of Object.entries(connect))
    found.push({ name, verbs, speaks: { group: resolve(group), version, kind } })
  return found.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** The storage key of an object, and the prefix of a namespace's objects. */
export const keyOf = (r: Resource, namespace: string, name: string) =>
  r.namespaced ? `${r.prefix}${namespace}/${name}` : `${r.prefix}${name}`
