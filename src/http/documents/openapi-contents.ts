/** The content of an OpenAPI document: the parts of the API, each with its paths and the definitions they need. */
import { Scale } from '../../kinds/autoscaling/scale.ts'
import type { JsonObject } from '../../lib/json-value.ts'
import type { Step } from '../../lib/step.ts'
import type { Catalog } from '../../registry/catalog.ts'
import { DeleteOptionsType } from '../../schema/delete-options.ts'
import { type Resource, resourceOf } from '../../schema/resource.ts'
import type { AnyType } from '../../schema/types.ts'
import * as common from '../common-messages.ts'
import { coreVersions, type GroupVersion, servedGroups } from './discovery-groups.ts'
import { APIMACHINERY, capitalize, definitionName, groupInWords, META, type Naming, packageOf } from './openapi-names.ts'
import { type Operation, type PathItem, pathsOf, readOnlyPath, type Schemas, tagOf, withCbor } from './openapi-operations.ts'
import { Definitions, type Dialect } from './openapi-schemas.ts'

/** A part of the API with a separate document in OpenAPI 3; the key is its path below `/openapi/v3/`. */
export type Part = { readonly key: string; readonly group?: string; readonly version?: string }

type Read = Pick<Operation, 'operationId' | 'doc' | 'tag'> & { readonly type: AnyType }
const GROUP = { doc: 'get information of a group', type: common.APIGroup }
const ROOTS: Readonly<Record<string, Read>> = {
  api: { operationId: 'getCoreAPIVersions', doc: 'get available API versions', tag: 'core', type: common.APIVersions },
  apis: { operationId: 'getAPIVersions', doc: 'get available API versions', tag: 'apis', type: common.APIGroupList },
}

/** The parts of a catalog: roots, groups and group versions. */
export function partsOf(catalog: Catalog): Part[] {
  return [
    { key: 'api' },
    ...coreVersions(catalog).map(version => ({ key: `api/${version}`, group: '', version })),
    { key: 'apis' },
    ...servedGroups(catalog).flatMap(({ group, versions }) => [
      { key: `apis/${group}`, group },
      ...versions.map(version => ({ key: `apis/${group}/${version}`, group, version })),
    ]),
    { key: 'version' },
  ]
}

/** The paths and definitions of parts. Others may run in between: a document can be that of many kinds, and a kind can be large. */
export function* contentsOf(catalog: Catalog, describing: Describing): Step<Contents> {
  const contents = new Contents(catalog, describing)
  for (const part of describing.parts) yield* contents.add(part)
  return contents
}

type Describing = {
  readonly parts: readonly Part[]
  readonly naming: Naming
  readonly dialect: Dialect
  /** Whether the operations of built-in kinds list CBOR among their media types. */
  readonly servesCbor: boolean
}

/** Collects paths and definitions part by part. */
export class Contents {
  readonly paths: PathItem[] = []
  readonly definitions: Definitions
  readonly #catalog: Catalog
  readonly #groupVersions: readonly GroupVersion[]
  readonly #scale = resourceOf(Scale, '').type

  readonly #servesCbor: boolean

  constructor(catalog: Catalog, { parts, naming, dialect, servesCbor }: Describing) {
    this.#catalog = catalog
    this.#servesCbor = servesCbor
    this.definitions = new Definitions(dialect, naming)
    this.#groupVersions = parts.flatMap(({ group, version }) => (group === undefined || version === undefined ? [] : [{ group, version }]))
  }

  *add({ key, group, version }: Part): Step<void> {
    if (group !== undefined && version !== undefined) yield* this.#addGroupVersion(key, { group, version })
    else if (group !== undefined)
      this.#addRead(key, { ...GROUP, operationId: `get${groupInWords(group)}APIGroup`, tag: tagOf(group) }, group)
    else if (Object.hasOwn(ROOTS, key)) this.#addRead(key, ROOTS[key]!)
    else this.#addVersion(key)
  }

  #push(group: string | undefined, ...paths: readonly PathItem[]): void {
    const isOffered = this.#servesCbor && (group === undefined || group === '' || this.#catalog.hasBuiltInGroup(group))
    this.paths.push(...(isOffered ? paths.map(withCbor) : paths))
  }

  #addVersion(key: string): void {
    const answer = this.definitions.object('io.k8s.apimachinery.pkg.version.Info', common.VersionInfo, { usedIn: APIMACHINERY })
    this.paths.push(
      readOnlyPath(`/${key}/`, {
        operationId: 'getCodeVersion',
        doc: 'get the version of this server',
        tag: key,
        answer,
        media: ['application/json'],
      }),
    )
  }

  #addRead(key: string, { type, ...draft }: Read, group?: string): void {
    this.#push(group, readOnlyPath(`/${key}/`, { ...draft, answer: this.#common(type, ['v1']) }))
  }

  *#addGroupVersion(key: string, groupVersion: GroupVersion): Step<void> {
    const { group, version } = groupVersion
    const operationId = `get${groupInWords(group)}${capitalize(version)}APIResources`
    const read = { operationId, doc: 'get available resources', tag: tagOf(group, version), type: common.APIResourceList }
    this.#addRead(key, read, group)
    const resources = this.#catalog.resources(group, version) ?? []
    // Objects before the messages they contain, so that objects get their names first.
    const own = new Map<Resource, JsonObject>()
    for (const resource of resources) {
      own.set(resource, this.#own(resource))
      yield
    }
    for (const resource of resources) {
      this.#push(group, ...pathsOf(resource, this.#schemasOf(resource, own.get(resource)!)))
      yield
    }
  }

  #own(resource: Resource): JsonObject {
    const { group, version, kind, def } = resource
    const name = definitionName(resource, kind)
    const kinds = [{ group, version, kind }]
    if (def.custom) return this.definitions.custom(name, def.custom, kinds)
    return this.definitions.object(name, resource.type, { usedIn: { group, version }, kinds, doc: def.doc })
  }

  #listOf(resource: Resource, own: JsonObject): JsonObject {
    const { group, version, listKind: kind, def } = resource
    const name = definitionName(resource, kind)
    const kinds = [{ group, version, kind }]
    if (def.custom) return this.definitions.customList(name, own, { kinds, doc: `${kind} is a list of ${resource.kind}` })
    return this.definitions.object(name, common.listOf(kind, resource.type), {
      usedIn: { group, version },
      kinds,
      doc: `A list of ${resource.kind} objects.`,
    })
  }

  #schemasOf(resource: Resource, own: JsonObject): Schemas {
    // Only definitions that an operation refers to are included.
    const { status, deleteOptions, patch, watchEvent } = {
      status: () => this.#common(common.Status, ['v1']),
      deleteOptions: () => this.#common(DeleteOptionsType, 'all'),
      patch: () => this.#common(common.Patch),
      watchEvent: () => this.#common(common.WatchEvent, 'all'),
    }
    return {
      own,
      list: resource.verbs.includes('list') ? this.#listOf(resource, own) : own,
      get status() {
        return status()
      },
      get deleteOptions() {
        return deleteOptions()
      },
      get patch() {
        return patch()
      },
      get watchEvent() {
        return watchEvent()
      },
      bodyOf: name => this.#bodyOf(resource, name),
    }
  }

  #bodyOf({ def, subresources }: Resource, name: string): JsonObject | undefined {
    const bodyKind = subresources.find(sub => sub.name === name)?.bodyKind
    const created = def.subresources?.creates
    const input = created && Object.hasOwn(created, name) ? created[name]?.input : undefined
    const type = input ? common.withEnvelope(input.kind, input.type) : name === 'scale' && def.subresources?.scale ? this.#scale : undefined
    if (!bodyKind || !type) return undefined
    return this.definitions.object(`${packageOf(bodyKind)}.${bodyKind.kind}`, type, { usedIn: bodyKind, kinds: [bodyKind] })
  }

  /** A message that all groups use: with the core version, or with every served version, for clients that look it up by kind. */
  #common(type: AnyType, versions: readonly string[] | 'all' = []): JsonObject {
    const kind = type.shape.kind === 'message' ? type.shape.name : ''
    const core = { group: '', version: 'v1' }
    const others = this.#groupVersions.filter(({ group }) => group !== '')
    const served = versions === 'all' ? [core, ...others] : versions.map(version => ({ group: '', version }))
    const kinds = served.map(groupVersion => ({ ...groupVersion, kind }))
    return this.definitions.object(`${META}.${kind}`, type, { usedIn: APIMACHINERY, ...(kinds.length ? { kinds } : {}) })
  }
}
